"""Measure the corner errors of transforms found in a sequence with known homographies (Oxford's layout)."""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

from eval.common.options import exit_status
from eval.common.tables import format_markdown
from eval.matching.photographs.homography import measure


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with img1, img2, H1to2p.txt, ...")
    args = parser.parse_args(argv)
    return exit_status(lambda: print(format_table(list(measure(args.data)))))


def format_table(rows: list[dict]) -> str:
    lines = [
        [r["pair"], str(r["objects"]), str(r["matches"]), f"{r['error']:.1f}", f"{r['ransac_error']:.1f}"]
        for r in rows
    ]
    head = ["pair", "objects", "matches", "corner error, px", "SIFT, ratio test, MAGSAC, px"]
    return format_markdown(head, lines)


if __name__ == "__main__":
    sys.exit(main())
