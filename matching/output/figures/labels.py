"""Places for labels: beside or on the objects that they name, inside the picture, without overlap."""

from collections.abc import Iterator, Sequence

import numpy as np

from matching._common.types import Floats

ROOMY = 4.0  # an object at least this many times as large as its label has it inside, others beside them
RINGS = 24  # rings of places to try around the preferred one, a label's size apart
AIR = 2.0  # pixels between labels


def place_labels(
    outlines: Sequence[Floats], sizes: Sequence[tuple[float, float]], low: Sequence[float],
    high: Sequence[float],
) -> list[Floats | None]:  # fmt: skip
    """Choose places (2,) for labels of outlines (k, 2) between corners low and high (2,)."""
    placed: list[tuple[Floats, Floats]] = []
    centres: list[Floats | None] = []
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


def _is_free(centre: Floats, half: Floats, placed: Sequence[tuple[Floats, Floats]]) -> bool:
    return all((np.abs(centre - other) >= half + own + AIR).any() for other, own in placed)


def _places(outline: Floats, half: Floats) -> Iterator[Floats]:
    low, high = outline.min(axis=0), outline.max(axis=0)
    middle = (low + high) / 2
    above = np.array([middle[0], low[1] - half[1] - AIR])
    below = np.array([middle[0], high[1] + half[1] + AIR])
    first = middle if (high - low >= ROOMY * 2 * half).all() else above
    yield from (first, above, below)
    for ring in range(1, RINGS):
        for angle in np.arange(0, 2 * np.pi, np.pi / (4 * ring)):
            yield first + ring * 2 * (half + AIR) * (np.cos(angle), np.sin(angle))
