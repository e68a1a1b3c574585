"""Record the results of each stage of a match anew, after raising the numbers of those that have changed.

The numbers are RESULT_VERSIONS in matching/output/provenance.py. Nothing is written if the results of a
stage differ from those recorded in tests/matching/stages.npz, but the stage's number does not. Exit status:
0 written, 1 not written, 2 bad input or usage.
"""

import argparse
from pathlib import Path

import numpy as np

from eval.matching.stage_results import RECORD, find_changes, record
from matching.output.provenance import RESULT_VERSIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=RECORD, help="an .npz file (default: tests/matching/stages.npz)"
    )


def run(args: argparse.Namespace) -> int:
    if args.out.suffix != ".npz":
        raise ValueError(f"--out must end in .npz, got {args.out}")
    if RECORD.exists():
        with np.load(RECORD) as file:
            known = dict(file)
        for stage in find_changes(known):
            if RESULT_VERSIONS[stage] == known[f"number/{stage}"]:
                print(
                    f"the results of {stage} have changed: raise its number in matching/output/provenance.py"
                )
                return 1
    record(args.out)
    print(f"{args.out}: {args.out.stat().st_size} bytes")
    return 0
