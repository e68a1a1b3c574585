"""Mutation testing: changes the code in small ways and counts the changes that no test notices.

mutmut makes the mutants, and runs the tests that reach each. This command draws some mutants of each module
at random, in a copy of the checkout, and prints a table and the survivors. Kernels are not mutated (mutmut
leaves out functions with decorators), but tests compare them with definitions. Lines that raise an error, and
lines with `strict=True`, are not mutated, either. Leave out tests that are slow, and those that compare the
text of a file, which fail for any mutant.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eval.common.options import add_options, at_least

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gdl_core", "matching", "synth")
OTHERS = ("eval", "scripts", "docs", ".mkdocs.yml", "README.md", "CITATION.cff")
SURVIVED = 0  # pytest's exit status
NO_TESTS = 33  # mutmut's exit status if no test reaches the function
SETUP = """[mutmut]
source_paths =
    {packages}
only_mutate =
    {modules}
also_copy =
    {others}
pytest_add_cli_args =
    -p
    no:cacheprovider
    {deselected}
pytest_add_cli_args_test_selection =
    {tests}
do_not_mutate_patterns =
    \\braise\\b
    strict=True
process_isolation = forkserver
timeout_multiplier = 4
timeout_constant = 2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("modules", nargs="+", metavar="MODULE", help="files to be changed")
    parser.add_argument("--tests", nargs="+", required=True, metavar="TEST", help="tests that are run")
    parser.add_argument("--deselect", nargs="+", default=[], metavar="TEST", help="tests that are left out")
    parser.add_argument(
        "--mutants", type=at_least(1), default=40, help="mutants drawn from each module (default: 40)"
    )
    add_options(parser, "seed", jobs=1)


def run(args: argparse.Namespace) -> int:
    for path in (*args.modules, *(test.partition("::")[0] for test in (*args.tests, *args.deselect))):
        if not (ROOT / path).exists():
            raise ValueError(f"{path} must be a path from {ROOT}, found nothing there")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_checkout(folder)
        write_settings(folder, args)
        first = run_mutmut(folder, "run", "none")  # this makes the mutants and times the tests
        drawn = draw_mutants(folder, args.modules, args.mutants, args.seed)
        names = [mutant for mutants in drawn.values() for mutant in mutants]
        tried = run_mutmut(folder, "run", "--max-children", str(args.jobs), *names)
        if tried.returncode:
            print(first.stdout[-3000:], tried.stdout[-3000:], tried.stderr, file=sys.stderr)
            return 1
        survivors = []
        print("| module | mutants | killed | left |\n|---|---|---|---|")
        for module, mutants in drawn.items():
            results = read_results(folder, module)
            left = [mutant for mutant in mutants if results[mutant] in (SURVIVED, NO_TESTS)]
            survivors += left
            print(f"| `{module}` | {len(mutants)} | {len(mutants) - len(left)} | {len(left)} |")
        for mutant in survivors:
            print(run_mutmut(folder, "show", mutant).stdout)
    return 0


def copy_checkout(folder: Path) -> None:
    """Copy the files that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # it may have been deleted without a commit
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def write_settings(folder: Path, args: argparse.Namespace) -> None:
    """Write mutmut's settings."""
    lines = {
        "packages": PACKAGES,
        "modules": args.modules,
        "others": OTHERS,
        "deselected": [f"--deselect={test}" for test in args.deselect],
        "tests": args.tests,
    }
    text = SETUP.format(**{name: "\n    ".join(values) for name, values in lines.items()})
    (folder / "setup.cfg").write_text(text, encoding="utf-8")


def run_mutmut(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run mutmut in the copy."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def read_results(folder: Path, module: str) -> dict[str, int | None]:
    """The exit status of each mutant's tests; None if they have not run."""
    path = folder / "mutants" / f"{module}.meta"
    return json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"] if path.is_file() else {}


def draw_mutants(folder: Path, modules: Sequence[str], n: int, seed: int) -> dict[str, list[str]]:
    """The names of n mutants of each module."""
    drawn = {}
    for module in modules:
        names = sorted(read_results(folder, module))
        order = np.random.default_rng(seed).permutation(len(names))[:n]
        drawn[module] = [names[i] for i in np.sort(order)]
    return drawn
