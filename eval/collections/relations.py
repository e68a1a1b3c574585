"""Are copies of photographs found and named correctly?

From each photograph, these are made: a copy (JPEG of quality 30), a blurred one, a grey one, one with a
caption across it, thumbnails (35 % of its size, and 128 pixels), a crop (40 to 70 % of each side) and one of
a tenth of it, a turned copy (by 90 degrees or 8 to 40), a mirrored one, a screenshot that shows it, another
photograph into which it is pasted whole, and one into which a crop of it is pasted, scaled and turned
("shares a part").
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageOps

from eval.common.options import at_least
from eval.common.tables import format_markdown
from matching.collection import FeatureCache, match_collection, plan_list
from matching.collection.database.store import open_store
from matching.collection.reports.groups import find_links

KINDS = {
    "copy": "copy of",
    "blurred": "copy of",
    "grey": "copy of",
    "captioned": "copy of, differs in 1 place",
    "thumbnail": "thumbnail of",
    "tiny": "thumbnail of",
    "crop": "part of",
    "tenth": "part of",
    "turned": "turned copy of",
    "mirrored": "mirrored copy of",
    "screenshot": "shows more than",
    "pasted": "shows more than",
    "part": "shares a part with",
}
SIDE = 640  # pixels, the longer side of a photograph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="folders of photographs")
    parser.add_argument("--photographs", type=at_least(1), default=40, help="how many are used (default: 40)")


def run(arguments: argparse.Namespace) -> None:
    paths = sorted(p for f in arguments.folders for p in f.iterdir() if p.suffix in (".jpg", ".png"))
    if len(paths) < 2:
        raise ValueError("the folders must hold photographs, found fewer than 2")
    n = min(arguments.photographs, len(paths))
    chosen = [paths[k] for k in np.linspace(0, len(paths) - 1, n).astype(int)]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "cache").mkdir()
        pairs = [pair for k in range(len(chosen)) for pair in make_pairs(folder, chosen, k)]
        (folder / "list").write_text("".join(f"{made}\t{photograph}\n" for made, photograph, _ in pairs))
        cache = FeatureCache(folder / "cache", 10**11)
        match_collection(plan_list(folder / "list"), folder / "c.db", cache=cache)
        report_relations(folder / "c.db", pairs)


def make_pairs(folder, paths, k):
    """Write the pictures made from a photograph; yield (picture, photograph, kind)."""
    rng = np.random.default_rng(k)
    image, other = load(paths[k]), load(paths[(k + 7) % len(paths)])
    photograph = folder / f"{k:03}.png"
    image.save(photograph)
    quality = {"copy": 30}
    tiny = image.copy()
    tiny.thumbnail((128, 128), Image.Resampling.LANCZOS)
    for kind, made in (
        ("copy", image),
        ("blurred", image.filter(ImageFilter.GaussianBlur(rng.uniform(1.5, 3)))),
        ("grey", image.convert("L").convert("RGB")),
        ("captioned", write_caption(image)),
        ("thumbnail", image.resize([round(0.35 * n) for n in image.size], Image.Resampling.LANCZOS)),
        ("tiny", tiny),
        ("crop", crop_at_random(image, rng.uniform(0.4, 0.7), rng)),
        ("tenth", crop_at_random(image, 0.1**0.5, rng)),
        ("turned", turn(image, 90.0 if rng.random() < 0.5 else rng.uniform(8, 40))),
        ("mirrored", ImageOps.mirror(image)),
        ("screenshot", draw_screenshot(image, rng)),
        ("pasted", paste_whole(image, other, rng)),
        ("part", paste(image, other, rng)),
    ):
        path = folder / f"{k:03} {kind}.jpg"
        made.save(path, quality=quality.get(kind, 85))
        yield path, photograph, kind


def load(path):
    """A photograph, at most SIDE pixels along its longer side."""
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    image.thumbnail((SIDE, SIDE))
    return image


def crop_at_random(image, share, rng):
    """A part of an image, `share` of its width and height."""
    width, height = (int(n * share) for n in image.size)
    x, y = rng.integers(0, image.width - width + 1), rng.integers(0, image.height - height + 1)
    return image.crop((x, y, x + width, y + height))


def turn(image, angle):
    """An image turned by degrees, with black corners."""
    return image.rotate(angle, Image.Resampling.BICUBIC, expand=True)


def write_caption(image):
    """An image with a black bar and a line of text across it."""
    made = image.copy()
    draw = ImageDraw.Draw(made)
    top = round(0.8 * image.height)
    draw.rectangle((0, top, image.width, top + image.height // 8), fill="black")
    draw.text((10, top + 4), "A caption across the photograph", fill="white", font_size=image.height // 14)
    return made


def draw_screenshot(image, rng):
    """The image, at 70 to 100 % of its size, in a window with a bar of buttons and lines of text."""
    scale = rng.uniform(0.7, 1.0)
    shown = image.resize([round(scale * n) for n in image.size], Image.Resampling.LANCZOS)
    made = Image.new("RGB", (shown.width + 240, shown.height + 160), "white")
    draw = ImageDraw.Draw(made)
    draw.rectangle((0, 0, made.width, 48), fill=(52, 58, 64))
    for k in range(5):
        draw.ellipse((16 + 40 * k, 14, 36 + 40 * k, 34), fill=(200, 90 + 30 * k, 90))
    for k in range(12):
        draw.text((shown.width + 60, 90 + 32 * k), f"Comment {k}: what a picture", fill="black", font_size=14)
    made.paste(shown, (40, 80))
    return made


def paste_whole(image, other, rng):
    """The other photograph with the whole image in it, at 40 to 60 % of its size."""
    scene = other.resize(image.size)
    scale = rng.uniform(0.4, 0.6)
    small = image.resize([round(scale * n) for n in image.size], Image.Resampling.LANCZOS)
    room = (scene.width - small.width, scene.height - small.height)
    scene.paste(small, tuple(int(rng.integers(0, n)) for n in room))
    return scene


def paste(image, other, rng):
    """The other photograph, a quarter of it covered by a crop of the image."""
    scene = other.resize(image.size)
    crop = crop_at_random(image, rng.uniform(0.4, 0.6), rng).resize([n // 2 for n in image.size])
    angle = rng.uniform(-30, 30)
    mask = turn(Image.new("L", crop.size, 255), angle)
    scene.paste(turn(crop, angle), (image.width // 5, image.height // 5), mask)
    return scene


def report_relations(db, pairs):
    """Print how many relations of each kind are right."""
    kinds = {str(path): kind for path, _, kind in pairs}
    named = Counter()
    with open_store(db) as store:
        path_of = dict(store.rows("SELECT id, path FROM images"))
        for link in find_links(store):
            named[kinds[path_of[link.image0]], link.relation.role.split(" (")[0]] += 1
    rows = []
    for kind, wanted in KINDS.items():
        total = sum(k == kind for *_, k in pairs)
        wrong = Counter({name: n for (k, name), n in named.items() if k == kind and name != wanted})
        wrong["nothing"] = total - named[kind, wanted] - wrong.total()
        others = ", ".join(f"{name} {n}" for name, n in wrong.items() if n)
        rows.append([kind, str(total), str(named[kind, wanted]), others])
    print(format_markdown(("made as", "pairs", "relation right", "relation wrong"), rows))
