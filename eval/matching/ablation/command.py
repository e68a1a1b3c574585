"""What the clustering and each step of the grouping contribute: the same pairs, one thing changed at a time.

Writes ablation.csv, with a row for each kind of data and each variant, and prints it as Markdown: mean F,
objects found, clusters per object found, mixed and spurious clusters, and seconds of the grouping.
"""

import argparse
from pathlib import Path

from tqdm import tqdm

from eval.common.options import add_options, choose_photographs
from eval.common.tables import write_csv
from eval.matching.ablation import runs as ablation
from eval.matching.ablation.variants import changed_settings, variants
from eval.matching.photographs.pairs import find_pairs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    tabletops = "folder of tabletops, each with two photographs and gt.npz (default: none)"
    data = {"default": None, "required": False, "help": tabletops}
    add_options(parser, "models", "tiles", "jobs", "quiet", data=data, pairs=16, out="ablation")
    parser.add_argument(
        "--real", type=Path, help="folder with models, scenes, retrieval and tiles (default: none)"
    )
    parser.add_argument(
        "--variants", nargs="+", metavar="NAME", help=f"some of these (default: all): {', '.join(variants())}"
    )
    parser.add_argument(
        "--settings",
        action="store_true",
        help="compare other variants: each numeric setting of the steps after the candidates, halved and"
        " doubled",
    )


def run(args: argparse.Namespace) -> None:
    known = changed_settings() if args.settings else variants()
    for name in args.variants or ():
        if name not in known:
            raise ValueError(f"--variants must be among {', '.join(known)}, got {name}")
    compared = {name: known[name] for name in known if name in (args.variants or known)}
    tabletops = find_pairs(args.data) if args.data else []
    cases = ablation.cases(choose_photographs(args), tabletops, args.pairs, args.real)
    steps = ablation.ablate(cases, compared, args.jobs)
    rows = [row for step in tqdm(steps, total=len(cases), disable=args.quiet) for row in step]
    rows.sort(key=lambda row: list(compared).index(row["variant"]))
    sums = ablation.summary(rows)
    columns = [{name: row[name] for name in ablation.COLUMNS} for row in sums]
    write_csv(args.out / "ablation.csv", ablation.COLUMNS, columns)
    print(ablation.format_table(sums))
