"""Evaluate AGDL and its rivals on real pairs with labelled points. Writes pairs.csv.

DATA holds a folder for each pair, with two images and gt.npz with x1, x2 (n, 2) in pixels and label (n,): 0
for an outlier, 1, 2, ... for an object.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from eval.common.options import check_folder, check_jobs, exit_status
from eval.common.tables import format_markdown, write_csv
from eval.matching.photographs import pairs
from eval.matching.synthetic import methods


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the pairs")
    parser.add_argument(
        "--out", type=Path, default=Path("pairs"), help="folder of the results (default: pairs)"
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=list(methods.NAMES),
        metavar="NAME",
        help=f"some of {', '.join(methods.NAMES)} (default: all)",
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: one for each core)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: evaluate(args))


def evaluate(args: argparse.Namespace) -> None:
    check_jobs(args)
    check_folder(args.out)
    methods.check_names(tuple(args.methods))
    names = tuple(name for name in methods.NAMES if name in args.methods)
    data = [pairs.read_pair(folder) for folder in pairs.find_pairs(args.data)]
    run = Parallel(n_jobs=args.jobs, return_as="generator")(delayed(pairs.measure)(p, names) for p in data)
    results = tqdm(run, total=len(data), desc="pairs", disable=args.quiet)
    rows = [row for result in results for row in result]
    write_csv(args.out / "pairs.csv", pairs.COLUMNS, rows)
    print(summary(rows, names))


def summary(rows: list[dict], names: tuple[str, ...]) -> str:
    """One line per method: sums over all pairs, and the means of the purity and of the seconds."""
    sums = ("objects", "found", "clusters", "mixed", "spurious", "matches")
    lines = []
    for name in names:
        own = [row for row in rows if row["method"] == name]
        means = [
            f"{np.nanmean([r['purity'] for r in own]):.3f}",
            f"{np.mean([r['seconds'] for r in own]):.2f}",
        ]
        lines.append([name, *(str(sum(r[column] for r in own)) for column in sums), *means])
    return format_markdown(["method", *sums, "purity", "s"], lines)


if __name__ == "__main__":
    sys.exit(main())
