"""What holds for the project as a whole: its layout, who imports whom, checks and documentation."""

import ast
import importlib
import importlib.util
import re
import subprocess
import tomllib
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
        "_search _merge _cut tree outliers",
        "neighbors reference selection separation smoothing prediction",
        "completion merging prominence plots",
        "estimator",
    ),
    "matching": (
        "_version errors",
        "_common settings stages",
        "pictures",
        "features",
        "correspondences",
        "grouping",
        "objects",
        "config",
        "matches",
        "output",
        "result",
        "pipelines",
        "video",
        "interchange",
        "collection",
        "labels",
        "serve",
        "cli",
    ),
    "matching/_common": ("types parent_watchdog interrupts optional", "arrays components opencv", "threads"),
    "matching/pipelines": (
        "clock description listing given_input given_units mirrored",
        "details given_maps given_planes",
        "view_synthesis pair_state",
        "pair",
        "repeats given searching",
    ),
    "matching/grouping": (
        "_kernels _vote_kernels _growth_kernels rejections",
        "objects",
        "significance",
        "graph local_maps motions",
        "clustering evidence refinement",
        "merging",
        "settings",
        "rounds",
        "seams",
        "stages repeats copies",
        "paper placing",
        "ways",
    ),
    "matching/output": (
        "words commit provenance json_text export_formats",
        "folders",
        "exchange figures",
        "html places",
        "files",
    ),
    "matching/cli": (
        "subcommands exits console destination compiling demo",
        "arguments",
        "commands",
        "main",
        "start",
    ),
    "matching/video": ("reading", "search", "sheet", "files"),
    "matching/labels": ("references frames", "places", "record tracks", "formats", "of_result run", "review"),
    "matching/collection": (
        "addresses plan records",
        "cache database",
        "work",
        "backends going_on",
        "retrieval",
        "run",
        "kept_index",
        "watching",
        "reports",
    ),
    "eval": ("common", "images matching", "clustering collections drawing maintain", "door", "__main__"),
    "eval/matching": (
        "metrics",
        "baselines",
        "synthetic",
        "photographs",
        "ablation",
        "given speed stage_results command",
    ),
}
SIBLINGS = {*MAY_IMPORT, "scripts", "tests"}


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


def imported(path):
    """The top-level names of all absolute imports of a module, those inside functions included."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def imported_modules(path):
    """Full names of what a module imports, for annotations alone too; of `from a import b` it is a.b."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


def readme_blocks():
    return re.findall(r"^```bash\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S | re.M)


def test_readme_begins_with_demo_and_tests_one_line_each():
    demo, tests = (block.splitlines() for block in readme_blocks()[:2])
    assert len(demo) == len(tests) == 1
    assert "scripts/match.py --demo" in demo[0]
    assert "pytest" in tests[0]
    for line in (demo[0], tests[0]):
        assert "-m venv" in line  # both start from an empty clone


def test_ci_runs_the_second_block_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    extract = re.search(r"^command=\$\((.*)\)$", script, re.M)
    run = subprocess.run(["bash", "-c", extract[1]], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == readme_blocks()[1]
    assert re.search(r'^bash .*-c "\$command"', script, re.M)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_what_is_checked_beside_the_tests_is_pinned():
    """A new release of a checker must not turn the README's test command red."""
    script = (ROOT / ".ci" / "lint").read_text(encoding="utf-8")
    assert (ROOT / ".ci" / "lint").stat().st_mode & 0o111
    assert "-c .constraints.txt" in readme_blocks()[1]
    pinned = (ROOT / ".constraints.txt").read_text(encoding="utf-8")
    for name in ("mkdocs", "mypy", "ruff"):
        assert re.search(rf"^{name}==\d", pinned, re.M), name
        assert f"-m {name}" in script
    assert ".ci/lint" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_lowest_versions_are_tried_on_tests_that_exist():
    script = (ROOT / ".ci" / "lowest").read_text(encoding="utf-8")
    words = re.findall(r"tests/\S+", script)
    paths = subprocess.run(["bash", "-c", f"echo {' '.join(words)}"], capture_output=True, text=True).stdout
    assert len(paths.split()) > len(words) > 3
    for path in paths.split():
        file, _, name = path.partition("::")
        assert name in (ROOT / file).read_text(encoding="utf-8"), path


PATH = re.compile(r"(?<![\w/$.-])(?:gdl_core|matching|synth|eval|scripts|tests|docs|\.ci)/[\w./-]*\w")


def test_paths_named_in_documents_exist():
    named = {
        (page.relative_to(ROOT), path)
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for path in PATH.findall(page.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
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


@pytest.mark.parametrize(
    ("wanted", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)]
)
def test_missing_browser_fails_where_one_is_required(wanted, outcome, monkeypatch):
    path = ROOT / "tests" / "matching" / "browser.py"
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location("browser_under_test", path)
    browser = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(browser)
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    monkeypatch.setenv("GDL_MATCH_BROWSER", wanted)
    with pytest.raises(outcome):
        browser.require_browser()


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_public_names_have_docstrings(package):
    bare = []
    for path in modules(package):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.name == "_version.py":
            continue
        if ast.get_docstring(tree) is None:
            bare.append(str(path.relative_to(ROOT)))
        if any(part.startswith("_") for part in path.relative_to(ROOT).parts):
            continue
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if package == "eval" and public and node.name in ("add_arguments", "run"):
                continue  # eval.door says what they do
            if public and ast.get_docstring(node) is None:
                bare.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not bare


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").rglob("*.py")), ids=lambda path: path.name)
def test_what_scripts_import_is_there(script):
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in MAY_IMPORT:
            module = importlib.import_module(node.module)
            for name in node.names:
                place = f"{node.module}.{name.name}"
                assert hasattr(module, name.name) or importlib.util.find_spec(place), place
