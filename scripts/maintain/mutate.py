"""Mutation testing: changes the code in small ways and counts the changes that no test notices.

mutmut makes the mutants, and runs the tests that reach each. This command draws some mutants of each module
at random, in a copy of the checkout, and prints a table and the survivors. Kernels are not mutated (mutmut
leaves out functions with decorators), but tests compare them with definitions. Lines that raise an error, and
lines with `strict=True`, are not mutated, either.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gdl_core", "matching", "synth")
OTHERS = ("eval", "scripts", "docs", ".mkdocs.yml", "README.md", "CITATION.cff")


@dataclass(frozen=True)
class Part:
    """Modules, the tests that are run for them, and those tests that are left out.

    The tests left out are too slow, or fail for a mutant of any module (one compares the text of a file).
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    deselected: tuple[str, ...] = ()


def _in(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names)


PARTS = {
    "gdl_core": Part(
        _in(
            "gdl_core",
            *("_common/checks.py", "_merge/components.py", "_search/given_graph.py", "completion.py"),
            *("graph.py", "merging.py", "neighbors.py", "outliers.py", "reference.py", "selection.py"),
            *("separation.py", "tree.py"),
        ),
        ("tests/gdl_core",),
        _in(
            "tests/gdl_core",
            "_search/test_cell_search.py",
            "test_estimator.py",
            "test_processes.py",
            "test_published_results.py",
            "_search/test_exact_search.py",
            "_search/test_given_graph.py::test_arrays_larger_than_the_memory_limit",
            "test_graph.py::test_exact_search_equals_sorting_all_distances",
            "test_merging.py::test_agdl_equals_algorithm_3",
            "test_merging.py::test_gdl_u_equals_gdl",
        ),
    ),
    "correspondences": Part(
        _in("matching/correspondences", "candidates.py", "descriptor_search.py", "distances.py", "points.py"),
        (
            "tests/matching/correspondences",
            *_in("tests/matching/grouping", "test_graph.py", "refinement/test_smooth_map.py"),
        ),
        ("tests/matching/correspondences/test_distances.py::test_neighbours_among_chosen_ones_only",),
    ),
    "grouping": Part(
        _in(
            "matching/grouping",
            *("clustering.py", "evidence.py", "graph.py", "local_maps.py", "objects.py", "repeats.py"),
            *("stages.py", "refinement/ambiguity.py", "refinement/planes.py", "refinement/smooth_map.py"),
            "refinement/suppression.py",
        ),
        (
            "tests/matching/grouping",
            "tests/matching/pipelines/test_given.py",
            "tests/matching/pipelines/test_repeats.py",
        ),
        (
            *_in(
                "tests/matching/grouping",
                "refinement/test_ambiguity.py::test_a_grid_of_copies_is_no_texture",
                "refinement/test_ambiguity.py::test_unrelated_checks_have_nothing_in_common",
            ),
            *(
                f"tests/matching/pipelines/test_repeats.py::test_{name}"
                for name in (
                    "a_candidate_is_never_a_feature_with_its_surroundings",
                    "a_fine_texture_is_said_to_be_one",
                    "a_motion_that_is_its_own_inverse_joins_two_places_once",
                    "a_row_of_four_is_four_places",
                    "a_thing_three_times_is_one_thing_with_three_places",
                    "masked_places_are_not_found",
                )
            ),
        ),
    ),
    "objects": Part(
        _in(
            "matching/objects",
            *("confidence.py", "description.py", "frames.py", "robust.py", "things.py", "transforms.py"),
        ),
        ("tests/matching/objects",),
        _in(
            "tests/matching/objects",
            "test_things.py::test_frame_is_of_what_the_mask_shows",
            "test_things.py::test_two_copies_in_a_picture_are_one_thing",
        ),
    ),
}
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


def get_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("part", choices=PARTS, help="the modules that are changed")
    parser.add_argument("--modules", nargs="+", metavar="FILE", help="only these modules of the part")
    parser.add_argument(
        "--mutants", type=int, default=40, help="mutants drawn from each module (default: 40)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    return parser.parse_args(arguments)


def copy_checkout(folder: Path) -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # it may have been deleted without a commit
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def write_settings(folder: Path, part: Part) -> None:
    def join(lines: Sequence[str]) -> str:
        return "\n    ".join(lines)

    text = SETUP.format(
        packages=join(PACKAGES),
        modules=join(part.modules),
        others=join(OTHERS),
        deselected=join([f"--deselect={test}" for test in part.deselected]),
        tests=join(part.tests),
    )
    (folder / "setup.cfg").write_text(text, encoding="utf-8")


def run_mutmut(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def read_results(folder: Path, module: str) -> dict[str, int | None]:
    """The exit status of each mutant's tests; None if they have not run."""
    path = folder / "mutants" / f"{module}.meta"
    return json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"] if path.is_file() else {}


def draw_mutants(folder: Path, modules: Sequence[str], n: int, seed: int) -> dict[str, list[str]]:
    drawn = {}
    for module in modules:
        names = sorted(read_results(folder, module))
        order = np.random.default_rng(seed).permutation(len(names))[:n]
        drawn[module] = [names[i] for i in np.sort(order)]
    return drawn


def main() -> int:
    options = get_options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_checkout(folder)
        part = PARTS[options.part]
        part = replace(part, modules=tuple(options.modules or part.modules))
        write_settings(folder, part)
        first = run_mutmut(folder, "run", "none")  # this makes the mutants and times the tests
        drawn = draw_mutants(folder, part.modules, options.mutants, options.seed)
        names = [mutant for mutants in drawn.values() for mutant in mutants]
        run = run_mutmut(folder, "run", "--max-children", str(options.jobs), *names)
        if run.returncode:
            print(first.stdout[-3000:], run.stdout[-3000:], run.stderr, file=sys.stderr)
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


if __name__ == "__main__":
    sys.exit(main())
