"""Recall of a kept index on hard queries: small crops, steep views, screens, near-duplicates, pages of text.

The gallery is the photographs in $GDL_DATA and made-up pages. Of some photographs it has 20 near-duplicates,
each relit, cropped, scaled and compressed in its own way; their recall is the share of the 20 that is found,
of those that a list so short can have.

python scripts/collection/bench_hard_queries.py $GDL_DATA
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import skimage.transform
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from eval.common.options import exit_status
from matching.collection import FeatureCache
from matching.collection.kept_index._index import add_pictures, find_candidates
from synth.photographs import read_picture

FOLDERS = "tiles", "models", "retrieval/gallery"
LENGTHS = 1, 5, 20
COPIES, PAGES = 20, 30
TEXT = (
    "the index keeps what a picture shows and a query looks through its lists in the order of their distance"
    " so that every part of it may be found again where light view and size have changed between two days"
)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--queries", type=int, default=20, help="of each kind; a quarter of it of duplicates")
    return exit_status(lambda: measure(parser.parse_args(argv)))


def measure(arguments):
    files = sorted(p for f in FOLDERS for p in arguments.data.glob(f"{f}/*") if p.suffix in (".jpg", ".png"))
    if len(files) < 2 * arguments.queries:
        raise ValueError(
            f"{arguments.data} must hold {2 * arguments.queries} photographs, found {len(files)}"
        )
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(files))
    some, others = (
        [read_picture(files[k]) for k in part] for part in np.split(chosen[: 2 * arguments.queries], 2)
    )
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("gallery", "queries", "cache"):
            (folder / name).mkdir()
        gallery, wanted = {str(path): path for path in files}, {}

        def ask(kind, k, picture, right):
            path = folder / "queries" / f"{kind}-{k}.jpg"
            Image.fromarray(picture).save(path, quality=75)
            wanted[str(path)] = right

        def keep(name, picture):
            path = folder / "gallery" / f"{name}.jpg"
            Image.fromarray(picture).save(path, quality=85)
            gallery[str(path)] = path
            return str(path)

        for k, picture in enumerate(some):
            right = [str(files[chosen[k]])]
            ask("crop of a fifth of the side", k, crop(picture, 0.2, rng), right)
            ask("steep view", k, view(picture, 0.35, rng), right)
            ask("photographed screen", k, screen(picture, rng), right)
        for k, picture in enumerate(others[: arguments.queries // 4]):
            right = [keep(f"copy-{k}-{j}", nearly(picture, rng)) for j in range(COPIES)]
            ask("near-duplicates", k, nearly(picture, rng), right)
        pages = [page(np.random.default_rng([1, k])) for k in range(PAGES)]
        paths = [keep(f"page-{k}", picture) for k, picture in enumerate(pages)]
        for k, picture in enumerate(pages[: arguments.queries]):
            ask("page of text", k, view(crop(picture, 0.6, rng), 0.08, rng), [paths[k]])
        cache = FeatureCache(folder / "cache", 10**11)
        add_pictures(folder / "index", list(gallery), cache=cache)
        found = find_candidates(folder / "index", list(wanted), 2 * COPIES, cache=cache)
    report(found, wanted, len(gallery))


def crop(picture, share, rng):
    height, width = (int(share * side) for side in picture.shape[:2])
    y, x = (rng.integers(0, a - b + 1) for a, b in zip(picture.shape[:2], (height, width), strict=True))
    return np.ascontiguousarray(picture[y : y + height, x : x + width])


def view(picture, tilt, rng):
    """Seen from the side: one side of it is shorter by a share of up to `tilt` at both ends."""
    height, width = picture.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    moved = corners + np.array([width, height]) * tilt * rng.uniform(0, 1, (4, 2)) * np.sign(
        np.array([width, height]) / 2 - corners
    )
    inverse = skimage.transform.estimate_transform("projective", moved, corners)
    seen = skimage.transform.warp(picture, inverse, order=1, preserve_range=True)
    return seen.round().astype(np.uint8)


def screen(picture, rng):
    """Rows and columns of a screen beat with those of the sensor; glare, noise, a view from the side."""
    height, width = picture.shape[:2]
    y, x = np.mgrid[:height, :width]
    rows = 1 + 0.12 * np.sin(y * rng.uniform(1.5, 2.5)) + 0.08 * np.sin(x * rng.uniform(1.5, 2.5))
    glare = 90 * np.exp(-((x / width - rng.uniform()) ** 2 + (y / height - rng.uniform()) ** 2) / 0.05)
    shown = 0.75 * picture * rows[..., None] + glare[..., None] + rng.normal(0, 8, picture.shape)
    seen = Image.fromarray(view(shown.clip(0, 255).astype(np.uint8), 0.15, rng))
    return np.asarray(seen.filter(ImageFilter.GaussianBlur(0.8)))


def nearly(picture, rng):
    picture = crop(picture, rng.uniform(0.85, 1), rng)
    picture = (255 * (picture / 255) ** rng.uniform(0.8, 1.25)).astype(np.uint8)
    image = Image.fromarray(picture)
    return np.asarray(image.resize([int(side * rng.uniform(0.7, 1)) for side in image.size]))


def page(rng):
    image = Image.new("RGB", (700, 900), "white")
    font, draw = ImageFont.load_default(22), ImageDraw.Draw(image)
    for line in range(28):
        draw.text((40, 40 + 30 * line), " ".join(rng.choice(TEXT.split(), 9)), fill="black", font=font)
    return np.asarray(image)


def report(found, wanted, n):
    print(f"{n} pictures in the gallery")
    print(
        "| query | "
        + " | ".join(f"recall at {k}" for k in LENGTHS)
        + " |\n|---"
        + "|---" * len(LENGTHS)
        + "|"
    )
    kinds = dict.fromkeys(Path(path).name.rsplit("-", 1)[0] for path in wanted)
    for kind in kinds:
        queries = [path for path in wanted if Path(path).name.rsplit("-", 1)[0] == kind]
        shares = []
        for length in LENGTHS:
            hits = [
                len({c.picture for c in [c for c in found if c.query == q][:length]} & {*wanted[q]})
                / min(len(wanted[q]), length)
                for q in queries
            ]
            shares.append(np.mean(hits))
        print(f"| {kind} | " + " | ".join(f"{share:.2f}" for share in shares) + " |")


if __name__ == "__main__":
    sys.exit(main())
