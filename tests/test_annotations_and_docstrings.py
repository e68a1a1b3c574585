"""What is annotated throughout passes the type checker, and the docstrings of its public names numpydoc's
validator.
"""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gdl_core", "synth")  # others follow once they are annotated

PARTS = (  # of a package that is not annotated throughout yet
    "matching._lazy",
    "matching._opencv",
    "matching.collection.addresses",
    "matching.collection.cache",
    "matching.collection.database",
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
    "matching.given",
    "matching.grouping._kernels",
    "matching.grouping._vote_kernels",
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

DOCUMENTED = [part for part in (*PACKAGES, *PARTS) if not part.endswith("kernels")]

FIT = """
from gdl_core import GraphDegreeLinkage

model = GraphDegreeLinkage(3).fit([[0.0], [1.0]])
reveal_type(model)
reveal_type(model.labels_)
reveal_type(model.cut(2))
"""


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("package", PACKAGES)
def test_annotations(package):
    assert (ROOT / package / "py.typed").exists()
    result = mypy("-p", package)
    assert result.returncode == 0, result.stdout


def test_annotations_of_parts():
    chosen = [
        word for part in PARTS for word in ("-p" if (ROOT / part.replace(".", "/")).is_dir() else "-m", part)
    ]
    result = mypy("--follow-imports=silent", "--allow-untyped-calls", *chosen)  # of what is not finished
    assert result.returncode == 0, result.stdout


def test_a_fitted_clusterer_is_still_one(tmp_path):
    """So that editors complete its attributes."""
    (tmp_path / "user.py").write_text(FIT)
    lines = mypy(str(tmp_path / "user.py")).stdout.splitlines()
    shown = [line.split("Revealed type is ")[1] for line in lines if "Revealed type" in line]
    assert "GraphDegreeLinkage" in shown[0]
    assert all("signedinteger[numpy._typing._nbit_base._64Bit]" in s or "int64" in s for s in shown[1:]), (
        shown
    )


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


@pytest.mark.parametrize("name", [name for package in DOCUMENTED for name in public_names(package)])
def test_docstring(name):
    result = validate(name)
    assert result["docstring"], f"{name} has no docstring"
    errors = [(code, text) for code, text in result["errors"] if code not in IGNORED]
    assert errors == []
