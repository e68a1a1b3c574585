"""Docstrings of the public names follow numpydoc, checked by its validator."""

import importlib
import inspect

import pytest
from numpydoc.validate import validate

PACKAGES = ("gdl_core",)  # others follow once their docstrings are written so
IGNORED = {  # numpydoc's codes
    "ES01": "an extended summary only where there is more to say",
    "EX01": "examples where they help",
    "SA01": "names in backticks serve as see-also",
    "PR07": "a parameter whose type says all has no description",
    "PR08": "a description may begin with a symbol of the paper",
    "RT03": "a record that is returned is described by its class",
}


def public_names(package):
    """Full names of what the package exports, and of the public methods and properties of its classes."""
    module = importlib.import_module(package)
    for name in module.__all__:
        exported = getattr(module, name)
        yield f"{package}.{name}"
        if inspect.isclass(exported):
            for member, value in vars(exported).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    yield f"{package}.{name}.{member}"


@pytest.mark.parametrize("name", [name for package in PACKAGES for name in public_names(package)])
def test_docstring(name):
    result = validate(name)
    assert result["docstring"], f"{name} has no docstring"
    errors = [(code, text) for code, text in result["errors"] if code not in IGNORED]
    assert errors == []
