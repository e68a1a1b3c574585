"""How many labels of `gdl-match label` have to be corrected, on shelf photographs and on covers?

The parts are "shelves": all products, with pictures of their fronts as references; "other shelves": all
products, with one labelled place in another photograph as the reference of each; "covers": phone photographs
of 50 covers.

python scripts/measure/evaluate_labels.py --data $GDL_DATA
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

from tqdm import tqdm

from eval.common.options import exit_status
from eval.matching.photographs.labelling import (
    format_corrections,
    measure_covers,
    measure_other_shelves,
    measure_shelves,
)

PARTS = {
    "shelves": measure_shelves,
    "other shelves": measure_other_shelves,
    "covers": lambda data, out, show: measure_covers(data / "retrieval", out, show),
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--only", choices=tuple(PARTS), help="only this part")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return exit_status(lambda: evaluate(parser.parse_args(argv)))


def evaluate(args: argparse.Namespace) -> None:
    for name, measure in PARTS.items():
        if args.only in (None, name):
            with tempfile.TemporaryDirectory() as out:
                found = measure(args.data, Path(out), partial(tqdm, disable=args.quiet))
            for own in found:
                if own.to_drop or own.to_draw:
                    print(f"{own.picture}: {own.to_draw} to draw, {own.to_drop} to drop", flush=True)
            print(f"{name}: {format_corrections(found)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
