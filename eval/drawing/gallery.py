"""Run the examples of docs/gallery.md, and keep the pictures that they draw in docs/gallery, or in --out."""

import argparse
import contextlib
import re
from pathlib import Path

import matplotlib as mpl

from eval.common.options import add_options

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"^## (.*?)\n.*?^```python\n(.*?)^```", re.S | re.M)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, out=ROOT / "docs" / "gallery")


def run(args: argparse.Namespace) -> None:
    mpl.use("Agg")
    args.out.mkdir(parents=True, exist_ok=True)
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    with contextlib.chdir(args.out):
        for name, code in EXAMPLE.findall(page):
            print(f"# {name}")
            exec(compile(code, name, "exec"), {})
