"""Record the results of each stage of a match anew, after raising the numbers of those that have changed.

The numbers are STAGES in matching/output/provenance.py. Nothing is written if the results of a stage differ
from those recorded in tests/matching/stages.npz, but the stage's number does not. Exit status: 0 written, 1
not written, 2 bad input or usage.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
from pathlib import Path

import numpy as np

from eval.common.options import exit_status
from eval.matching.stage_results import RECORD, find_changes, record
from matching.output.provenance import STAGES


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=RECORD, help="an .npz file (default: tests/matching/stages.npz)"
    )
    args = parser.parse_args(argv)
    if args.out.suffix != ".npz":
        parser.error(f"--out must end in .npz, got {args.out}")
    return exit_status(lambda: write(args.out))


def write(path: Path) -> int:
    """Write the record, unless a stage has changed without its number."""
    if RECORD.exists():
        with np.load(RECORD) as file:
            known = dict(file)
        for stage in find_changes(known):
            if STAGES[stage] == known[f"number/{stage}"]:
                print(
                    f"the results of {stage} have changed: raise its number in matching/output/provenance.py"
                )
                return 1
    record(path)
    print(f"{path}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
