#!/usr/bin/env python3
"""Run the examples of docs/gallery.md, and keep the pictures that they draw in docs/gallery, or in --out."""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import contextlib
import re
import sys
from pathlib import Path

import matplotlib as mpl

from eval.common.options import exit_status

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"^## (.*?)\n.*?^```python\n(.*?)^```", re.S | re.M)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "gallery", help="folder for the pictures")
    options = parser.parse_args(argv)
    return exit_status(lambda: draw(options.out))


def draw(out: Path) -> None:
    mpl.use("Agg")
    out.mkdir(parents=True, exist_ok=True)
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    with contextlib.chdir(out):
        for name, code in EXAMPLE.findall(page):
            print(f"# {name}")
            exec(compile(code, name, "exec"), {})


if __name__ == "__main__":
    sys.exit(main())
