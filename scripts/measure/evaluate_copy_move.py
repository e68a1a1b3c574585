"""Are copied patches of several sizes found, and is nothing found in untouched photographs?

In each photograph, a square patch is copied to another place, once in each of these ways: as it is; with an
edge that fades over a tenth of its side; with such an edge, and turned by any angle; with such an edge, and
made larger or smaller by up to a quarter. The picture is saved as a JPEG of quality 90. A copy counts as
found if an object joins the patch and the copy: the centres of its outlines lie in them. Textures do not
count.

The constants were chosen on every second photograph, beginning with the first; the others are for reporting
(--half).

python scripts/measure/evaluate_copy_move.py $GDL_DATA/tiles
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from eval.common.options import exit_status
from matching import find_repeats
from matching.pictures.encoding import encode_jpeg
from synth.patches import copy_patch
from synth.photographs import read_folder

SIDES = 24, 32, 40, 48, 64, 96
KINDS = "copied", "faded", "turned", "scaled"
FADE = 0.1
HALVES = {"choosing": slice(0, None, 2), "reporting": slice(1, None, 2), "both": slice(None)}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="photographs")
    parser.add_argument(
        "--half", choices=tuple(HALVES), default="reporting", help="photographs used (default: reporting)"
    )
    parser.add_argument("--photographs", type=int, help="only this many photographs of the half")
    parser.add_argument(
        "--sides", type=int, nargs="+", default=list(SIDES), help="sides of the patches, pixels"
    )
    parser.add_argument("--quality", type=int, default=90, help="JPEG quality")
    parser.add_argument("--seed", type=int, default=0, help="seed of the patches (default: 0)")
    return exit_status(lambda: evaluate(parser.parse_args(argv)))


def evaluate(args: argparse.Namespace) -> None:
    photographs = read_folder(args.folder)[HALVES[args.half]][: args.photographs]
    alarms = 0
    for k, photograph in enumerate(photographs):
        things = [thing for thing in find_repeats(photograph).things if not thing.periodic]
        alarms += bool(things)
        if things:
            print(f"untouched {k}: {len(things)} things", flush=True)
    rows = []
    for side in args.sides:
        found, others = dict.fromkeys(KINDS, 0), 0
        for k, photograph in enumerate(photographs):
            for number, kind in enumerate(KINDS):
                page = draw(photograph, np.random.default_rng([args.seed, side, k, number]), side, kind)
                result = find_repeats(encode_jpeg(Image.fromarray(page.picture), args.quality))
                joined = [is_joined(item, page.things[0]) for item in result.objects]
                found[kind] += any(joined)
                periodic = {n for thing in result.things if thing.periodic for n in thing.objects}
                others += any(n not in periodic and not own for n, own in enumerate(joined))
        rows.append((side, *found.values(), others))
        print(*rows[-1], flush=True)
    n = len(photographs)
    print(f"{alarms} of {n} untouched photographs have a thing")
    print(f"| side | {' | '.join(KINDS)} | pictures with something else |\n|---|" + "---|" * (len(KINDS) + 1))
    for side, *counts, others in rows:
        cells = " | ".join(f"{own} of {n}" for own in counts)
        print(f"| {side} px | {cells} | {others} of {len(KINDS) * n} |")


def draw(photograph, rng, side, kind):
    """The photograph, with a patch copied in one of the ways."""
    angle = float(rng.uniform(0, 360)) if kind == "turned" else 0.0
    scale = float(1.25 ** rng.uniform(-1, 1)) if kind == "scaled" else 1.0
    return copy_patch(photograph, rng, side, angle, scale, 0.0 if kind == "copied" else FADE)


def is_joined(item, boxes) -> bool:
    """Whether an object joins two boxes, in either direction."""
    ends = [outline.mean(axis=0) for outline in (item.outline0, item.outline1)]
    inside = [[((end >= box[:2]) & (end <= np.add(box[:2], box[2:]))).all() for box in boxes] for end in ends]
    return bool((inside[0][0] and inside[1][1]) or (inside[0][1] and inside[1][0]))


if __name__ == "__main__":
    sys.exit(main())
