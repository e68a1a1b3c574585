"""Down to which size, and up to which blur and noise, can it be told whether two prints are the same?

Writes alike.csv and alike.png.

A print is laid into a photograph, turned and in perspective, once as it is and once with one place of 4 % of
its area replaced by a part of another photograph. The scene is blurred, gets noise and is compressed. Each
pair counts as found or not, and as said to be the same, to differ, or neither. The outline in the scene is
compared with the true one, as intersection over union.

--limits instead varies the size of the replaced place, and prints the smallest one that is told, by the size
of the print, blur, turn and bend.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import cv2
import numpy as np
import shapely
from tqdm import tqdm

from eval.common.options import add_options, choose_photographs
from eval.common.tables import format_markdown, write_csv
from matching import match
from synth.photographs import Photographs, Picture

SIDE, BLUR, NOISE = 220.0, 0.7, 3.0  # of the print in the scene, pixels and grey values, where not swept
LEVELS = {
    "size": (400.0, 300.0, 220.0, 160.0, 120.0, 90.0, 60.0),
    "blur": (0.0, 1.0, 1.5, 2.0, 3.0, 4.0),
    "noise": (0.0, 5.0, 10.0, 20.0, 30.0, 45.0),
}
WORDS = {
    "size": "longer side in the scene, px",
    "blur": "blur, standard deviation, px",
    "noise": "noise, standard deviation, grey values",
}
# Of what --limits varies; the places, pixels of the scene; and how many of them are told, at least.
LIMITS = {
    "size": (400.0, 300.0, 220.0, 120.0),
    "blur": (0.0, 1.0, 2.0, 3.0),
    "turn": (0.0, 20.0, 45.0, 180.0),
    "bend": (0.0, 2.0, 5.0, 10.0),
}
WORDS |= {"turn": "turn, degrees", "bend": "bend, amplitude, px"}
PLACES, MIN_TOLD = (6.0, 8.0, 12.0, 16.0, 24.0, 32.0), 0.8
SCENE = 640, 800  # height, width, pixels
ALTERED_SHARE = 0.04  # of the print's area
COLUMNS = ("kind", "level", "print", "altered", "found", "same", "overlap")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "models", "tiles", "seed", "quiet", out="alike", pairs=12)
    parser.add_argument("--limits", action="store_true", help="print the smallest place that is told")


def run(args: argparse.Namespace) -> None:
    photographs = choose_photographs(args)
    if args.limits:
        print(limits(photographs, range(args.seed, args.seed + args.pairs), args.quiet))
        return
    planned = [
        (kind, level, args.seed + k, altered)
        for kind, levels in LEVELS.items()
        for level in levels
        for k in range(args.pairs)
        for altered in (0, ALTERED_SHARE)
    ]
    rows = [measure(photographs, *one) for one in tqdm(planned, desc="pairs", disable=args.quiet)]
    write_csv(args.out / "alike.csv", COLUMNS, rows)
    draw(rows, args.out / "alike.png")
    print(summary(rows))


def measure(photographs: Photographs, kind: str, level: float, seed: int, altered: float) -> dict:
    """A row of the table: one print and its scene, with such a share of its area replaced."""
    rng = np.random.default_rng(seed)
    print_ = _reduce(photographs.models[rng.integers(len(photographs.models))], 480)
    others = photographs.tiles[rng.integers(len(photographs.tiles), size=2)[0]], photographs.tiles[0]
    changed = alter(print_, others[1], rng, altered or ALTERED_SHARE)
    settings = {"size": SIDE, "blur": BLUR, "noise": NOISE, "turn": None, "bend": 0.0, kind: level}
    scene, corners = photograph(changed if altered else print_, others[0], rng, *settings.values())
    objects = match(print_, scene).objects
    row = {"kind": kind, "level": level, "print": seed, "altered": int(altered > 0), "found": len(objects)}
    if not objects:
        return {**row, "same": "", "overlap": ""}
    best = max(objects, key=lambda found: found.n_matches)
    outline, truth = shapely.Polygon(best.outline1).buffer(0), shapely.Polygon(corners)
    overlap = outline.intersection(truth).area / outline.union(truth).area
    # print that differs somewhere differs, if it is found in several pieces
    same = min((found.is_same for found in objects), key=[False, None, True].index)
    return {**row, "same": {None: "unknown", True: "yes", False: "no"}[same], "overlap": round(overlap, 3)}


def limits(photographs: Photographs, seeds: Sequence[int], quiet: bool) -> str:
    """A table of the smallest place that is told, pixels of the scene, by what varies."""
    lines = []
    for kind, levels in LIMITS.items():
        for level in tqdm(levels, desc=kind, disable=quiet):
            side = level if kind == "size" else SIDE
            told = [
                np.mean(
                    [measure(photographs, kind, level, n, (place / side) ** 2)["same"] == "no" for n in seeds]
                )
                for place in PLACES
            ]
            enough = [place for k, place in enumerate(PLACES) if min(told[k:]) >= MIN_TOLD]
            smallest = f"{enough[0]:g}" if enough else "none"
            lines.append([WORDS[kind], f"{level:g}", smallest, *(f"{share:.0%}" for share in told)])
    return format_markdown(["", "level", "told, px", *(f"{place:g} px" for place in PLACES)], lines)


def alter(print_: Picture, other: Picture, rng: np.random.Generator, share: float) -> Picture:
    """Replace one place of a print, a share of its area, by a part of another picture."""
    height, width = print_.shape[:2]
    h, w = (round(n * share**0.5) for n in (height, width))
    y, x = rng.integers(h, height - 2 * h), rng.integers(w, width - 2 * w)
    top, left = rng.integers(other.shape[0] - h), rng.integers(other.shape[1] - w)
    changed = print_.copy()
    changed[y : y + h, x : x + w] = other[top : top + h, left : left + w]
    return changed


def photograph(
    print_: Picture,
    ground: Picture,
    rng: np.random.Generator,
    side: float,
    blur: float,
    noise: float,
    turn: float | None,
    bend: float,
) -> tuple[Picture, np.ndarray]:
    """A scene with a print, and the corners (4, 2) of the print in it; turn in degrees, None for some."""
    height, width = print_.shape[:2]
    if bend:
        rows, columns = np.indices((height, width), np.float32)
        wave = np.float32(bend * max(height, width) / side) * np.sin(2 * np.pi * rows / height)
        print_ = cv2.remap(print_, columns + wave, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32) - 0.5
    scale, angle = side / max(height, width), rng.uniform(-0.4, 0.4)
    angle = angle if turn is None else np.radians(turn)
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    middle = np.array(SCENE[::-1]) / 2 + rng.uniform(-40, 40, 2)
    there = (corners - corners.mean(axis=0)) * scale @ rotation + middle
    there = (there + rng.uniform(-0.03, 0.03, (4, 2)) * side).astype(np.float32)
    to_scene = cv2.getPerspectiveTransform(corners, there)
    small = cv2.GaussianBlur(print_, (0, 0), max(0.4 / scale, 0.3)) if scale < 1 else print_
    scene = cv2.resize(ground, SCENE[::-1], interpolation=cv2.INTER_AREA).astype(np.float32)
    mask = (
        cv2.warpPerspective(np.full((height, width), 255, np.uint8), to_scene, SCENE[::-1])[..., None] > 127
    )
    scene = np.where(mask, cv2.warpPerspective(small, to_scene, SCENE[::-1], flags=cv2.INTER_LINEAR), scene)
    scene = scene * rng.uniform(0.8, 1.1)
    scene = cv2.GaussianBlur(scene, (0, 0), blur) if blur else scene
    scene = np.clip(scene + rng.normal(0, noise, scene.shape), 0, 255).astype(np.uint8)
    encoded = cv2.imencode(".jpg", scene, [cv2.IMWRITE_JPEG_QUALITY, 90])[1]
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), np.uint8), there


def _reduce(picture: Picture, side: int) -> Picture:
    factor = side / max(picture.shape[:2])
    return np.asarray(cv2.resize(picture, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA), np.uint8)


def shares(rows: Iterable[dict], kind: str) -> dict[float, tuple[float, ...]]:
    """By level: the share found, the shares of altered prints and of copies that are said to differ, that of
    both which can't be told, and the mean overlap of the outlines.
    """
    by_level = {}
    rows = [row for row in rows if row["kind"] == kind]
    for level in dict.fromkeys(row["level"] for row in rows):
        found = [row for row in rows if row["level"] == level and row["found"]]
        n = sum(row["level"] == level for row in rows)
        differing, accused = (
            np.mean([row["same"] == "no" for row in found if row["altered"] == altered] or [np.nan])
            for altered in (1, 0)
        )
        unknown = np.mean([row["same"] == "unknown" for row in found] or [np.nan])
        overlap = np.mean([row["overlap"] for row in found] or [np.nan])
        by_level[level] = len(found) / n, float(differing), float(accused), float(unknown), float(overlap)
    return by_level


def summary(rows: Iterable[dict]) -> str:
    """A row for each level of each sweep."""
    rows = list(rows)
    lines = [
        [WORDS[kind], f"{level:g}", *("" if np.isnan(value) else f"{value:.2f}" for value in values)]
        for kind in LEVELS
        for level, values in shares(rows, kind).items()
    ]
    header = ["", "level", "found", "altered: differs", "copy: differs", "can't be told", "outline, IoU"]
    return format_markdown(header, lines)


def draw(rows: Iterable[dict], path: Path) -> None:
    """The diagram: a panel for each sweep, shares against levels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    rows = list(rows)
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for panel, kind in zip(panels, LEVELS, strict=True):
        by_level = shares(rows, kind)
        values = np.array(list(by_level.values()))[:, 1:4].T
        labels = "altered: said to differ", "copy: said to differ", "can't be told"
        styles = (("o-", "#0072b2"), ("s--", "#d55e00"), ("^:", "0.35"))
        for line, label, (style, color) in zip(values, labels, styles, strict=True):
            panel.plot(list(by_level), line, style, color=color, label=label)
        panel.set(xlabel=WORDS[kind], ylim=(-0.05, 1.05))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("share of the pairs found")
    panels[0].invert_xaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
