"""What is annotated throughout passes the type checker, and the docstrings of its public names numpydoc's
validator.
"""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gdl_core", "matching", "synth")

REFERENCE = "matching", "settings"
DESCRIPTORS = (property, cached_property, classmethod, staticmethod)
IGNORED = {  # numpydoc's codes
    "ES01": "an extended summary only where there is more to say",
    "EX01": "examples where they help",
    "SA01": "names in backticks serve as see-also",
    "PR07": "a parameter whose type says all has no description",
    "PR08": "a description may begin with a symbol of the paper",
    "RT03": "a record that is returned is described by its class",
}

INT64 = "signedinteger[numpy._typing._nbit_base._64Bit]"  # in the words of either version of NumPy
USERS = {  # files that a user might write
    "fit": """
from gdl_core import GraphDegreeLinkage

model = GraphDegreeLinkage(3).fit([[0.0], [1.0]])
reveal_type(model)
reveal_type(model.labels_)
reveal_type(model.cut(2))
""",
    "match": """
from matching import MatchConfig, find_repeats, group_matches, match, read_matches

result = match("a.png", "b.png", MatchConfig.paper())
reveal_type(result)
reveal_type(result.cluster)
reveal_type(result.objects)
reveal_type(result.objects[0].motion)
reveal_type(result.save("results"))
reveal_type(find_repeats("a.png"))
reveal_type(MatchConfig().candidates.max_matches)
for pair in read_matches("database.db"):
    reveal_type(group_matches(pair.xy0, pair.xy1))
""",
}


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    """What mypy says of all that is annotated, and the types that it shows in users' files."""
    users = tmp_path_factory.mktemp("users")
    for name, text in USERS.items():
        (users / f"{name}.py").write_text(text)
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    result = mypy(
        "--follow-imports=silent",
        *map(str, files),
        *(str(users / f"{name}.py") for name in USERS),
    )
    shown = {name: [] for name in USERS}
    for line in result.stdout.splitlines():
        place, _, text = line.partition("Revealed type is ")
        if text:
            shown[Path(place.split(":")[0]).stem].append(text)
    return result, shown


def test_annotations(types):
    assert all((ROOT / package / "py.typed").exists() for package in PACKAGES)
    assert types[0].returncode == 0, types[0].stdout


def test_a_fitted_clusterer_is_still_one(types):
    """So that editors complete its attributes."""
    shown = types[1]["fit"]
    assert "GraphDegreeLinkage" in shown[0]
    assert all(INT64 in s or "int64" in s for s in shown[1:]), shown


def test_a_result_of_a_match_completes(types):
    result, cluster, objects, motion, folder, repeats, setting, groups = types[1]["match"]
    assert result == repeats == groups == '"matching.result.MatchResult"'
    assert INT64 in cluster or "int64" in cluster
    assert objects == '"tuple[matching.objects.description.MatchedObject, ...]"'
    assert motion == '"matching.objects.frames.Motion | None"'
    assert folder == '"pathlib.Path"'
    assert setting == '"int"'


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
    """Full names of all records, and of the functions that users import: those of `gdl_core` and `synth`, and
    those on the reference pages of `matching`. Other functions have a sentence, with shapes.
    """
    pages = "".join((ROOT / "docs/reference" / f"{page}.md").read_text("utf-8") for page in REFERENCE)
    listed = set(re.findall(r"^::: (\S+)", pages, re.MULTILINE))
    for package in PACKAGES:
        for name in public_names(package):
            owner = name.rpartition(".")[0]
            is_record = inspect.isclass(pkgutil.resolve_name(name))
            if package != "matching" or is_record or name in listed or owner in {*listed, "matching"}:
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
