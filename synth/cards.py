"""A deck of 52 playing cards, drawn, and photographs of cards that lie on a table.

Cards of one rank differ in their suits alone, and the court cards of one suit share most of their strokes.
All cards look the same after half a turn, but for single pips, as printed ones do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from synth._types import Floats, Picture

RANKS = ("ace", "2", "3", "4", "5", "6", "7", "8", "9", "10", "jack", "queen", "king")
SUITS = ("spades", "hearts", "diamonds", "clubs")
WIDTH, HEIGHT = 240, 336  # pixels of a card, whose sides are as 5 to 7
COLOURS = {"spades": (20, 20, 25), "hearts": (190, 20, 35), "diamonds": (190, 20, 35), "clubs": (20, 20, 25)}
ROWS, COLUMNS = 3, 4  # of cards on a table
CELL = 480  # pixels of a photograph between cards
FINE = 4  # drawn so many times as large, for smooth edges

# Pips of the upper half (x, y) in units of the card, which the lower half repeats upside down, and others.
_LEFT, _RIGHT, _TOP = 0.3, 0.7, 0.17
_CORNERS = ((_LEFT, _TOP), (_RIGHT, _TOP))
_FOURS = (*_CORNERS, (_LEFT, 0.39), (_RIGHT, 0.39))
_SIDES, _MIDDLE, _HIGH = ((_LEFT, 0.5), (_RIGHT, 0.5)), (0.5, 0.5), (0.5, 0.28)
_PIPS = {
    "ace": ((), (_MIDDLE,)),
    "2": (((0.5, _TOP),), ()),
    "3": (((0.5, _TOP),), (_MIDDLE,)),
    "4": (_CORNERS, ()),
    "5": (_CORNERS, (_MIDDLE,)),
    "6": (_CORNERS, _SIDES),
    "7": (_CORNERS, (*_SIDES, (0.5, 0.335))),
    "8": ((*_CORNERS, (0.5, 0.335)), _SIDES),
    "9": (_FOURS, (_MIDDLE,)),
    "10": ((*_FOURS, _HIGH), ()),
}


def draw_deck() -> dict[str, Picture]:
    """Draw all cards.

    Returns
    -------
    dict of str to (336, 240, 3) uint8
        The cards by their names, such as "7 of hearts", RGB; the same at each call.
    """
    return {f"{rank} of {suit}": _draw_card(rank, suit) for suit in SUITS for rank in RANKS}


def photograph_cards(
    cards: Mapping[str, Picture], names: Sequence[str], rng: np.random.Generator
) -> tuple[Picture, list[Floats]]:
    """Photograph up to twelve cards on a table: turned, from the side, with blur, noise and uneven light.

    Parameters
    ----------
    cards : mapping of str to (336, 240, 3) uint8
        The deck.
    names : sequence of str
        The cards on the table.
    rng : numpy.random.Generator
        The source of chance; every second table is of wood.

    Returns
    -------
    photograph : (1440, 1920, 3) uint8
        RGB.
    quads : list of (4, 2) float64
        The corners of each card in the photograph, pixels.
    """
    size = np.array([COLUMNS * CELL, ROWS * CELL])
    table = _draw_ground(size, rng)
    low, high = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * (size - 1.0), rng.uniform(0, 0.07, (4, 2)) * size
    camera = cv2.getPerspectiveTransform(
        low.astype(np.float32), (low + high * [[1, 1], [-1, 1], [-1, -1], [1, -1]]).astype(np.float32)
    )
    photograph = cv2.warpPerspective(table, camera, size.tolist(), borderMode=cv2.BORDER_REFLECT)
    corners = np.array([[0, 0], [WIDTH, 0], [WIDTH, HEIGHT], [0, HEIGHT]]) - 0.5
    quads = []
    for k, name in enumerate(names):
        middle = (np.array([k % COLUMNS, k // COLUMNS]) + 0.5) * CELL + rng.uniform(-20, 20, 2)
        turn, scale = rng.uniform(0, 360), rng.uniform(0.9, 1.15)
        pose = np.vstack(
            [cv2.getRotationMatrix2D((WIDTH / 2 - 0.5, HEIGHT / 2 - 0.5), turn, scale), [0, 0, 1]]
        )
        pose[:2, 2] += middle - [WIDTH / 2, HEIGHT / 2]
        pose = camera @ pose
        quads.append(cv2.perspectiveTransform(corners[None], pose)[0])
        mask = cv2.warpPerspective(_round_corners(), pose, size.tolist(), flags=cv2.INTER_AREA)[..., None]
        drawn = cv2.warpPerspective(cards[name], pose, size.tolist(), flags=cv2.INTER_LINEAR)
        photograph = photograph + (drawn - photograph) * (mask / 255.0)
    x, y = np.meshgrid(*(np.linspace(-1, 1, n) for n in size))
    angle = rng.uniform(0, 2 * np.pi)
    light = rng.uniform(0.75, 0.95) + 0.18 * (np.cos(angle) * x + np.sin(angle) * y)
    photograph = cv2.GaussianBlur(photograph * light[..., None], (0, 0), rng.uniform(0.7, 1.4))
    photograph *= rng.uniform(0.92, 1.0, 3)
    return np.clip(photograph + rng.normal(0, 4, photograph.shape), 0, 255).astype(np.uint8), quads


def _draw_ground(size: Floats, rng: np.random.Generator) -> Floats:
    width, height = size.tolist()
    if rng.random() < 0.5:
        return np.full((height, width, 3), rng.uniform(60, 120, 3))
    grain = cv2.resize(rng.normal(0, 1, (height // 6, 12)), (width, height), interpolation=cv2.INTER_CUBIC)
    fine = cv2.resize(rng.normal(0, 1, (height // 2, 40)), (width, height), interpolation=cv2.INTER_LINEAR)
    wood: Floats = np.array([150.0, 105.0, 65.0]) + (12 * grain + 6 * fine)[..., None]
    return wood


def _round_corners() -> Picture:
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.rectangle(mask, (12, 0), (WIDTH - 13, HEIGHT - 1), 255, -1)
    cv2.rectangle(mask, (0, 12), (WIDTH - 1, HEIGHT - 13), 255, -1)
    for x in (12, WIDTH - 13):
        for y in (12, HEIGHT - 13):
            cv2.circle(mask, (x, y), 12, 255, -1)
    return mask


def _draw_card(rank: str, suit: str) -> Picture:
    page = np.full((FINE * HEIGHT, FINE * WIDTH, 3), 250, np.uint8)
    sign = rank if rank[0].isdigit() else rank[0].upper()
    both, single = _PIPS.get(rank, ((), ()))
    if not both and not single:
        _draw_court(page, rank, suit)
    place = (FINE * (6 if len(sign) > 1 else 9), FINE * 32)
    font, colour = cv2.FONT_HERSHEY_DUPLEX, COLOURS[suit]
    cv2.putText(page, sign, place, font, 0.9 * FINE, colour, 2 * FINE, cv2.LINE_AA)
    _draw_pip(page, suit, 0.083, 0.145, 11)
    for x, y in both:
        _draw_pip(page, suit, x, y, 24)
    middle = len(page) // 2
    page[middle:] = page[:middle][::-1, ::-1]
    for x, y in single:
        _draw_pip(page, suit, x, y, 48 if rank == "ace" else 24)
    return np.asarray(cv2.resize(page, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA))


def _draw_pip(page: Picture, suit: str, x: float, y: float, size: float) -> None:
    """Draw a pip with its middle at (x, y) in units of the card; size in pixels of it, half its height."""
    middle, unit = np.array([x * FINE * WIDTH, y * FINE * HEIGHT]), size * FINE
    colour = COLOURS[suit]

    def fill(points: Sequence[tuple[float, float]]) -> None:
        cv2.fillPoly(page, [np.rint(middle + unit * np.array(points)).astype(np.int32)], colour, cv2.LINE_AA)

    def dot(dx: float, dy: float, radius: float) -> None:
        centre = np.rint(middle + unit * np.array([dx, dy])).astype(int).tolist()
        cv2.circle(page, centre, int(unit * radius), colour, -1, cv2.LINE_AA)

    if suit == "diamonds":
        fill([(0, -1), (0.75, 0), (0, 1), (-0.75, 0)])
    if suit == "hearts":
        for side in (-0.42, 0.42):
            dot(side, -0.4, 0.45)
        fill([(-0.84, -0.25), (0.84, -0.25), (0, 1)])
    if suit == "spades":
        for side in (-0.42, 0.42):
            dot(side, 0.22, 0.43)
        fill([(-0.82, 0.08), (0.82, 0.08), (0, -1)])
    if suit == "clubs":
        for leaf in ((0, -0.5, 0.42), (-0.48, 0.2, 0.42), (0.48, 0.2, 0.42), (0, 0, 0.3)):
            dot(*leaf)
    if suit in ("spades", "clubs"):
        fill([(0, 0.1), (0.35, 1), (-0.35, 1)])


def _draw_court(page: Picture, rank: str, suit: str) -> None:
    """Draw the upper half of a court card: robes by suit, head, hat and hand by rank."""

    def at(x: float, y: float) -> tuple[int, int]:
        return round(x * FINE * WIDTH), round(y * FINE * HEIGHT)

    ink, robes = (25, 25, 60), np.random.default_rng(SUITS.index(suit))
    cv2.rectangle(page, at(0.17, 0.06), at(0.83, 0.94), ink, FINE, cv2.LINE_AA)
    sides = [(0.2, 0.5), (0.28, 0.34), (0.42, 0.3), (0.58, 0.3), (0.72, 0.34), (0.8, 0.5)]
    shoulders = np.array([at(*point) for point in sides])
    cv2.fillPoly(page, [shoulders], (225, 195, 70), cv2.LINE_AA)
    for _ in range(26):
        x, y = robes.uniform(0.24, 0.76), robes.uniform(0.34, 0.5)
        dx, dy = robes.uniform(-0.07, 0.07), robes.uniform(-0.04, 0.04)
        colour = ((190, 30, 40), (30, 40, 120), ink)[robes.integers(3)]
        width = int(FINE * robes.integers(1, 4))
        cv2.line(page, at(x - dx, y - dy), at(x + dx, y + dy), colour, width, cv2.LINE_AA)
    cv2.polylines(page, [shoulders], False, ink, FINE, cv2.LINE_AA)
    _draw_pip(page, suit, 0.26, 0.13, 17)
    cv2.ellipse(page, at(0.5, 0.22), at(0.085, 0.075), 0, 0, 360, (245, 215, 185), -1, cv2.LINE_AA)
    cv2.ellipse(page, at(0.5, 0.22), at(0.085, 0.075), 0, 0, 360, ink, FINE, cv2.LINE_AA)
    for x in (0.465, 0.535):
        cv2.circle(page, at(x, 0.21), 2 * FINE, ink, -1, cv2.LINE_AA)
    cv2.line(page, at(0.5, 0.215), at(0.49, 0.235), ink, FINE, cv2.LINE_AA)
    cv2.line(page, at(0.475, 0.255), at(0.525, 0.255), (170, 40, 40), FINE, cv2.LINE_AA)
    hats = {
        "king": [
            (0.4, 0.17),
            (0.38, 0.08),
            (0.45, 0.12),
            (0.5, 0.07),
            (0.55, 0.12),
            (0.62, 0.08),
            (0.6, 0.17),
        ],
        "queen": [(0.42, 0.16), (0.44, 0.1), (0.56, 0.1), (0.58, 0.16)],
        "jack": [(0.4, 0.17), (0.42, 0.12), (0.66, 0.12), (0.6, 0.17)],
    }
    cv2.fillPoly(page, [np.array([at(*point) for point in hats[rank]])], (200, 150, 30), cv2.LINE_AA)
    cv2.polylines(page, [np.array([at(*point) for point in hats[rank]])], True, ink, FINE, cv2.LINE_AA)
    if rank == "king":
        cv2.line(page, at(0.74, 0.1), at(0.74, 0.44), ink, 3 * FINE, cv2.LINE_AA)
        cv2.line(page, at(0.69, 0.36), at(0.79, 0.36), ink, 2 * FINE, cv2.LINE_AA)
        for x in np.linspace(0.45, 0.55, 7):
            cv2.line(page, at(x, 0.265), at(0.5, 0.33), ink, FINE, cv2.LINE_AA)
    if rank == "queen":
        for turn in np.linspace(0, 2 * np.pi, 7)[:-1]:
            petal = at(0.72 + 0.03 * np.cos(turn), 0.2 + 0.022 * np.sin(turn))
            cv2.circle(page, petal, 4 * FINE, (200, 60, 90), -1)
        cv2.line(page, at(0.72, 0.22), at(0.7, 0.36), (40, 110, 50), 2 * FINE, cv2.LINE_AA)
        for x in (0.405, 0.595):
            cv2.ellipse(page, at(x, 0.24), at(0.02, 0.06), 0, 0, 360, (130, 80, 30), -1, cv2.LINE_AA)
    if rank == "jack":
        cv2.line(page, at(0.68, 0.1), at(0.78, 0.34), (90, 60, 30), 3 * FINE, cv2.LINE_AA)
        cv2.circle(page, at(0.68, 0.1), 6 * FINE, (150, 150, 160), -1, cv2.LINE_AA)
        cv2.line(page, at(0.41, 0.18), at(0.39, 0.28), (130, 80, 30), 3 * FINE, cv2.LINE_AA)
