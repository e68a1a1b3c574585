"""How far must things move to be told apart, and how far may one thing bend and still be found whole?

Writes tabletops.csv and tabletops.png.

Scenes of `synth.tabletop` on a plain table: two rigid prints, one of which moves away or turns, a print that
moves on a larger one, and one print with a blank band across it that bends.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import cv2
import numpy as np
from tqdm import tqdm

from eval.common.options import add_options, choose_photographs
from eval.common.tables import format_markdown, write_csv
from matching import match
from matching.drivers.result import Result
from synth.photographs import Photographs, Picture
from synth.tabletop import Pose, Tabletop, Thing, tabletop

AMOUNTS = {
    "beside": (4, 8, 16, 32, 64),
    "turn": (2, 4, 8, 16, 32),
    "on top": (4, 8, 16, 32, 64),
    "bend": (4, 8, 16, 24, 32),
}
WORDS = {
    "beside": "one of two prints, 50 px apart, moves by, px",
    "turn": "one of two prints, 50 px apart, turns by, degrees",
    "on top": "a print on a larger one moves by, px",
    "bend": "one print, blank for 80 px, bends by, px",
}
BAND = 80  # px across a print that bends
OWN = 0.8  # share of an object's matches on its own thing
EACH_SIDE = 8  # matches of a whole print on either side of the band
COLUMNS = ("kind", "amount", "seed", "right", "objects")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "models", "tiles", "seed", "quiet", out="tabletops", pairs=4)
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=AMOUNTS,
        default=list(AMOUNTS),
        metavar="KIND",
        help=f"some of {', '.join(AMOUNTS)} (default: all)",
    )


def run(args: argparse.Namespace) -> None:
    photographs = choose_photographs(args)
    seeds = range(args.seed, args.seed + args.pairs)
    planned = [(kind, amount, seed) for kind in args.kinds for amount in AMOUNTS[kind] for seed in seeds]
    rows = [measure(photographs, *one) for one in tqdm(planned, desc="pairs", disable=args.quiet)]
    write_csv(args.out / "tabletops.csv", COLUMNS, rows)
    draw(rows, args.out / "tabletops.png")
    print(summary(rows))


def make_scene(photographs: Photographs, kind: str, amount: float, seed: int) -> Tabletop:
    """Two pictures; the first things are those that `is_right` judges."""
    rng = np.random.default_rng([list(AMOUNTS).index(kind), seed])
    middle = np.array([480.0, 360.0])
    if kind == "bend":
        picture = _crop(photographs, rng, 420, 280)
        first = (420 - BAND) // 2
        picture[:, first : first + BAND] = np.median(picture, axis=(0, 1))
        return tabletop([Thing(picture, Pose(tuple(middle)), Pose(tuple(middle)), float(amount))], seed)
    way = rng.uniform(0, 2 * np.pi)
    step = amount * np.array([np.cos(way), np.sin(way)])
    if kind == "on top":
        large, small = _crop(photographs, rng, 460, 340), _crop(photographs, rng, 180, 140)
        lies, moves = Pose(tuple(middle)), Pose(tuple(middle + step))
        return tabletop([Thing(large, lies, lies), Thing(small, lies, moves)], seed)
    prints = _crop(photographs, rng, 220, 220), _crop(photographs, rng, 220, 220)
    left, right = (Pose((480.0 + side * 135, 360.0)) for side in (-1, 1))
    if kind == "beside":
        step = amount * np.array([abs(np.cos(way)), np.sin(way)])  # away, not over it
        moved = Pose(tuple(np.array(right.centre) + step))
    else:
        moved = Pose(right.centre, float(amount))
    return tabletop([Thing(prints[0], left, left), Thing(prints[1], right, moved)], seed)


def _crop(photographs: Photographs, rng: np.random.Generator, w: int, h: int) -> Picture:
    """(h, w, 3): a part of a photograph, as large as it can be."""
    picture = photographs.models[rng.integers(len(photographs.models))]
    factor = max(w / picture.shape[1], h / picture.shape[0])
    size = max(w, round(factor * picture.shape[1])), max(h, round(factor * picture.shape[0]))
    picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    y, x = rng.integers(size[1] - h + 1), rng.integers(size[0] - w + 1)
    return picture[y : y + h, x : x + w].copy()


def is_right(scene: Tabletop, result: Result, kind: str) -> bool:
    """Whether each of two things is an object of its own.

    A single print (kind "bend") must be one object, with matches on both sides of the blank band.
    """
    owners = [_look_up(scene, found.points0) for found in result.objects]
    if kind == "bend":
        if len(owners) != 1:
            return False
        x = result.objects[0].points0[owners[0] == 0, 0] - 480
        return min(np.sum(x < -BAND / 2), np.sum(x > BAND / 2)) >= EACH_SIDE
    of = [k for owner in owners for k in (0, 1) if np.mean(owner == k) >= OWN]
    return sorted(of) == [0, 1]


def _look_up(scene: Tabletop, xy: np.ndarray) -> np.ndarray:
    x, y = np.rint(xy).astype(int).T
    h, w = scene.owner0.shape
    return np.asarray(scene.owner0[y.clip(0, h - 1), x.clip(0, w - 1)])


def measure(photographs: Photographs, kind: str, amount: float, seed: int) -> dict:
    """A row of the table: one pair of pictures."""
    scene = make_scene(photographs, kind, amount, seed)
    result = match(scene.image0, scene.image1)
    right = int(is_right(scene, result, kind))
    return {"kind": kind, "amount": amount, "seed": seed, "right": right, "objects": len(result.objects)}


def shares(rows: Iterable[dict]) -> dict[str, dict[float, float]]:
    """The share that is right, of each kind and amount."""
    rows, found = list(rows), dict[str, dict[float, float]]()
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        amounts = sorted({row["amount"] for row in own})
        found[kind] = {
            a: float(np.mean([row["right"] for row in own if row["amount"] == a])) for a in amounts
        }
    return found


def summary(rows: Iterable[dict]) -> str:
    """A line for each kind: the share that is right at each amount."""
    lines = [
        [WORDS[kind], *(f"{amount:g}: {share:.0%}" for amount, share in by.items())]
        for kind, by in shares(rows).items()
    ]
    width = max(map(len, lines))
    filled = [line + [""] * (width - len(line)) for line in lines]
    return format_markdown(["", *["amount: right"] * (width - 1)], filled)


def draw(rows: Iterable[dict], path: Path) -> None:
    """The diagram: shares against amounts, with panels for pairs of things and one for single things."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    by_kind = shares(rows)
    chosen = (
        (("beside", "on top"), "Two things: told apart", "one moves by, px"),
        (("turn",), "Two things: told apart", "one turns by, degrees"),
        (("bend",), "One thing: whole", "bends by, px"),
    )
    for panel, (kinds, title, words) in zip(panels, chosen, strict=True):
        for kind in kinds:
            if kind in by_kind:
                panel.plot(list(by_kind[kind]), list(by_kind[kind].values()), "o-", label=kind)
        panel.set(title=title, xlabel=words, ylim=(-0.05, 1.05))
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:g}")
        panel.grid(alpha=0.3)
        if len(kinds) > 1 and panel.lines:
            panel.legend()
    panels[0].set_ylabel("share of pairs")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
