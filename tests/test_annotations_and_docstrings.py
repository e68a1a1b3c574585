"""The docstrings of public names pass numpydoc's validator."""

import importlib
import inspect
import pkgutil
import re
from functools import cached_property
from pathlib import Path

import pytest
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gdl_core", "matching", "synth")

REFERENCE = "matching", "settings"
EXPORTING = "matching", "matching.collection", "matching.labels"
DESCRIPTORS = (property, cached_property, classmethod, staticmethod)
IGNORED = {  # numpydoc's codes
    "ES01": "an extended summary only where there is more to say",
    "EX01": "examples where they help",
    "SA01": "names in backticks serve as see-also",
    "PR07": "a parameter whose type says all has no description",
    "PR08": "a description may begin with a symbol of the paper",
    "RT03": "a record that is returned is described by its class",
}


def test_the_packages_tell_that_they_are_annotated():
    assert all((ROOT / package / "py.typed").exists() for package in PACKAGES)


def public_names(package):
    """Full names of what the package exports, and of the public methods and properties of its classes.

    Its public modules export what they define.
    """
    module = importlib.import_module(package)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_"):
            yield from public_names(f"{package}.{found.name}")
    for name in getattr(module, "__all__", None) or defined_in(module):
        exported = getattr(module, name)
        if isinstance(exported, str):  # the version
            continue
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


def described_in_full():
    """Full names of what users import: all of `gdl_core` and `synth`, and what `matching` exports or lists on
    a reference page. The rest has a sentence, with shapes.
    """
    pages = "".join((ROOT / "docs/reference" / f"{page}.md").read_text("utf-8") for page in REFERENCE)
    listed = {*re.findall(r"^::: (\S+)", pages, re.MULTILINE), *EXPORTING}
    for package in PACKAGES:
        for name in public_names(package):
            if package != "matching" or {name, name.rpartition(".")[0]} & listed:
                yield name


@pytest.mark.parametrize("name", sorted(set(described_in_full())))
def test_docstring(name):
    result = validate(name)
    assert result["docstring"], f"{name} has no docstring"
    ignored = {*IGNORED, "PR01"} if has_inherited_constructor(name) else IGNORED
    errors = [(code, text) for code, text in result["errors"] if code not in ignored]
    assert errors == []


def has_inherited_constructor(name):
    """Whether a class takes the parameters of another one, which are documented there, or is a protocol."""
    found = pkgutil.resolve_name(name)
    return inspect.isclass(found) and (
        getattr(found, "_is_protocol", False) or not {"__init__", "__new__"} & set(vars(found))
    )
