"""Single pictures that show things several times, with the box of each copy, for tests of counts.

A thing is a picture, and its copies are pasted into a larger one. Boxes are (x, y, width, height), pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from synth._types import Picture

Box = tuple[int, int, int, int]
PRODUCT = 0.72  # ratio of width to height of a product in `draw_stock`

WORDS = [
    "never",
    "where",
    "quick",
    "thing",
    "after",
    "house",
    "small",
    "great",
    "other",
    "which",
    "round",
    "under",
    "sound",
    "paper",
    "light",
    "black",
    "jumps",
]


@dataclass(frozen=True, eq=False)
class Page:
    """A picture and its repeated things.

    Parameters
    ----------
    picture : (h, w, 3) uint8
        RGB.
    things : tuple of tuple of Box
        For each thing that is shown more than once, the boxes of its copies.
    """

    picture: Picture
    things: tuple[tuple[Box, ...], ...]


def draw_comic(
    tiles: Sequence[Picture], face: Picture, rng: np.random.Generator, n_copies: int = 3, side: int = 280
) -> Page:
    """Draw six different panels with a speech bubble each, and the same face in some of them.

    Parameters
    ----------
    tiles : sequence of (h, w, 3) uint8
        Six or more photographs, which become the panels.
    face : (h, w, 3) uint8
        The picture that is shown several times, cut out as an ellipse.
    rng : numpy.random.Generator
        Source of random numbers.
    n_copies : int
        Number of panels with the face.
    side : int
        Side of a panel, pixels.

    Returns
    -------
    Page
        With one thing.
    """
    gap = 16
    page = np.full((2 * side + 3 * gap, 3 * side + 4 * gap, 3), 255, np.uint8)
    size = int(rng.integers(side * 2 // 5, side // 2))
    small = _fit(face, size, size)
    grid = (np.indices((size, size)) + 0.5) / size * 2 - 1
    inside = np.square(grid).sum(axis=0) <= 1
    chosen = set(rng.choice(6, n_copies, replace=False).tolist())
    boxes: list[Box] = []
    said = rng.permutation(WORDS)[:12].reshape(6, 2)
    for k, tile in enumerate(rng.permutation(len(tiles))[:6]):
        x, y = gap + (k % 3) * (side + gap), gap + (k // 3) * (side + gap)
        page[y : y + side, x : x + side] = _fit(tiles[tile], side, side)
        if k in chosen:
            left, top = (
                int(v) for v in rng.integers((4, side - size - 90), (side - size - 4, side - size - 4))
            )
            top = max(top, 80)
            part = page[y + top : y + top + size, x + left : x + left + size]
            part[inside] = small[inside]
            boxes.append((x + left, y + top, size, size))
        _add_bubble(page, (x + side // 2, y + 40), " ".join(said[k]))
    return Page(page, (tuple(boxes),))


def draw_shelf(
    fronts: Sequence[Picture],
    rng: np.random.Generator,
    n_rows: int = 3,
    n_places: int = 8,
    height: int = 200,
) -> Page:
    """Draw a shelf with one to four copies of each product side by side, each product on one board only.

    Parameters
    ----------
    fronts : sequence of (h, w, 3) uint8
        Pictures of products, enough for all boards.
    rng : numpy.random.Generator
        Source of random numbers.
    n_rows : int
        Number of boards.
    n_places : int
        Number of products on each board.
    height : int
        Height of a product, pixels.

    Returns
    -------
    Page
        With a thing for each product that is shown more than once.
    """
    order = iter(rng.permutation(len(fronts)).tolist())
    rows: list[list[tuple[int, Picture]]] = []
    for _ in range(n_rows):
        row: list[tuple[int, Picture]] = []
        while len(row) < n_places:
            k = next(order)
            h, w = fronts[k].shape[:2]
            front = _fit(fronts[k], max(round(height * w / h), 60), height)
            row += [(k, front)] * min(int(rng.integers(1, 5)), n_places - len(row))
        rows.append(row)
    width = max(sum(front.shape[1] + 8 for _, front in row) for row in rows) + 40
    page = np.full((n_rows * (height + 40) + 20, width, 3), 90, np.uint8)
    page += rng.integers(0, 12, page.shape, np.uint8)
    found: dict[int, list[Box]] = {}
    for n, row in enumerate(rows):
        x, y = 20, 20 + n * (height + 40)
        page[y + height : y + height + 16] = 200
        for k, front in row:
            light, top = rng.uniform(0.85, 1.1), y + int(rng.integers(-3, 1))
            h, w = front.shape[:2]
            page[top : top + h, x : x + w] = np.clip(front * light, 0, 255).astype(np.uint8)
            found.setdefault(k, []).append((x, top, w, h))
            x += w + int(rng.integers(2, 9))
    return Page(page, tuple(tuple(own) for own in found.values() if len(own) > 1))


def crop_front(front: Picture) -> Picture:
    """Cut out the part of a front that a product of `draw_stock` shows.

    Parameters
    ----------
    front : (h, w, 3) uint8
        RGB.

    Returns
    -------
    (h', w', 3) uint8
        The middle of the front, with the proportions of a product.
    """
    h, w = front.shape[:2]
    height = min(h, round(w / PRODUCT))
    return _fit(front, round(height * PRODUCT), height)


def draw_stock(
    fronts: Sequence[Picture], rng: np.random.Generator, most: int = 40, height: int = 170
) -> tuple[Picture, tuple[int, ...]]:
    """Draw a shelf with one to `most` copies of each of three products, in any order, and siblings of them.

    A sibling is another front with the upper third of one of the three. Copies differ in light and size, and
    are turned a little; a price tag hides the lower part of every eighth copy.

    Parameters
    ----------
    fronts : sequence of (h, w, 3) uint8
        Six or more; the shelf shows the first three, cropped as by `crop_front`, and the next three as
        siblings of these.
    rng : numpy.random.Generator
        Source of random numbers.
    most : int
        The largest number of copies of a product.
    height : int
        Mean height of a product, pixels.

    Returns
    -------
    picture : (h, w, 3) uint8
        RGB.
    copies : tuple of int
        The number of copies of each front that is not a sibling: the first three, then the seventh and later
        ones.
    """
    counts = rng.integers(1, most + 1, 3).tolist()
    width = round(height * PRODUCT)
    shown = [_fit(front, 4 * width, 4 * height) for front in fronts]
    for k in range(3):
        shown[3 + k] = np.vstack([shown[k][: 4 * height // 3], shown[3 + k][4 * height // 3 :]])
    stock = rng.permutation(np.repeat(np.arange(6), [*counts, 2, 2, 2])).tolist()
    n_columns = 12
    n_rows = -(-len(stock) // n_columns)
    cell = width + 14, height + 40
    page = np.full((n_rows * cell[1] + 30, n_columns * cell[0] + 30, 3), 80, np.uint8)
    page += rng.integers(0, 14, page.shape, np.uint8)
    for n, k in enumerate(stock):
        x, y = 15 + n % n_columns * cell[0], 15 + n // n_columns * cell[1]
        size, angle = rng.uniform(0.94, 1.0) / 4, rng.normal(0, 1.0)
        matrix = cv2.getRotationMatrix2D((2 * width - 0.5, 2 * height - 0.5), angle, size)
        matrix = matrix - np.array([[0.0, 0.0, 1.5 * width], [0.0, 0.0, 1.5 * height]])
        small = cv2.GaussianBlur(shown[k], (0, 0), 1.4)  # drawn at four times the size
        put = [
            cv2.warpAffine(own, matrix, (width, height), flags=cv2.INTER_LINEAR)
            for own in (small, np.ones_like(small))
        ]
        light = rng.uniform(0.8, 1.1)
        part = page[y : y + height, x : x + width]
        part[put[1] > 0] = np.clip(put[0] * light, 0, 255).astype(np.uint8)[put[1] > 0]
        if rng.random() < 1 / 8:
            part[-height // 5 :, width // 8 : width * 5 // 8] = (240, 235, 90)
        page[y + height + 6 : y + height + 20, x - 7 : x + width + 7] = 190
    return page, (*counts, *[0] * (len(fronts) - 6))


def draw_wallpaper(tile: Picture, n_rows: int = 6, n_columns: int = 6, side: int = 96) -> Page:
    """Draw a wall of equal tiles.

    Parameters
    ----------
    tile : (h, w, 3) uint8
        The tile.
    n_rows, n_columns : int
        The numbers of rows and columns.
    side : int
        Side of a tile, pixels.

    Returns
    -------
    Page
        With one thing.
    """
    page = np.tile(_fit(tile, side, side), (n_rows, n_columns, 1))
    return Page(
        page, (tuple((c * side, r * side, side, side) for r in range(n_rows) for c in range(n_columns)),)
    )


def draw_icons(icon: Picture, rng: np.random.Generator, n_copies: int = 40, side: int = 64) -> Page:
    """Draw a page of text on which one icon appears many times.

    Parameters
    ----------
    icon : (h, w, 3) uint8
        The icon.
    rng : numpy.random.Generator
        Source of random numbers.
    n_copies : int
        How often the icon is shown.
    side : int
        Side of the icon, pixels.

    Returns
    -------
    Page
        With one thing.
    """
    columns = 5
    cell_w, cell_h = side * 3, side * 3 // 2
    rows = -(-n_copies // columns)
    page = np.full((rows * cell_h + 20, columns * cell_w + 20, 3), 255, np.uint8)
    small, boxes = _fit(icon, side, side), []
    for k in range(n_copies):
        dx, dy = rng.integers(0, (side // 2, side // 4)).tolist()
        x, y = 10 + (k % columns) * cell_w + dx, 10 + (k // columns) * cell_h + dy
        page[y : y + side, x : x + side] = small
        boxes.append((x, y, side, side))
        for line in range(2):
            at = x + side + 6, y + side // 3 * (line + 1)
            cv2.putText(
                page, str(rng.choice(WORDS)), at, cv2.FONT_HERSHEY_SIMPLEX, 0.45, (40, 40, 40), 1, cv2.LINE_AA
            )
    return Page(page, (tuple(boxes),))


def _add_bubble(page: Picture, centre: tuple[int, int], text: str) -> None:
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_COMPLEX, 0.5, 1)
    cv2.ellipse(page, centre, (width // 2 + 24, 30), 0, 0, 360, (255, 255, 255), -1, cv2.LINE_AA)
    cv2.ellipse(page, centre, (width // 2 + 24, 30), 0, 0, 360, (0, 0, 0), 2, cv2.LINE_AA)
    at = centre[0] - width // 2, centre[1] + height // 2
    cv2.putText(page, text, at, cv2.FONT_HERSHEY_COMPLEX, 0.5, (0, 0, 0), 1, cv2.LINE_AA)


def _fit(picture: Picture, width: int, height: int) -> Picture:
    """The middle of a picture, cropped to the proportions of a size and resized to this size."""
    h, w = picture.shape[:2]
    scale = max(width / w, height / h)
    own_w, own_h = min(round(width / scale), w), min(round(height / scale), h)
    x, y = (w - own_w) // 2, (h - own_h) // 2
    part = picture[y : y + own_h, x : x + own_w]
    return np.asarray(cv2.resize(part, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
