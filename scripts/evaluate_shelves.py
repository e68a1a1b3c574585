"""Products found on shelf photographs, and foreign ones rejected; with --ablation, for each step left out.

DATA holds scenes/labels.json and the pictures that it names.
"""

from eval import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from eval.ablation import variants
from eval.running import exit_status
from eval.shelves import measure, read_shelves, table
from matching import MatchConfig


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with scenes/labels.json")
    parser.add_argument("--ablation", action="store_true", help="each variant of ablation.py as well")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(argv)
    return exit_status(lambda: evaluate(args))


def evaluate(args: argparse.Namespace) -> None:
    chosen = variants() if args.ablation else {"default": MatchConfig()}
    pairs = read_shelves(args.data)
    steps = measure(pairs, chosen)
    rows = list(tqdm(steps, total=len(pairs) * len(chosen), desc="pairs", disable=args.quiet))
    for row in rows:
        if row["variant"] == "default" and (row["found"] < row["instances"] or row["objects"] > row["found"]):
            print(f"{row['pair']}: {row['found']} of {row['instances']}, {row['objects']} objects")
    print(table(rows))


if __name__ == "__main__":
    sys.exit(main())
