"""Where glare hides the print of one of two pictures, and whether they differ as by no light.

A picture is saturated there and brighter than the other one nearly everywhere, and the glare ends softly. Ink
that is gone from a white page leaves it as white as it was, and white boxes end at once.
"""

from __future__ import annotations

import numpy as np

from matching._common import opencv
from matching._common.types import Bools, Float32s
from matching.agreement.grid import to_grey

SATURATION = 250.0  # grey values of the brightest channel
MIN_BRIGHTER = 20.0  # grey values, median of what is saturated, in the same light
# Pixels in which the edge rises by as much: the glare of 27 made scenes takes 9 to 47, bright print 2 to 7.
MIN_RISE = 8.0
MIN_WHITE = 0.1  # of what is saturated, in all channels: glare has 0.3 and more, coloured print less
MIN_AREA = 30  # pixels
FRINGE = 21  # pixels, the side of the square around each that is hidden, too

# What is lighter or darker by so many grey values, over squares of so many pixels, ...
MIN_STEP, STEP_SIDE = 5.0, 9
# ... up to an edge, of so many pixels and such a share of it, that no gain from one half to two explains.
# Bands of another grey behind a page have 0.31 of 40,000 pixels, and of 60 copies, none has both.
MIN_SHARP, MIN_SHARP_SHARE, MAX_EXPLAINED = 200, 0.25, 0.5


def find_glare(pictures: tuple[Float32s, Float32s], lit: tuple[Float32s, Float32s], use: Bools) -> Bools:
    """Where glare hides print (h, w) in either of two pictures; lit: both in the same light, (h, w, 3)."""
    hidden = np.zeros(use.shape, bool)
    off = to_grey(lit[0]) - to_grey(lit[1])
    for picture, brighter in zip(pictures, (off, -off), strict=True):
        channels = [picture[..., k] for k in range(3)]
        saturated = (np.maximum.reduce(channels) >= SATURATION) & use
        labels, boxes = opencv.box_components(saturated)
        slope, inner = opencv.gradient(to_grey(picture)), opencv.erode(saturated, 3)
        for k, (x, y, width, height) in enumerate(boxes.tolist()):
            box = np.s_[max(y - 2, 0) : y + height + 2, max(x - 2, 0) : x + width + 2]
            patch = labels[box] == k + 1
            edge = opencv.dilate(patch, 5) & ~inner[box]
            if patch.sum() < MIN_AREA or np.median(brighter[box][patch]) < MIN_BRIGHTER:
                continue
            rise = np.median(brighter[box][patch]) / max(float(np.median(slope[box][edge])), 1e-3)
            white = (np.min([c[box][patch] for c in channels], axis=0) >= SATURATION).mean()
            if rise >= MIN_RISE and white >= MIN_WHITE:
                hidden[box] |= patch
    return opencv.dilate(hidden, FRINGE) if hidden.any() else hidden


def has_step(lit: tuple[Float32s, Float32s], use: Bools) -> bool:
    """Whether something is lighter or darker up to a sharp edge, as by no light; lit: as for `find_glare`."""
    greys = [to_grey(colours) for colours in lit]
    off = greys[0] - greys[1]
    core = opencv.dilate(opencv.erode((np.abs(off) >= MIN_STEP) & use, STEP_SIDE), STEP_SIDE)
    edge = opencv.dilate(core, 3) & ~opencv.erode(core, 3)
    slope = opencv.gradient(off)
    print_ = np.maximum(*(opencv.gradient(grey) for grey in greys))
    is_sharp = edge & (slope >= np.maximum(MAX_EXPLAINED * print_, MIN_STEP / 2))
    n = int(is_sharp.sum())
    return n >= MIN_SHARP and n >= MIN_SHARP_SHARE * int(edge.sum())
