"""Fine textures that repeat or tell nothing: what a matcher must not take for objects.

Every pattern is drawn from its random generator: period, angle, phase, shades. Patterns are (h, w) float64 in
[0, 1]; a texture is an (h, w, 3) uint8 picture.
"""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from synth.photographs import Picture

PERIODS = (5.0, 24.0)  # pixels of a pattern that repeats, drawn uniformly on a logarithmic axis
SCREENS = (4.0, 10.0)  # pixels between the dots of a printed photograph
DIGITS = "0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Size = tuple[int, int]  # height, width
Pattern = NDArray[np.float64]


def texture(kind: str, size: Size, rng: np.random.Generator, photograph: Picture | None = None) -> Picture:
    """A texture of one of KINDS; `photograph` is what "halftone" prints, and no other kind takes one."""
    if kind == "halftone":
        if photograph is None:
            raise ValueError('kind "halftone" must have a photograph to print, got None')
        pattern = halftone(photograph, size, rng)
    elif kind in PATTERNS:
        pattern = PATTERNS[kind](size, rng)
    else:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    dark, bright = rng.uniform(0, 80, 3), rng.uniform(170, 255, 3)
    return np.rint(dark + pattern[..., None] * (bright - dark)).astype(np.uint8)


def halftone(photograph: Picture, size: Size, rng: np.random.Generator) -> Pattern:
    """A photograph as printed: round dots on a turned grid, the larger the darker it is there."""
    h, w = size
    grey = cv2.resize(cv2.cvtColor(photograph, cv2.COLOR_RGB2GRAY), (w, h), interpolation=cv2.INTER_CUBIC)
    period = _period(rng, SCREENS)
    u, v = _turned(size, rng, period)
    screen = 0.5 + (np.cos(u) + np.cos(v)) / 4
    return _edge(grey / 255 - 0.96 * screen - 0.02, 4 / period)


def dots(size: Size, rng: np.random.Generator) -> Pattern:
    """Round dots of one size on a square grid."""
    period = _period(rng)
    u, v = _turned(size, rng, period)
    return _edge(np.cos(u) + np.cos(v) - rng.uniform(0, 1), 6 / period)


def hexagons(size: Size, rng: np.random.Generator) -> Pattern:
    """Honeycomb: outlines where three waves at 60 degrees add up to little."""
    period = _period(rng)
    u, v = _turned(size, rng, period)
    waves = sum(np.cos(u * np.cos(a) + v * np.sin(a)) for a in np.arange(3) * 2 * np.pi / 3)
    return _edge(waves + 0.9, 4 / period)


def mesh(size: Size, rng: np.random.Generator) -> Pattern:
    """Thin lines in two directions."""
    period = _period(rng)
    u, v = _turned(size, rng, period)
    return _edge(np.minimum(1 - np.cos(u), 1 - np.cos(v)) - rng.uniform(0.05, 0.3), 4 / period)


def tiles(size: Size, rng: np.random.Generator) -> Pattern:
    """Tiles between joints, or bricks where every other row is shifted; each has a shade of its own."""
    period = _period(rng)
    u, v = (c / (2 * np.pi) for c in _turned(size, rng, period))
    row = np.floor(v)
    u = u / rng.choice([1, 2]) + row * rng.choice([0.0, 0.5])
    shade = rng.uniform(0.5, 0.8, (97, 89))[row.astype(int) % 97, np.floor(u).astype(int) % 89]
    joint = np.maximum(np.abs(u % 1 - 0.5), np.abs(v % 1 - 0.5)) > 0.44
    return np.where(joint, 0.1, shade)


def checks(size: Size, rng: np.random.Generator) -> Pattern:
    """A chessboard."""
    period = _period(rng)
    u, v = _turned(size, rng, period)
    return _edge(np.sin(u) * np.sin(v), 8 / period)


def moire(size: Size, rng: np.random.Generator) -> Pattern:
    """Two gratings of nearly the same period and direction, one over the other."""
    period = _period(rng)
    u, v = _turned(size, rng, period)
    turn, stretch = rng.uniform(0.02, 0.15), rng.uniform(1.01, 1.1)
    return _edge(np.cos(u) * np.cos(stretch * (u * np.cos(turn) + v * np.sin(turn))), 8 / period)


def weave(size: Size, rng: np.random.Generator) -> Pattern:
    """Threads that pass over and under each other in turn."""
    u, v = _turned(size, rng, _period(rng))
    over = (np.floor(u / np.pi) + np.floor(v / np.pi)) % 2 == 0
    return np.where(over, np.abs(np.sin(u)), 0.7 * np.abs(np.sin(v)))


def noise(size: Size, rng: np.random.Generator) -> Pattern:
    """Gaussian noise, more or less smooth."""
    values = rng.normal(size=size)
    blur = rng.uniform(0.3, 2.0)
    values = cv2.GaussianBlur(values, (0, 0), blur)
    return np.clip(0.5 + 0.2 * values / values.std(), 0, 1)


def text(size: Size, rng: np.random.Generator) -> Pattern:
    """Lines of random words."""
    return _written(size, rng, lambda: "".join(rng.choice(list(LETTERS), rng.integers(2, 10))), 8)


def numbers(size: Size, rng: np.random.Generator) -> Pattern:
    """A sheet of numbers in columns."""
    digits = int(rng.integers(2, 7))
    return _written(size, rng, lambda: "".join(rng.choice(list(DIGITS), digits)), 14)


def barcodes(size: Size, rng: np.random.Generator) -> Pattern:
    """Rows of bar codes, each with its number below."""
    page, unit = np.ones(size, np.uint8), int(rng.integers(2, 5))
    high, wide = 40 * unit, 110 * unit
    for top in range(10, size[0], high + 20 * unit):
        for left in range(10, size[1], wide + 15 * unit):
            bars = np.repeat(np.arange(60) % 2, rng.integers(1, 4, 60) * unit)[: min(wide, size[1] - left)]
            page[top : top + high, left : left + len(bars)] = bars
            number = "".join(rng.choice(list(DIGITS), 13))
            _write(page, number, left, top + high + 9 * unit, unit / 3)
    return page.astype(float)


def _written(size, rng, word: Callable[[], str], gap):
    page, scale = np.ones(size, np.uint8), rng.uniform(0.35, 0.8)
    for y in range(round(30 * scale), size[0], round(34 * scale)):
        x = round(10 * scale)
        while x < size[1]:
            x = _write(page, word(), x, y, scale) + round(gap * scale)
    return page.astype(float)


def _write(page, words, x, y, scale):
    """Write in black from (x, y) on; where it ends."""
    font = cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(page, words, (x, y), font, scale, 0, max(round(1.6 * scale), 1))
    return x + cv2.getTextSize(words, font, scale, 1)[0][0]


def _period(rng, bounds=PERIODS):
    return float(np.exp(rng.uniform(*np.log(bounds))))


def _turned(size, rng, period):
    """Coordinates of the pixels on axes at a random angle, from a random origin; 2 pi is a period."""
    angle, phase = rng.uniform(0, np.pi / 2), rng.uniform(0, 2 * np.pi, 2)
    y, x = np.ogrid[: size[0], : size[1]]
    c, s = np.cos(angle) * 2 * np.pi / period, np.sin(angle) * 2 * np.pi / period
    return c * x + s * y + phase[0], c * y - s * x + phase[1]


def _edge(value, slope):
    """0 where a function is negative, 1 where it is positive; `slope`: its change over a pixel."""
    return np.clip(0.5 + value / slope, 0, 1)


PATTERNS: dict[str, Callable[[Size, np.random.Generator], Pattern]] = {
    f.__name__: f for f in (dots, hexagons, mesh, tiles, checks, moire, weave, noise, text, numbers, barcodes)
}
KINDS = ("halftone", *PATTERNS)
