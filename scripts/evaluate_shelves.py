"""Are products found on shelf photographs that show them, and rejected on others?

With --ablation, each setting is also changed in turn. With --scenes, the photographs are matched with each
other instead, which writes shelves_scenes.csv. With --ranking, the script reports how often a product that a
scene shows ranks above one that it does not show; with --counts, whether the copies of each product in each
scene are counted correctly.

DATA holds scenes/labels.json and the pictures that it names.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from eval.common.options import check_folder, exit_status
from eval.common.tables import write_csv
from eval.matching.ablation.variants import settings
from eval.matching.photographs.shelves import (
    SCENE_COLUMNS,
    format_counts,
    format_table,
    measure,
    measure_counts,
    measure_ranking,
    measure_scenes,
    read_scenes,
    read_shelves,
    scenes_summary,
)
from matching import MatchConfig


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with scenes/labels.json")
    parser.add_argument(
        "--ablation", action="store_true", help="also evaluate each of the variants of ablation.py"
    )
    parser.add_argument(
        "--scenes", action="store_true", help="match scenes with scenes instead of models with scenes"
    )
    parser.add_argument("--ranking", action="store_true", help="rank all products in every scene")
    parser.add_argument(
        "--counts", action="store_true", help="count the copies of all products in every scene"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("shelves"), help="folder for shelves_scenes.csv (default: shelves)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    chosen = [name for name in ("ablation", "scenes", "ranking", "counts") if getattr(args, name)]
    if len(chosen) > 1:
        parser.error(f"--{chosen[0]} and --{chosen[1]} can't be combined")
    works = {"scenes": evaluate_scenes, "ranking": evaluate_ranking, "counts": evaluate_counts}
    return exit_status(lambda: works.get("".join(chosen), evaluate)(args))


def evaluate_counts(args: argparse.Namespace) -> None:
    rows = list(tqdm(measure_counts(args.data, MatchConfig()), desc="pairs", disable=args.quiet))
    for row in rows:
        if row["missed"] or row["strangers"] or row["twice"]:
            print("{pair}: {counted} counted, {exact} present, and {promo} with another print".format(**row))
    print(format_counts(rows))


def evaluate_ranking(args: argparse.Namespace) -> None:
    rows = list(tqdm(measure_ranking(args.data, MatchConfig()), desc="scenes", disable=args.quiet))
    total = {name: sum(row[name] for row in rows) for name in ("comparisons", "by_score", "by_rank")}
    print(
        "products on the shelf above products that are not: {by_score} of {comparisons} by score,".format(
            **total
        )
    )
    print("{by_rank} of {comparisons} by rank".format(**total))


def evaluate_scenes(args: argparse.Namespace) -> None:
    check_folder(args.out)
    scenes = read_scenes(args.data)
    steps, total = measure_scenes(scenes, MatchConfig()), len(scenes) * (len(scenes) - 1) // 2
    rows = list(tqdm(steps, total=total, desc="pairs", disable=args.quiet))
    write_csv(args.out / "shelves_scenes.csv", SCENE_COLUMNS, rows)
    print(scenes_summary(rows))


def evaluate(args: argparse.Namespace) -> None:
    chosen = settings() if args.ablation else {"default": MatchConfig()}
    pairs = read_shelves(args.data)
    steps = measure(pairs, chosen)
    rows = list(tqdm(steps, total=len(pairs) * len(chosen), desc="pairs", disable=args.quiet))
    for row in rows:
        if row["variant"] == "default" and (row["found"] < row["instances"] or row["objects"] > row["found"]):
            print(f"{row['pair']}: {row['found']} of {row['instances']}, {row['objects']} objects")
    print(format_table(rows))


if __name__ == "__main__":
    sys.exit(main())
