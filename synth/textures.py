"""Fine textures that repeat or carry no information; a matcher must not take them for objects.

A pattern may repeat on a screen, which is a square grid with a period and an angle. A random generator draws
the rest: phase, contrast, shades, words. Patterns are (h, w) float64 in [0, 1]; a texture is an (h, w, 3)
uint8 picture.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from synth._types import Floats, Picture

PERIODS = (5.0, 16.0)  # pixels, drawn uniformly on a logarithmic axis
DIGITS = "0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Size = tuple[int, int]  # height, width
Pattern = Floats


@dataclass(frozen=True)
class Screen:
    """A square grid on which a pattern repeats.

    Parameters
    ----------
    period : float
        The period, pixels.
    angle : float
        Radians from the x axis.
    """

    period: float
    angle: float


def random_screen(rng: np.random.Generator) -> Screen:
    """Draw a screen with any angle and a period within PERIODS.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    Screen
        The screen.
    """
    return Screen(float(np.exp(rng.uniform(*np.log(PERIODS)))), float(rng.uniform(0, np.pi / 2)))


def texture(
    kind: str, size: Size, rng: np.random.Generator, screen: Screen, photograph: Picture | None = None
) -> Picture:
    """Draw a texture.

    Parameters
    ----------
    kind : str
        One of KINDS.
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which the texture repeats.
    photograph : (h, w, 3) uint8, optional
        The picture that "halftone" prints; no other kind takes one.

    Returns
    -------
    (h, w, 3) uint8
        The texture, RGB.

    Raises
    ------
    ValueError
        If the kind is not known, or has no photograph to print.
    """
    if kind == "halftone":
        if photograph is None:
            raise ValueError('kind "halftone" must have a photograph to print, got None')
        pattern = halftone(photograph, size, rng, screen)
    elif kind in PATTERNS:
        pattern = PATTERNS[kind](size, rng, screen)
    else:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    dark, bright = rng.uniform(0, 80, 3), rng.uniform(170, 255, 3)
    return np.rint(dark + pattern[..., None] * (bright - dark)).astype(np.uint8)


def halftone(photograph: Picture, size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw a photograph as printed: round dots on a turned grid, larger where it is darker.

    Parameters
    ----------
    photograph : (h, w, 3) uint8
        The printed picture, RGB.
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid of the dots.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    h, w = size
    grey = cv2.resize(cv2.cvtColor(photograph, cv2.COLOR_RGB2GRAY), (w, h), interpolation=cv2.INTER_CUBIC)
    u, v = _turn(size, rng, screen)
    threshold = 0.5 + (np.cos(u) + np.cos(v)) / 4
    return _edge(grey / 255 - 0.96 * threshold - 0.02, 4 / screen.period)


def dots(size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw round dots of one size on a square grid.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which it repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    u, v = _turn(size, rng, screen)
    return _edge(np.cos(u) + np.cos(v) - rng.uniform(0, 1), 6 / screen.period)


def hexagons(size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw a honeycomb, with outlines where the sum of three waves at 60 degrees is small.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which it repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    u, v = _turn(size, rng, screen)
    waves = sum(np.cos(u * np.cos(a) + v * np.sin(a)) for a in np.arange(3) * 2 * np.pi / 3)
    return _edge(waves + 0.9, 4 / screen.period)


def mesh(size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw thin lines in two directions.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which it repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    u, v = _turn(size, rng, screen)
    return _edge(np.minimum(1 - np.cos(u), 1 - np.cos(v)) - rng.uniform(0.05, 0.3), 4 / screen.period)


def tiles(size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw tiles between joints, or bricks if every other row is shifted; the shades differ.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which it repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    u, v = (c / (2 * np.pi) for c in _turn(size, rng, screen))
    row = np.floor(v)
    u = u / rng.choice([1, 2]) + row * rng.choice([0.0, 0.5])
    shade = rng.uniform(0.5, 0.8, (97, 89))[row.astype(int) % 97, np.floor(u).astype(int) % 89]
    joint = np.maximum(np.abs(u % 1 - 0.5), np.abs(v % 1 - 0.5)) > 0.44
    return np.where(joint, 0.1, shade)


def checks(size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw a chessboard.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which it repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    u, v = _turn(size, rng, screen)
    return _edge(np.sin(u) * np.sin(v), 8 / screen.period)


def moire(size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw two gratings of nearly the same period and direction on top of each other.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which it repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    u, v = _turn(size, rng, screen)
    turn, stretch = rng.uniform(0.02, 0.15), rng.uniform(1.01, 1.1)
    return _edge(np.cos(u) * np.cos(stretch * (u * np.cos(turn) + v * np.sin(turn))), 8 / screen.period)


def weave(size: Size, rng: np.random.Generator, screen: Screen) -> Pattern:
    """Draw threads that alternately pass over and under each other.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    screen : Screen
        The grid on which it repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    u, v = _turn(size, rng, screen)
    over = (np.floor(u / np.pi) + np.floor(v / np.pi)) % 2 == 0
    return np.where(over, np.abs(np.sin(u)), 0.7 * np.abs(np.sin(v)))


def noise(size: Size, rng: np.random.Generator, _: Screen) -> Pattern:
    """Draw Gaussian noise with a random smoothness.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    _ : Screen
        Not used: nothing repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    values = rng.normal(size=size)
    blur = rng.uniform(0.3, 2.0)
    values = np.asarray(cv2.GaussianBlur(values, (0, 0), blur), np.float64)
    return np.asarray(np.clip(0.5 + 0.2 * values / values.std(), 0, 1))


def text(size: Size, rng: np.random.Generator, _: Screen) -> Pattern:
    """Draw lines of random words.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    _ : Screen
        Not used: nothing repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    return _write_text(size, rng, lambda: "".join(rng.choice(list(LETTERS), rng.integers(2, 10))), 8)


def numbers(size: Size, rng: np.random.Generator, _: Screen) -> Pattern:
    """Draw a sheet of numbers in columns.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    _ : Screen
        Not used: nothing repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    digits = int(rng.integers(2, 7))
    return _write_text(size, rng, lambda: "".join(rng.choice(list(DIGITS), digits)), 14)


def barcodes(size: Size, rng: np.random.Generator, _: Screen) -> Pattern:
    """Draw rows of bar codes, each with its number below.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    _ : Screen
        Not used: nothing repeats.

    Returns
    -------
    (h, w) float64
        The pattern, in [0, 1].
    """
    page, unit = np.ones(size, np.uint8), int(rng.integers(2, 5))
    high, wide = 40 * unit, 110 * unit
    for top in range(10, size[0], high + 20 * unit):
        for left in range(10, size[1], wide + 15 * unit):
            bars = np.repeat(np.arange(60) % 2, rng.integers(1, 4, 60) * unit)[: min(wide, size[1] - left)]
            page[top : top + high, left : left + len(bars)] = bars
            number = "".join(rng.choice(list(DIGITS), 13))
            _write(page, number, left, top + high + 9 * unit, unit / 3)
    return page.astype(float)


def _write_text(size: Size, rng: np.random.Generator, word: Callable[[], str], gap: int) -> Pattern:
    page, scale = np.ones(size, np.uint8), rng.uniform(0.35, 0.8)
    for y in range(round(30 * scale), size[0], round(34 * scale)):
        x = round(10 * scale)
        while x < size[1]:
            x = _write(page, word(), x, y, scale) + round(gap * scale)
    return page.astype(float)


def _write(page: Picture, words: str, x: int, y: int, scale: float) -> int:
    """Write in black, starting at (x, y), and return where the text ends."""
    font = cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(page, words, (x, y), font, scale, 0, max(round(1.6 * scale), 1))
    return x + cv2.getTextSize(words, font, scale, 1)[0][0]


def _turn(size: Size, rng: np.random.Generator, screen: Screen) -> tuple[Floats, Floats]:
    """Coordinates of the pixels along the axes of the screen, from a random origin; 2 pi is a period."""
    phase, step = rng.uniform(0, 2 * np.pi, 2), 2 * np.pi / screen.period
    y, x = np.ogrid[: size[0], : size[1]]
    c, s = np.cos(screen.angle) * step, np.sin(screen.angle) * step
    return c * x + s * y + phase[0], c * y - s * x + phase[1]


def _edge(value: Floats, slope: float) -> Pattern:
    """0 where a function is negative and 1 where it is positive; `slope` is its change over a pixel."""
    return np.clip(0.5 + value / slope, 0, 1)


PATTERNS: dict[str, Callable[[Size, np.random.Generator, Screen], Pattern]] = {
    f.__name__: f for f in (dots, hexagons, mesh, tiles, checks, moire, weave, noise, text, numbers, barcodes)
}
KINDS = ("halftone", *PATTERNS)
