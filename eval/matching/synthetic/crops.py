"""Pieces cut out of screens: how many are found at their places, at the scale of the screen and at others.

Screens with windows, rows of text, icons and equal buttons are drawn in a light and in a dark theme. A piece
is cut out around one of their elements, 24 to 400 pixels long. It is matched with the screen, with the screen
enlarged and reduced as a picture, with the screen drawn anew at another scale, and with another screen. An
object is due at each place with the same pixels, and none elsewhere. Prints a table.
"""

import argparse

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from tqdm import tqdm

from eval.common.options import add_options
from eval.common.tables import format_markdown
from matching import match

SIZE = 1120, 720  # pixels of a screen at scale 1
SCALES = 1.25, 1.5, 2.0
THEMES = (  # background, window, line, text, button
    ((205, 215, 230), (250, 250, 250), (200, 200, 200), (30, 30, 30), (40, 110, 220)),
    ((25, 28, 36), (45, 48, 54), (80, 80, 86), (225, 225, 225), (70, 130, 210)),
)
SYLLABLES = (
    "ba",
    "con",
    "de",
    "fi",
    "ga",
    "ho",
    "in",
    "ka",
    "lo",
    "mar",
    "ne",
    "or",
    "pa",
    "qui",
    "re",
    "so",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "quiet", trials=32)
    parser.add_argument("--seed", type=int, default=0, help="of the screens (default: %(default)s)")


def run(args: argparse.Namespace) -> None:
    counts: dict[str, list[int]] = {}
    for k in tqdm(range(args.trials), desc="screens", disable=args.quiet):
        screen, boxes = draw_screen(args.seed, k)
        rng = np.random.default_rng([args.seed, k, 1])
        for number in rng.choice(len(boxes), 2, replace=False):
            x, y, right, bottom = boxes[number]
            piece = np.ascontiguousarray(screen[y:bottom, x:right])
            for name, scale, scene in _list_scenes(args.seed, k, screen, rng):
                places = scale * _find_equal(piece, screen if name != "another screen" else scene)
                count = counts.setdefault(name, [0, 0, 0])
                found = _list_places(match(piece, scene))
                near = [np.abs(found - place).max(axis=1, initial=0) <= 2 * max(scale, 1) for place in places]
                is_right = all(one.any() for one in near)
                is_false = len(found) > sum(int(one.any()) for one in near)
                count[0] += 1
                count[1] += is_right
                count[2] += is_false
    rows = [[name, *map(str, count)] for name, count in counts.items()]
    print(format_markdown(("matched with", "pieces", "found everywhere", "also elsewhere"), rows))


def _list_scenes(seed, k, screen, rng):
    """List names, scales and scenes for a piece of a screen."""
    scale = float(rng.choice(SCALES))
    image = Image.fromarray(screen)
    yield "the screen", 1.0, screen
    yield "enlarged", scale, _resize(image, scale)
    yield "reduced", 1 / scale, _resize(image, 1 / scale)
    yield "drawn larger", scale, draw_screen(seed, k, scale)[0]
    yield "another screen", 1.0, draw_screen(seed + 1000, k)[0]


def _resize(image, factor):
    width, height = (round(n * factor) for n in image.size)
    return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS))


def _find_equal(piece, screen):
    """Find the places (n, 2) where a screen has the same pixels."""
    y, x = np.nonzero(cv2.matchTemplate(screen, piece, cv2.TM_CCOEFF_NORMED) > 0.999)
    (h, w), places = piece.shape[:2], zip(x.tolist(), y.tolist(), strict=True)
    equal = [place for place in places if (screen[place[1] :, place[0] :][:h, :w] == piece).all()]
    return np.array(equal, float).reshape(-1, 2)


def _list_places(result):
    """List where the top left corners of the sure or likely objects are (n, 2)."""
    found = [one.frame1 for one in result.objects if one.confidence in ("sure", "likely")]
    return np.array([frame[0] + 0.5 for frame in found if frame is not None]).reshape(-1, 2)


def draw_screen(seed, k, scale=1.0):
    """Draw a screen (h, w, 3), and list the boxes of its elements in pixels at scale 1."""
    rng = np.random.default_rng([seed, k])
    back, window, line, text, button = THEMES[k % 2]
    image = Image.new("RGB", tuple(round(n * scale) for n in SIZE), back)
    pen, boxes = ImageDraw.Draw(image), []

    def box(shape, x, y, w, h, fill):
        getattr(pen, shape)([round(v * scale) for v in (x, y, x + w, y + h)], fill=fill, outline=line)

    def write(x, y, words, size, fill=text):
        font = ImageFont.load_default(round(size * scale))
        pen.text((x * scale, y * scale), words, fill=fill, font=font)
        return pen.textlength(words, font=font) / scale

    def mark(x, y, w, h, margin=3):
        boxes.append(tuple(round(v) for v in (x - margin, y - margin, x + w + margin, y + h + margin)))

    for left, top, width, height in ((30, 30, 620, 420), (500, 260, 590, 430)):
        box("rectangle", left, top, width, height, window)
        write(left + 12, top + 8, _words(rng, 3), 16)
        for row in range(7):
            y = top + 44 + 40 * row
            colour = tuple(int(v) for v in rng.integers(40, 230, 3))
            box(str(rng.choice(["ellipse", "rectangle"])), left + 14, y, 24, 24, colour)
            write(left + 20, y + 4, rng.choice(list("ABCDEFGH")), 13, (255, 255, 255))
            mark(left + 14, y, 24, 24)
            long = write(left + 52, y + 4, _words(rng, int(rng.integers(2, 6))), 14)
            mark(left + 52, y + 2, min(long, 380), 18)
            box("rectangle", left + 14, y + 32, width - 28, 0, line)
        for column, words in enumerate(("Cancel", "Open", "Open")):
            x, y = left + width - 300 + 98 * column, top + height - 44
            box("rectangle", x, y, 86, 28, button)
            write(x + 18, y + 6, words, 14, (255, 255, 255))
            mark(x, y, 86, 28)
    n = len(boxes) // 2  # those of the first window, which the second one can hide
    boxes = [one for i, one in enumerate(boxes) if i >= n or one[2] < 500 or one[3] < 260]
    return np.asarray(image).copy(), boxes


def _words(rng, n):
    return " ".join("".join(rng.choice(SYLLABLES, int(rng.integers(1, 4)))) for _ in range(n))
