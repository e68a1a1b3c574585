"""Evaluate matches from elsewhere, grouped by `matching.group_matches` and by the usual alternatives.

Writes groups_scenes.csv (AdelaideRMF: misclassification error in per cent, for five random orders of each
scene), groups_features.csv (matches of OpenCV's SIFT, AKAZE and ORB on composites and copies), with --growth
groups_growth.csv (time and memory on synthetic surfaces), with --planes groups_planes.csv (rooms of planes,
with exact labels), and groups.md with all tables. DATA holds a folder for each scene, with two images and
gt.npz with x1, x2 (n, 2) and label (n,), 0 for an outlier.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tqdm import tqdm

from eval.common.options import (
    add_photograph_options,
    check_folder,
    check_least,
    choose_photographs,
    exit_status,
)
from eval.common.tables import format_markdown, write_csv, write_text
from eval.matching import given
from eval.matching.photographs.pairs import find_pairs, read_pair
from matching import InputError


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the scenes; not needed for --planes alone")
    add_photograph_options(parser)
    parser.add_argument(
        "--pairs",
        type=int,
        default=8,
        help="composite pairs, with one copy and with two (default: 8; 0: none)",
    )
    parser.add_argument(
        "--planes", type=int, default=0, metavar="N", help="also split the matches of N rooms into planes"
    )
    parser.add_argument(
        "--growth", type=int, nargs="+", default=[], metavar="N", help="also time this many matches"
    )
    parser.add_argument("--out", type=Path, default=Path("groups"), help="folder for the results")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: evaluate(args))


def evaluate(args: argparse.Namespace) -> None:
    check_least(args, pairs=0, planes=0)
    if args.data is None and not args.planes:
        raise InputError("give --data DIR, --planes N, or both")
    check_folder(args.out)
    tables = []
    if args.planes:
        steps = tqdm(range(args.planes), desc="rooms", disable=args.quiet)
        rows = [row for seed in steps for row in given.measure_room(seed)]
        write_csv(args.out / "groups_planes.csv", given.ROOM_COLUMNS, rows)
        tables.append(format_markdown(*given.format_rooms(rows)))
    if args.data is not None:
        tables += _evaluate_scenes(args)
    if args.growth:
        spawn = multiprocessing.get_context("spawn")  # a process for each, to measure the peak of its memory
        with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:
            rows = list(pool.map(given.measure_growth, args.growth))
        write_csv(args.out / "groups_growth.csv", given.GROWTH_COLUMNS, rows)
        tables.append(format_markdown(*given.format_growth(rows)))
    text = "\n\n".join(tables) + "\n"
    write_text(args.out / "groups.md", text)
    print(text, end="")


def _evaluate_scenes(args: argparse.Namespace) -> list[str]:
    """The tables of the scenes, and of composites if they are asked for."""
    photographs = choose_photographs(args) if args.pairs else None
    scenes = [read_pair(folder) for folder in find_pairs(args.data)]
    steps = tqdm(scenes, desc="scenes", disable=args.quiet)
    rows = [row for scene in steps for row in given.measure_scene(scene)]
    write_csv(args.out / "groups_scenes.csv", given.SCENE_COLUMNS, rows)
    tables = [format_markdown(*given.format_scenes(rows))]
    if photographs:
        cases = [(number, copies) for copies in (1, 2) for number in range(args.pairs)]
        steps = tqdm(cases, desc="composites", disable=args.quiet)
        rows = [row for case in steps for row in given.measure_features(photographs, *case)]
        write_csv(args.out / "groups_features.csv", given.FEATURE_COLUMNS, rows)
        tables.append(format_markdown(*given.format_features(rows)))
    return tables


if __name__ == "__main__":
    sys.exit(main())
