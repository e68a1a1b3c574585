"""Are panels and lanes that a figure shows twice found, and nothing else?

Figures are drawn of ten kinds, see `synth.figures`: one with a reuse and one without for each kind and seed,
every second one as JPEG of quality 85. A reuse is found if an object joins its two places by its motion, to
within six pixels; every other object is false. Beside it stands the usual block matching: blocks of 16 pixels
are sorted by their means, and neighbours in this order vote for a shift. The rules were chosen with seeds 0
to 7.
"""

import argparse
from collections import defaultdict

import cv2
import numpy as np

from eval.common.options import add_options, choose_photographs
from eval.common.tables import format_markdown
from matching import find_repeats
from synth.figures import KINDS, REUSES, Figure, draw_figure

HEADER = "", "figures", "found", "false", "block matching: found", "false"
MAX_ERROR = 6.0  # pixels
MIN_VOTES, MIN_SHIFT, LEVELS = 200, 32, 4  # of block matching: blocks, pixels, grey levels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "models", "tiles", "seeds")


def run(args: argparse.Namespace) -> None:
    photographs = choose_photographs(args).tiles
    totals: dict = defaultdict(lambda: np.zeros(5, int))
    for seed in args.seeds:
        for number, kind in enumerate(KINDS):
            for reuse in ("", REUSES[(seed + number) % len(REUSES)]):
                rng = np.random.default_rng([seed, number, bool(reuse)])
                figure = draw_figure(kind, reuse, photographs, rng, quality=85 * ((seed + number) // 2 % 2))
                joins = [(found.points0, found.points1) for found in find_repeats(figure.picture).objects]
                outcomes = [judge(figure, joins), judge(figure, match_blocks(figure.picture))]
                row = np.array([1, *np.ravel(outcomes)], int)
                for name in (kind, reuse or "without reuse", "with reuse" if reuse else "all without"):
                    totals[name] += row
                if outcomes[0] != (bool(reuse), False):
                    print(f"{kind} {seed}, {reuse or 'none'}: {outcomes[0]}", flush=True)
    print(format_markdown(HEADER, [[name, *map(str, row)] for name, row in totals.items()]))


def judge(figure: Figure, joins) -> tuple[bool, bool]:
    """Whether the reuse is among what joins (n, 2) with (n, 2) points, and whether anything else is."""
    right = [any(fits(figure, *ends) for ends in (join, join[::-1])) for join in joins]
    return any(right), not all(right)


def fits(figure: Figure, xy0: np.ndarray, xy1: np.ndarray) -> bool:
    """Whether points (n, 2) of the place are taken to others by the motion, most of them."""
    if figure.place is None:
        return False
    inside = ((xy0 >= figure.place[:2] - MAX_ERROR) & (xy0 <= figure.place[2:] + MAX_ERROR)).all(axis=1)
    off = np.linalg.norm(xy0 @ figure.motion[:, :2].T + figure.motion[:, 2] - xy1, axis=1)
    return bool((inside & (off < MAX_ERROR)).mean() > 0.6)


def match_blocks(picture: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Match the blocks of a picture with each other -> the points that each shift joins."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    means = cv2.blur(grey, (4, 4))
    parts = [np.roll(means, (-4 * i, -4 * k), (0, 1))[:-16, :-16] for i in range(4) for k in range(4)]
    blocks = np.stack(parts, axis=2)
    yx = np.argwhere(blocks.std(axis=2) > LEVELS)
    keys = (blocks[tuple(yx.T)] / LEVELS).round()
    order = np.lexsort(keys.T)
    equal = (keys[order[1:]] == keys[order[:-1]]).all(axis=1)
    first, second = yx[order[:-1][equal]], yx[order[1:][equal]]
    swap = (second < first)[:, :1] | ((second == first)[:, :1] & (second < first)[:, 1:])
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    far = np.abs(second - first).max(axis=1) >= MIN_SHIFT
    first, second = first[far], second[far]
    _, which, counts = np.unique(second - first, axis=0, return_inverse=True, return_counts=True)
    chosen = [which.ravel() == k for k in np.flatnonzero(counts >= MIN_VOTES)]
    return [(first[rows, ::-1] + 7.5, second[rows, ::-1] + 7.5) for rows in chosen]
