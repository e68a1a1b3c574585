"""Where labels go: beside or on what they name, inside the picture, and never on each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROOMY = 4.0  # an object this many times as large as its label holds it; others have it beside them
RINGS = 24  # around its first place that a label may move to, a label's size apart
AIR = 2.0  # pixels between labels


def place_labels(
    outlines: Sequence[np.ndarray], sizes: Sequence[tuple[float, float]], low: Sequence[float],
    high: Sequence[float],
) -> list[np.ndarray | None]:  # fmt: skip
    """The centre (2,) of each label, None where there is no room left.

    Parameters
    ----------
    outlines : sequence of (k, 2)
        What the labels name; earlier ones choose first.
    sizes : sequence of (width, height)
    low, high : (2,)
        Top-left and bottom-right corner of the picture.
    """
    placed: list[tuple[np.ndarray, np.ndarray]] = []
    centres: list[np.ndarray | None] = []
    for outline, size in zip(outlines, sizes, strict=True):
        half = np.array(size) / 2
        inside = np.array(low) + half, np.array(high) - half
        fits = (inside[0] <= inside[1]).all()
        tried = (np.clip(place, *inside) for place in _places(outline, half)) if fits else ()
        centre = next((place for place in tried if _is_free(place, half, placed)), None)
        if centre is not None:
            placed.append((centre, half))
        centres.append(centre)
    return centres


def _is_free(centre, half, placed):
    return all((np.abs(centre - other) >= half + own + AIR).any() for other, own in placed)


def _places(outline, half):
    """Centres of a label, the best first."""
    low, high = outline.min(axis=0), outline.max(axis=0)
    middle = (low + high) / 2
    above = np.array([middle[0], low[1] - half[1] - AIR])
    below = np.array([middle[0], high[1] + half[1] + AIR])
    first = middle if (high - low >= ROOMY * 2 * half).all() else above
    yield from (first, above, below)
    for ring in range(1, RINGS):
        for angle in np.arange(0, 2 * np.pi, np.pi / (4 * ring)):
            yield first + ring * 2 * (half + AIR) * (np.cos(angle), np.sin(angle))
