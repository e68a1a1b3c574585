"""Registration of two pictures that a map has nearly aligned: dense optical flow, and equal sharpness."""

import math

import numpy as np

from matching._common import opencv
from matching._common.types import Bools, Float32s

# Grid pixels: the most that registration moves. Smooth maps of bent prints are off by a few pixels; farther,
# flow finds alike elements of other prints.
MAX_FLOW = 6.0
FLOW_SMOOTHNESS = 6.0  # grid pixels, standard deviation: flow that varies faster warps one print into another
MEDIAN_WINDOW = 5  # grid pixels: single wild vectors vanish before the flow is smoothed
CONTRAST_WINDOW = 12.0  # grid pixels, standard deviation of the window in which contrast is normalised
FLAT_VARIANCE = 16.0  # of grey values: contrast below it is not raised, as it is noise
CONTRAST = 40.0  # grey values per standard deviation, so that three of them fit into 8 bits
MIN_SIDE = 64  # pixels: OpenCV's flow fails on smaller pictures
MAX_SHARPNESS_RATIO = 1.15  # pictures are equally sharp within this; blurring once more changes it by less
BLUR_STEP = 0.4  # grid pixels, standard deviation
MAX_BLURS = 12  # steps: together they blur by 2.4 pixels, farther than any legible print needs


def register(grey0: Float32s, grey1: Float32s, step: int = 1) -> Float32s:
    """Smooth optical flow from one picture to another: grey0, grey1 (h, w) -> (h, w, 2), pixels.

    A pixel is `step` grid pixels wide.
    """
    height, width = grey0.shape
    pad = (max(MIN_SIDE - height, 0), max(MIN_SIDE - width, 0))
    window = CONTRAST_WINDOW / step
    padded = [np.pad(normalise(grey, window), ((0, pad[0]), (0, pad[1])), "edge") for grey in (grey0, grey1)]
    flow = opencv.optical_flow(*padded)[:height, :width]
    flow = drop_wild(drop_wild(flow))
    return np.clip(opencv.gaussian_blur(flow, FLOW_SMOOTHNESS / step), -MAX_FLOW / step, MAX_FLOW / step)


def drop_wild(flow: Float32s) -> Float32s:
    """Flow (h, w, 2) without single wild vectors."""
    return np.stack([opencv.median_blur(part, MEDIAN_WINDOW) for part in np.moveaxis(flow, 2, 0)], axis=2)


def normalise(grey: Float32s, window: float) -> Float32s:
    """Grey values of equal contrast everywhere, (h, w) -> (h, w) uint8."""
    above = grey - opencv.wide_blur(grey, window)
    spread = np.sqrt(np.maximum(opencv.wide_blur(above * above, window), 0) + FLAT_VARIANCE)
    return np.clip(above / spread * CONTRAST + 128, 0, 255).astype(np.uint8)


def equalise_sharpness(
    grey0: Float32s, grey1: Float32s, use: Bools
) -> tuple[Float32s, Float32s, tuple[float, float]]:
    """Blur the sharper of two pictures (h, w) until both are equally sharp on the pixels in use (h, w).

    Also returns by how much each was blurred: standard deviations, pixels.
    """
    greys, n_steps = [grey0, grey1], [0, 0]
    sharpness = [measure_sharpness(grey, use) for grey in greys] if use.any() else [0.0, 0.0]
    for _ in range(MAX_BLURS):
        if max(sharpness) <= MAX_SHARPNESS_RATIO * min(sharpness):
            break
        k = int(sharpness[1] > sharpness[0])
        greys[k], n_steps[k] = opencv.gaussian_blur(greys[k], BLUR_STEP), n_steps[k] + 1
        sharpness[k] = measure_sharpness(greys[k], use)
    blurs = BLUR_STEP * math.sqrt(n_steps[0]), BLUR_STEP * math.sqrt(n_steps[1])
    return greys[0], greys[1], blurs


def measure_sharpness(grey: Float32s, use: Bools) -> float:
    """How fine the print of a picture (h, w) is: its mean Laplacian over its contrast."""
    return float(np.abs(opencv.laplacian(grey))[use].mean() / (grey[use].std() + 1))
