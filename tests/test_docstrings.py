"""Docstrings of the public names follow numpydoc, checked by its validator."""

import importlib
import inspect
import pkgutil
from functools import cached_property

import pytest
from numpydoc.validate import validate

PACKAGES = (  # others follow once their docstrings are written so
    "gdl_core",
    "matching._lazy",
    "matching._opencv",
    "matching.collection.addresses",
    "matching.collection.cache",
    "matching.collection.export",
    "matching.collection.groups",
    "matching.collection.html_groups",
    "matching.collection.plan",
    "matching.collection.query_results",
    "matching.collection.records",
    "matching.collection.relations",
    "matching.collection.retrieval.codes",
    "matching.collection.retrieval.search",
    "matching.collection.retrieval.segments",
    "matching.collection.room",
    "matching.collection.run",
    "matching.collection.settings",
    "matching.collection.store",
    "matching.collection.work",
    "matching.correspondences.candidates",
    "matching.correspondences.correspondences",
    "matching.correspondences.distances",
    "matching.errors",
    "matching.features.extraction",
    "matching.features.keypoints",
    "matching.features.thinning",
    "matching.grouping.clustering",
    "matching.grouping.graph",
    "matching.grouping.local_maps",
    "matching.grouping.paper",
    "matching.grouping.smooth_map",
    "matching.grouping.suppression",
    "matching.interchange",
    "matching.objects.deformation",
    "matching.output.exchange",
    "matching.output.folders",
    "matching.output.provenance",
    "matching.parent_watchdog",
    "matching.pictures",
    "matching.threads",
    "synth",
)
DESCRIPTORS = (property, cached_property, classmethod, staticmethod)
IGNORED = {  # numpydoc's codes
    "ES01": "an extended summary only where there is more to say",
    "EX01": "examples where they help",
    "SA01": "names in backticks serve as see-also",
    "PR07": "a parameter whose type says all has no description",
    "PR08": "a description may begin with a symbol of the paper",
    "RT03": "a record that is returned is described by its class",
}


def public_names(package):
    """Full names of what the package exports, and of the public methods and properties of its classes.

    A package without a list of exports has public modules; they export what they define.
    """
    module = importlib.import_module(package)
    if not hasattr(module, "__all__") and hasattr(module, "__path__"):
        for found in pkgutil.iter_modules(module.__path__):
            if not found.name.startswith("_"):
                yield from public_names(f"{package}.{found.name}")
        return
    for name in getattr(module, "__all__", None) or defined_in(module):
        exported = getattr(module, name)
        yield f"{package}.{name}"
        if inspect.isclass(exported):
            for member, value in vars(exported).items():
                if not member.startswith("_") and (
                    inspect.isfunction(value) or isinstance(value, DESCRIPTORS)
                ):
                    yield f"{package}.{name}.{member}"


def defined_in(module):
    """Names of the public functions and classes that are written in a module."""
    for name, value in vars(module).items():
        kind = inspect.isclass(value) or inspect.isroutine(value)
        if kind and not name.startswith("_") and value.__module__ == module.__name__:
            yield name


@pytest.mark.parametrize("name", [name for package in PACKAGES for name in public_names(package)])
def test_docstring(name):
    result = validate(name)
    assert result["docstring"], f"{name} has no docstring"
    errors = [(code, text) for code, text in result["errors"] if code not in IGNORED]
    assert errors == []
