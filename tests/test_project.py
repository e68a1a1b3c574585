"""What holds for the project as a whole: its layout, who imports whom, checks and documentation."""

import ast
import importlib
import importlib.util
import re
import subprocess
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import setuptools

import matching

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "gdl_core": set(),
    "synth": set(),
    "matching": {"gdl_core"},
    "eval": {"gdl_core", "synth", "matching"},
}
MAY_IMPORT_TOO = {"matching/cli/demo.py": {"synth"}}
LAYERS = {  # a folder or module imports from those before it
    "gdl_core": (
        "_common",
        "jit types",
        "graph",
        "_search _merge _cut _graph tree outliers",
        "neighbors paths reference selection smoothing prediction",
        "completion isolation merging plots",
        "strangers",
        "estimator",
    ),
    "matching": (
        "_version errors",
        "_common settings",
        "pictures",
        "features",
        "correspondences",
        "objects",
        "agreement",
        "grouping",
        "searches",
        "drivers",
        "output",
        "api",
        "video",
        "interchange",
        "collection",
        "labels",
        "serve",
        "cli",
    ),
    "matching/_common": ("types parent_watchdog interrupts optional", "arrays components opencv", "threads"),
    "matching/grouping": (
        "_kernels _vote_kernels _growth_kernels reasons",
        "ledger groups local_maps",
        "graph significance planes suppression",
        "clusters smooth_map",
        "merging seams",
        "config",
        "evidence paper",
        "methods",
        "group",
    ),
    "matching/searches": (
        "clock proposals",
        "pixels",
        "source description",
        "judge",
        "search",
        "details reversals views",
        "cascade",
    ),
    "matching/searches/pixels": ("equality", "copies frames parts", "versions"),
    "matching/drivers": ("inputs", "result", "repeats points", "pair one_picture given"),
    "matching/drivers/points": (
        "_choice_kernel checks units homographies trust",
        "scene",
        "maps planes solids",
    ),
    "matching/drivers/repeats": ("motions", "copies"),
    "matching/agreement": (
        "_kernels _residual_kernels registration",
        "grid",
        "closeup glare windows",
        "existence likelihood residual",
        "completeness extent places resemblance",
        "told",
        "comparison",
        "look overlay rivalry",
    ),
    "matching/output": (
        "words provenance csv_text json_text",
        "folders",
        "exchange figures inspection",
        "export_formats",
        "html places",
        "files",
    ),
    "matching/cli": (
        "subcommands exits console destination demo hints",
        "arguments",
        "commands",
        "main",
        "start",
    ),
    "matching/video": ("reading", "search", "files"),
    "matching/labels": (
        "label_files",
        "references frames",
        "places",
        "rivals record",
        "formats",
        "differences of_result run",
        "review",
    ),
    "matching/collection": (
        "plan records",
        "cache database",
        "work",
        "backends",
        "retrieval",
        "run",
        "kept_index",
        "watching",
        "reports",
    ),
    "eval": ("common", "images matching", "clustering collections drawing maintain", "door", "__main__"),
    "eval/matching": (
        "metrics distances rivals",
        "synthetic",
        "photographs",
        "ablation",
        "given speed roundoff command",
    ),
}
SIBLINGS = {*MAY_IMPORT, "scripts", "tests"}


@cache
def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


@cache
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path):
    """The top-level names of all absolute imports of a module, those inside functions included."""
    names = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


@cache
def imported_modules(path):
    """Full names of what a module imports, in functions and for annotations too; a.b of `from a import b`."""
    names = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(ROOT).parent.parts
            start = ".".join(above[: len(above) + 1 - node.level]) if node.level else ""
            module = ".".join(filter(None, (start, node.module)))
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_modules_import_each_other_in_a_circle(package):
    """Imports for annotations and inside functions included; what a package hands on is no circle."""
    paths = [path for path in modules(package) if path.name != "__init__.py"]
    own = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    graph = {
        name: {m for found in imported_modules(path) for m in (found, found.rpartition(".")[0]) if m in own}
        for name, path in own.items()
    }
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_top_level_holds_only_what_belongs_there():
    try:
        run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    top = {name.split("/")[0] for name in run.stdout.split("\0") if name}
    visible = {name for name in top if not name.startswith(".")}
    required = {"pyproject.toml", "README.md", "scripts", "tests", *MAY_IMPORT}
    assert visible >= required
    assert visible <= required | {"LICENSE", "docs", "CITATION.cff"}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_go_in_one_direction(package):
    forbidden = SIBLINGS - MAY_IMPORT[package] - {package}
    assert modules(package)
    wrong = {
        str(path.relative_to(ROOT)): found
        for path in modules(package)
        if (
            found := imported(path) & forbidden - MAY_IMPORT_TOO.get(path.relative_to(ROOT).as_posix(), set())
        )
    }
    assert not wrong


@pytest.mark.parametrize("folder", LAYERS)
def test_no_import_runs_back_up(folder):
    layer = {name: k for k, names in enumerate(LAYERS[folder]) for name in names.split()}
    dotted = folder.replace("/", ".")
    back = []
    for path in modules(folder):
        own = path.relative_to(ROOT / folder).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        for name in imported_modules(path):
            if name.startswith(f"{dotted}."):
                other = name.removeprefix(f"{dotted}.").split(".")[0]
                if other != own and layer[other] >= layer[own]:
                    back.append(f"{path.relative_to(ROOT)}: {name}")
    assert not back


def test_nothing_private_of_the_clustering_is_used_elsewhere():
    private = {
        f"{path.relative_to(ROOT)}: {name}"
        for package in (*SIBLINGS - {"gdl_core", "tests"}, "docs")
        for path in modules(package)
        for name in imported_modules(path)
        if name.startswith("gdl_core._")
    }
    assert not private


def test_only_one_module_of_matching_knows_opencv():
    knows = [path.name for path in modules("matching") if "cv2" in imported(path)]
    assert knows == ["opencv.py"]


PATH = re.compile(r"(?<![\w/$.-])(?:gdl_core|matching|synth|eval|scripts|tests|docs|\.ci)/[\w./-]*\w")


def test_paths_named_in_documents_exist():
    named = {
        (page.relative_to(ROOT), path)
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for path in PATH.findall(page.read_text(encoding="utf-8"))
    }
    assert len(named) > 40
    assert not [f"{page}: {path}" for page, path in sorted(named) if not (ROOT / path).exists()]


LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize(
    "folder", [ROOT, ROOT / "docs", ROOT / "docs" / "benchmarks"], ids=lambda path: path.name
)
def test_links_between_documents_lead_somewhere(folder):
    pages = sorted(folder.glob("*.md"))
    assert pages
    wrong = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not (folder / link).exists()
    ]
    assert not wrong


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == matching.__version__
    changelog = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changelog, re.M)[1] == matching.__version__


def test_the_wheel_holds_the_product_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = setuptools.find_packages(str(ROOT), **project["tool"]["setuptools"]["packages"]["find"])
    assert {name.split(".")[0] for name in packages} == {"gdl_core", "matching", "synth"}
    for package in ("gdl_core", "matching", "synth"):
        assert "py.typed" in project["tool"]["setuptools"]["package-data"][package]
        assert (ROOT / package / "py.typed").exists()
    for entry in project["project"]["scripts"].values():
        assert entry.startswith("matching.")


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").rglob("*.py")), ids=lambda path: path.name)
def test_what_scripts_import_is_there(script):
    for node in ast.walk(parse(script)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in MAY_IMPORT:
            module = importlib.import_module(node.module)
            for name in node.names:
                place = f"{node.module}.{name.name}"
                assert hasattr(module, name.name) or importlib.util.find_spec(place), place
