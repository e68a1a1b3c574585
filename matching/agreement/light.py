"""What light can't explain: glare and shadows change colours, and another print changes them differently.

Picture A in the light of picture B is

    B(p) = (g + g' p) A(p) + o + o' p + noise,

with planes of gain and offset, fitted robustly to each channel. White light that is added to one picture
raises all channels alike; what else is unlike is print.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matching._common.types import Bools, Float32s, Floats

SAMPLES = 3000  # pixels to which the planes are fitted; fits to 10,000 differ by less than a grey value
ITERATIONS = 8  # of reweighted least squares: weights change by less than a hundredth after six
MIN_NOISE = 2.0  # grey values: registration leaves as much at edges
ROBUSTNESS = 2.0  # spreads beyond which pixels count less: glare and other prints are far away
SATURATION = 250.0  # grey values: brighter channels can't show how bright they are
N_PLANES = 6  # unknowns: gain and offset, and how both change along x and y


@dataclass(frozen=True, eq=False)
class Unlike:
    """How unlike a picture is to the other one in its light, beyond noise.

    Parameters
    ----------
    unexplained, whole : (h, w) float32
        Squared grey values, means of the channels: with and without what white light added to the picture
        explains.
    noise : float
        The spread of what is left on the whole object, grey values.
    """

    unexplained: Float32s
    whole: Float32s
    noise: float

    def measure(self, place: Bools) -> tuple[float, float]:
        """The share in a place (h, w) that light can't explain, and its root mean square over the noise."""
        rest = float(self.unexplained[place].mean())
        return rest / max(float(self.whole[place].mean()), 1e-6), float(np.sqrt(rest)) / self.noise


def compare_in_light(base: Float32s, other: Float32s, use: Bools) -> Unlike:
    """Compare a picture with the base in its light: base, other (h, w, 3); use (h, w)."""
    off, noise = np.empty_like(other), np.empty(3, np.float32)
    for channel in range(3):
        expected, noise[channel] = _relight(base[..., channel], other[..., channel], use)
        off[..., channel] = other[..., channel] - expected
    light = np.maximum(off.mean(axis=2, keepdims=True), 0)
    is_saturated = (other >= SATURATION) & (off < light) & (off > -noise)
    rest = np.where(is_saturated, 0, off - light)
    unexplained, whole = ((np.maximum(np.abs(v) - noise, 0) ** 2).mean(axis=2) for v in (rest, off))
    return Unlike(unexplained, whole, float(noise.mean()))


def _relight(a: Float32s, b: Float32s, use: Bools) -> tuple[Floats, float]:
    """A in the light of B (h, w), and the spread of what is left on the pixels in use."""
    height, width = a.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    x, y, level = x / width - 0.5, y / height - 0.5, a / 100  # the unknowns have about the same size
    design = np.stack([level, level * x, level * y, np.ones_like(a), x, y], axis=2)
    step = max(int(use.sum()) // SAMPLES, 1)
    rows, target = design[use][::step].astype(float), b[use][::step].astype(float)
    weight, spread, planes = np.ones(len(target)), MIN_NOISE, np.zeros(N_PLANES)
    for _ in range(ITERATIONS):
        weighted = rows.T * weight
        normal = weighted @ rows + 1e-6 * len(target) * np.eye(N_PLANES)  # flat prints determine no gain
        planes = np.linalg.solve(normal, weighted @ target)
        off = target - rows @ planes
        spread = max(1.48 * float(np.median(np.abs(off))), MIN_NOISE)
        weight = 1 / (1 + (off / (ROBUSTNESS * spread)) ** 2)
    return design @ planes.astype(np.float32), spread
