"""docs/constants.md lists every number that decides something behind the candidates, with its value."""

import ast
import importlib
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from matching import MatchConfig

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["grouping", "objects", "pipelines"]
CANDIDATES = ["points", "scale_bands", "candidates", "view_candidates"]
MODULES = ["config", "settings", *(f"correspondences/{name}" for name in CANDIDATES)]
STAGES = {type(field.default).__name__: f"{field.name}." for field in fields(MatchConfig)}
STAGES["MatchConfig"] = ""
NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?:/\d+)?"


def as_numbers(value):
    """(n,) numbers of a value, the ends of an array, nothing for None; None if it holds anything else."""
    if isinstance(value, np.ndarray):
        value = value[0].item(), value[-1].item()
    if isinstance(value, dict):
        value = tuple(value.values())
    parts = () if value is None else value if isinstance(value, tuple) else (value,)
    plain = all(isinstance(part, int | float) and not isinstance(part, bool) for part in parts)
    return tuple(map(float, parts)) if plain and value != () else None


def is_setting(node):
    called = node.value.func if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call) else None
    return getattr(called, "id", "") == "setting" or getattr(called, "attr", "") == "field"


def settings_of(tree, module):
    """(name, value) of the settings that the classes of a module declare."""
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for name in (node.target.id for node in owner.body if is_setting(node)):
            stage = STAGES.get(owner.name, f"{owner.name}.")
            yield stage + name, getattr(getattr(module, owner.name), name)


def constants_of(tree, module):
    """(name, value) of the constants in capitals of a module."""
    for node in (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        for name in (name for name in names if re.fullmatch("[A-Z][A-Z0-9_]*", name)):
            yield f"{module.__name__.split('.')[-1]}.{name}", getattr(module, name)


def numbers_of_code():
    package, found = ROOT / "matching", []
    files = [package / f"{name}.py" for name in MODULES]
    for path in [*files, *(path for folder in FOLDERS for path in (package / folder).rglob("*.py"))]:
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [*settings_of(tree, module), *constants_of(tree, module)]
    found = [(name, as_numbers(value)) for name, value in found]
    return [(name, numbers) for name, numbers in found if numbers is not None]


def numbers_of_page():
    text = (ROOT / "docs" / "constants.md").read_text(encoding="utf-8")
    for name, cell in re.findall(r"^\| `([\w.]+)`[^|]*\| *([^|]*?) *\|", text, re.M):
        first = re.match(rf"none|{NUMBER}|\([^)]*\)", cell)
        assert first, f"docs/constants.md: the value of {name} must begin with a number, got {cell!r}"
        parts = (part.replace(",", "").partition("/") for part in re.findall(NUMBER, first[0]))
        yield name, tuple(float(above) / float(below or 1) for above, _, below in parts)


def test_the_page_lists_all_numbers_with_their_values():
    code, page = numbers_of_code(), list(numbers_of_page())
    for where, found in (("code", code), ("docs/constants.md", page)):
        twice = [name for name, n in Counter(name for name, _ in found).items() if n > 1]
        assert not twice, f"several numbers of {where} have the same name: {twice}"
    code, page = dict(code), dict(page)
    assert len(code) > 100
    assert not code.keys() - page.keys(), f"missing in docs/constants.md: {sorted(code.keys() - page.keys())}"
    assert not page.keys() - code.keys(), f"only in docs/constants.md: {sorted(page.keys() - code.keys())}"
    wrong = [f"{n}: {page[n]}, not {code[n]}" for n in code if page[n] != pytest.approx(code[n], 1e-6, 0)]
    assert not wrong, f"wrong in docs/constants.md: {wrong}"
