"""What the clustering and each stage of the grouping contribute: the same pairs, one thing changed at a time.

Writes ablation.csv, with a row for each kind of data and each variant, and prints it as Markdown: mean F,
objects found, clusters per object found, mixed and spurious clusters, and seconds of the grouping.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from eval.common.options import (
    add_photograph_options,
    check_folder,
    check_jobs,
    check_least,
    choose_photographs,
    exit_status,
)
from eval.common.tables import write_csv
from eval.matching.ablation import runs as ablation
from eval.matching.ablation.variants import changed_settings, variants
from eval.matching.photographs.pairs import find_pairs


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_photograph_options(parser)
    parser.add_argument(
        "--data", type=Path, help="folder of tabletops, each with two photographs and gt.npz (default: none)"
    )
    parser.add_argument("--pairs", type=int, default=16, help="composite pairs of each kind (default: 16)")
    parser.add_argument(
        "--variants", nargs="+", metavar="NAME", help=f"some of these (default: all): {', '.join(variants())}"
    )
    parser.add_argument(
        "--settings",
        action="store_true",
        help="compare other variants: each numeric setting of the stages after the candidates, halved and"
        " doubled",
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: one for each core)")
    parser.add_argument(
        "--out", type=Path, default=Path("ablation"), help="folder of the results (default: ablation)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: measure(args))


def measure(args: argparse.Namespace) -> None:
    check_least(args, pairs=1)
    check_jobs(args)
    check_folder(args.out)
    known = changed_settings() if args.settings else variants()
    for name in args.variants or ():
        if name not in known:
            raise ValueError(f"--variants must be among {', '.join(known)}, got {name}")
    compared = {name: known[name] for name in known if name in (args.variants or known)}
    cases = ablation.cases(choose_photographs(args), find_pairs(args.data) if args.data else [], args.pairs)
    steps = ablation.ablate(cases, compared, args.jobs)
    rows = [row for step in tqdm(steps, total=len(cases), disable=args.quiet) for row in step]
    rows.sort(key=lambda row: list(compared).index(row["variant"]))
    sums = ablation.summary(rows)
    columns = [{name: row[name] for name in ablation.COLUMNS} for row in sums]
    write_csv(args.out / "ablation.csv", ablation.COLUMNS, columns)
    print(ablation.format_table(sums))


if __name__ == "__main__":
    sys.exit(main())
