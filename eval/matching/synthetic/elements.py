"""Text buttons, icons and toggles: how many are found at all of their places, and nowhere else.

Buttons of 12 words, in two sizes and two themes, stand once or four times on a page with text and other
buttons, and are cut out of it. Icons with an alpha channel, of 32 to 128 pixels, are pasted at three places
of a photograph. A toggle that is on is looked for on a page of toggles, of which every second one is off.
Prints a table.
"""

import argparse

import numpy as np
import skimage.data
from PIL import Image, ImageDraw, ImageFont
from tqdm import tqdm

from eval.common.options import add_options
from eval.common.tables import format_markdown
from matching import match
from matching.objects.transforms import apply_transform

WORDS = (
    "Save", "Open", "Cancel", "Delete", "Search", "Sign-in",
    "Download", "Next", "Previous", "Settings", "Help", "Buy",
)  # fmt: skip
SIZES = (136, 36, 16), (96, 28, 13)  # pixels: width, height, size of the letters
THEMES = (  # ground, text, button, text on it
    ((250, 250, 250), (40, 40, 40), (30, 100, 210), (255, 255, 255)),
    ((24, 26, 32), (215, 215, 215), (60, 66, 78), (240, 240, 240)),
)
PAGE = 1000, 700  # pixels
PLACES = (270, 122), (270, 282), (270, 442), (270, 602)  # of equal buttons
SHAPES = "ellipse", "rectangle", "star", "ring", "cross", "arrow", "heart", "bolt", "letter"
ICON_SIZES = 32, 48, 128  # pixels
NEAR = 2.0  # pixels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "quiet")
    parser.add_argument("--seed", type=int, default=0, help="of the pages (default: %(default)s)")


def run(args: argparse.Namespace) -> None:
    counts = {}
    for name, piece, scene, places in tqdm(list(_list_cases(args.seed)), desc="pieces", disable=args.quiet):
        objects = match(piece, scene).objects
        found = np.array([apply_transform(one.transform, np.zeros((1, 2)))[0] for one in objects]).reshape(
            -1, 2
        )
        near = np.abs(found[:, None] - np.array(places)).max(axis=2) <= NEAR
        count = counts.setdefault(name, np.zeros(4, int))
        count += (
            1,
            near.any(axis=0).all(),
            near.any(axis=0).sum() == len(places) < len(found),
            len(found) == 0,
        )
    rows = [[name, *map(str, count)] for name, count in counts.items()]
    print(format_markdown(("pieces", "number", "found everywhere", "also elsewhere", "not at all"), rows))


def _list_cases(seed):
    """List the name of a kind, a piece, a scene, and the places (n, 2) where the scene shows it."""
    rng = np.random.default_rng(seed)
    for word in WORDS:
        for size in SIZES:
            for theme in THEMES:
                for n in (1, 4):
                    page = draw_page(rng, word, size, theme, PLACES[:n])
                    x, y = PLACES[0]
                    yield f"buttons, {n} on a page", page[y : y + size[1], x : x + size[0]], page, PLACES[:n]
    grounds = [skimage.data.coffee(), skimage.data.chelsea(), skimage.data.astronaut()]
    for k, shape in enumerate(SHAPES):
        for size in ICON_SIZES:
            icon = draw_icon(shape, size, rng)
            ground = Image.fromarray(grounds[k % len(grounds)]).convert("RGB").resize((900, 640))
            places = [(60 + 280 * i + int(rng.integers(40)), 80 + int(rng.integers(380))) for i in range(3)]
            for place in places:
                ground.paste(icon, place, icon)
            yield f"icons, {size} px", np.asarray(icon), np.asarray(ground), places
    page, places = draw_toggles()
    x, y = places[0]
    yield "toggles", page[y : y + 26, x : x + 48], page, places


def draw_page(rng, word, size, theme, places):
    """Draw a page (h, w, 3) with a title, lines of text, other buttons, and a button at each place."""
    ground, text, colour, on_button = theme
    page = Image.new("RGB", PAGE, ground)
    pen, (width, height, points) = ImageDraw.Draw(page), size
    font = ImageFont.load_default(15)
    pen.text((40, 30), "A page of settings", fill=text, font=ImageFont.load_default(26))
    for y in range(90, 680, 32):
        words = " ".join(rng.choice(WORDS, 3)).lower()
        pen.text((520, y), words, fill=text, font=font)
        pen.line([(40, y + 26), (960, y + 26)], fill=tuple((np.add(ground, text) // 2).tolist()))

    def button(x, y, letters):
        pen.rounded_rectangle([x, y, x + width - 1, y + height - 1], 6, fill=colour)
        pen.text((x + width / 2, y + height / 2), letters, on_button, ImageFont.load_default(points), "mm")

    others = rng.permutation([other for other in WORDS if other != word])
    for k, other in enumerate(others[:4]):
        button(60, 122 + 160 * k, other)
    for x, y in places:
        button(x, y, word)
    return np.asarray(page).copy()


def draw_icon(shape, size, rng):
    """Draw an icon of several colours with a transparent ground, as an RGBA image."""
    side = 4 * size  # reduced afterwards, so that edges are smooth
    icon = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    pen = ImageDraw.Draw(icon)
    first, second = (tuple(int(v) for v in rng.integers(0, 256, 3)) for _ in range(2))
    u = np.array([side, side])

    def polygon(points, fill):
        pen.polygon([tuple(u * point) for point in points], fill=fill)

    def turn(n, radii):
        angles = 2 * np.pi * np.arange(n) / n
        return [
            (0.5 + radii[k % len(radii)] * np.sin(a), 0.5 - radii[k % len(radii)] * np.cos(a))
            for k, a in enumerate(angles)
        ]

    outlines = {
        "ellipse": turn(60, [0.48]),
        "rectangle": [(0.05, 0.15), (0.95, 0.15), (0.95, 0.85), (0.05, 0.85)],
        "star": turn(10, [0.48, 0.2]),
        "ring": turn(60, [0.48]),
        "cross": [
            (0.35, 0.02), (0.65, 0.02), (0.65, 0.35), (0.98, 0.35), (0.98, 0.65), (0.65, 0.65),
            (0.65, 0.98), (0.35, 0.98), (0.35, 0.65), (0.02, 0.65), (0.02, 0.35), (0.35, 0.35),
        ],
        "arrow": [
            (0.02, 0.35), (0.55, 0.35), (0.55, 0.1), (0.98, 0.5), (0.55, 0.9), (0.55, 0.65), (0.02, 0.65),
        ],
        "heart": [
            (0.5, 0.97), (0.03, 0.45), (0.08, 0.15), (0.3, 0.05), (0.5, 0.25), (0.7, 0.05), (0.92, 0.15),
            (0.97, 0.45),
        ],
        "bolt": [
            (0.6, 0.02), (0.15, 0.55), (0.45, 0.55), (0.35, 0.98), (0.85, 0.4), (0.52, 0.4),
        ],
        "letter": [(0.1, 0.05), (0.9, 0.05), (0.9, 0.95), (0.1, 0.95)],
    }  # fmt: skip
    polygon(outlines[shape], first)
    polygon([tuple(0.5 + 0.55 * (np.array(p) - 0.5)) for p in outlines[shape]], second)
    pen.text((side / 2, side / 2), shape[0].upper(), first, ImageFont.load_default(0.35 * side), "mm")
    return icon.resize((size, size), Image.Resampling.LANCZOS)


def draw_toggles():
    """Draw a page of toggles, every second one on -> (h, w, 3), and the places of those that are on."""
    page = Image.new("RGB", PAGE, (255, 255, 255))
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(15)
    places = []
    for k in range(12):
        x, y, is_on = 420, 40 + 52 * k, k % 2 == 0
        pen.text((60, y + 4), f"Setting number {k}", (30, 30, 30), font)
        pen.rounded_rectangle([x, y, x + 47, y + 25], 13, fill=(30, 140, 80) if is_on else (170, 170, 170))
        left = x + 24 if is_on else x + 2
        pen.ellipse([left, y + 2, left + 21, y + 23], fill=(255, 255, 255))
        places += [(x, y)] if is_on else []
    return np.asarray(page).copy(), places
