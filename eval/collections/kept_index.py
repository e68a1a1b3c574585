"""What does a kept index find and cost as it grows? Recall of plain and hard queries, time, bytes, memory.

The pictures of the index are collages of four random crops of photographs, so for each query
there are many pictures that share a part with it, and one that shares the most. The index also holds
photographs of which no collage shows a part, 20 near-duplicates of some of them, and pages of text; the hard
queries look for these. --drawn adds synthetic pictures: descriptors of random collages with a share of their
bits changed.

Everything is kept in the folder; if the command was stopped, run it again to continue.
"""

import argparse
import json
import resource
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import skimage.transform
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from eval.common.options import add_options, at_least
from eval.common.tables import format_markdown
from matching import MatchConfig
from matching._common.threads import limit_threads
from matching.collection import FeatureCache
from matching.collection.backends import start_workers
from matching.collection.kept_index._index import add_pictures
from matching.collection.kept_index._store import open_index
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import SHAPE_BITS
from matching.collection.retrieval._shards import Shard, rank_pictures
from matching.collection.work import Source
from matching.output.folders import compute_digest
from synth.composite import fill_square
from synth.photographs import read_picture
from synth.warp import random_warp, render

WHOLE = "tiles", "models"  # of these, some photographs are in the index as they are
COVERS = "retrieval/gallery"  # all of these are: phones took photographs of them
OTHERS = "scenes", "sfm", "pairs/*"
SIDE = 160  # pixels of a crop in a collage
LENGTHS = 1, 5, 20
COPIES, PAGES = 20, 30
CHANGED = 0.16  # share of the bits of a drawn descriptor
DRAWN = 10**7  # numbers of drawn pictures begin here
TEXT = (
    "the index keeps what a picture shows and a query looks through its lists in the order of their distance"
    " so that every part of it may be found again where light view and size have changed between two days"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    out = {"default": None, "required": True, "help": "folder for the pictures and the index"}
    add_options(parser, "data", out=out)
    parser.add_argument(
        "--sizes",
        type=at_least(1),
        nargs="+",
        default=[1000],
        help="numbers of pictures in the index, ascending (default: 1000)",
    )
    parser.add_argument(
        "--drawn", type=at_least(0), default=0, help="number of pictures including synthetic ones"
    )
    parser.add_argument(
        "--queries",
        type=at_least(1),
        default=20,
        help="queries of each kind; a quarter as many of near-duplicates (default: 20)",
    )


def run(arguments: argparse.Namespace) -> None:
    gallery = Gallery(arguments)
    rows = []
    with limit_threads(1):
        for size in arguments.sizes:
            seconds = gallery.grow(size)
            rows.append(gallery.ask(size, seconds))
        if arguments.drawn:
            gallery.draw(arguments.drawn)
            rows.append(gallery.ask(arguments.drawn))
    report(rows)


class Gallery:
    """Pictures in a folder, their index, and queries with the pictures for which they ask."""

    def __init__(self, arguments):
        self.folder, n = arguments.out, arguments.queries
        files = {f: sorted(arguments.data.glob(f"{f}/*.[jp][pn]g")) for f in (*WHOLE, COVERS, *OTHERS)}
        photographs = [path for f in WHOLE for path in files[f]]
        if len(photographs) < n + n // 4 or len(files[COVERS]) < n:
            raise ValueError(f"{arguments.data} must hold photographs, found {len(photographs)}")
        for name in ("collages", "things", "queries", "cache"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.cache = FeatureCache(self.folder / "cache", 10**11)
        order = np.random.default_rng(0).permutation(len(photographs))
        whole, copied, shown = ([photographs[k] for k in part] for part in np.split(order, [n, n + n // 4]))
        self.crops = [read_picture(path) for path in [*shown, *(p for f in OTHERS for p in files[f])]]
        self.things, self.wanted = [*map(str, whole), *map(str, files[COVERS])], {}
        for k, path in enumerate(whole):
            hard = {
                "crop of a fifth of the side": partial(crop, share=0.2),
                "steep view": partial(view, tilt=0.35),
                "screen": screen,
                "mirrored": mirror,
            }
            for kind, change in hard.items():
                self._want(kind, k, [str(path)], lambda rng, c=change, p=path: c(read_picture(p), rng=rng))
        for path in files[COVERS][:n]:
            taken = next(arguments.data.glob(f"retrieval/queries/{path.stem}_*"))
            self.wanted[str(taken)] = "photograph by a phone", [str(path)]
        for k, path in enumerate(copied):
            right = [
                self._keep(f"copy-{k}-{j}", [2, k, j], lambda rng, p=path: nearly(read_picture(p), rng))
                for j in range(COPIES)
            ]
            self._want("near-duplicates", k, right, lambda rng, p=path: nearly(read_picture(p), rng))
        for k in range(PAGES):
            path = self._keep(f"page-{k}", [3, k], page)
            if k < n:
                self._want(
                    "page of text", k, [path],
                    lambda rng, p=path: view(crop(read_picture(p), share=0.6, rng=rng), tilt=0.08, rng=rng),
                )  # fmt: skip
        for k in np.random.default_rng(1).choice(500, n, replace=False).tolist():
            self._want("collage", k, [str(self._collage(k))], lambda rng, k=k: again(self._make(k), rng))

    def _want(self, kind, k, right, make):
        path = self.folder / "queries" / f"{kind.replace(' ', '-')}-{k}.jpg"
        if not path.exists():
            seed = [1, k, *kind.encode()]
            Image.fromarray(make(np.random.default_rng(seed))).save(path, quality=75)
        self.wanted[str(path)] = kind, right

    def _keep(self, name, seed, make):
        path = self.folder / "things" / f"{name}.jpg"
        if not path.exists():
            Image.fromarray(make(np.random.default_rng(seed))).save(path, quality=85)
        self.things.append(str(path))
        return str(path)

    def _collage(self, k):
        return self.folder / "collages" / f"{k:07}.jpg"

    def _make(self, k):
        rng = np.random.default_rng([0, k])
        crops = [crop_square(self.crops[rng.integers(len(self.crops))], rng) for _ in range(4)]
        return np.vstack([np.hstack(crops[:2]), np.hstack(crops[2:])])

    def grow(self, size):
        """Add collages up to a size; return the seconds per picture, NaN if all were there already."""
        paths = []
        for k in range(size - len(self.things)):
            paths.append(self._collage(k))
            if not paths[-1].exists():
                Image.fromarray(self._make(k)).save(paths[-1], quality=90)
        before = time.process_time()
        added = add_pictures(self.folder / "index", [*self.things, *map(str, paths)], cache=self.cache)
        return (time.process_time() - before) / len(added.paths) if added.paths else np.nan

    def draw(self, size):
        """Write segments of drawn pictures until the index has this size."""
        with open_index(self.folder / "index", MatchConfig()) as index:
            shards, n = index.shards(), index.counts().indexed
        for k in range(1, size // n):
            path = self.folder / f"drawn-{k}.seg"
            if not path.exists():
                segments = [_inverted.open_segment(Path(shard.path)) for shard in shards]
                cells = np.frombuffer(segments[0].cells, np.uint8).reshape(-1, 32)
                living = _inverted.merge_lists(segments, [shard.dead for shard in shards])
                rng = np.random.default_rng([4, k])
                _inverted.write_segment(path, cells, *draw(living, k * n, n, rng))

    def ask(self, size, seconds=np.nan):
        """The row about a size, which is measured only once."""
        kept = self.folder / f"row-{size}.json"
        if not kept.exists():
            row = self._ask(size, seconds)
            kept.write_text(json.dumps(row))
        return json.loads(kept.read_text())

    def _ask(self, size, seconds):
        with open_index(self.folder / "index", MatchConfig()) as index:
            numbers = {path: index.number_of(path) for path in index.indexed()}
            shards = index.shards()
        shards = [replace(shard, n=size) for shard in shards]
        shards += [Shard(str(path), size) for path in sorted(self.folder.glob("drawn-*.seg"))]
        sources = {-1 - k: Source(p, compute_digest(p)) for k, p in enumerate(self.wanted)}
        with start_workers(MatchConfig(), self.cache, jobs=1) as workers:
            for _ in range(2):  # in the first round, queries are described and files are read
                before, clock = time.process_time(), time.time()
                found = rank_pictures([*sources], shards, sources, 2 * COPIES, workers)
                spent = (time.process_time() - before) / len(sources)
                waited = (time.time() - clock) / len(sources)
        recall = {}
        for (kind, right), number in zip(self.wanted.values(), sources, strict=True):
            names = {numbers[path] for path in right}
            best = [k for k, _ in found[number]]
            shares = [len(names & {*best[:n]}) / min(len(names), n) for n in LENGTHS]
            recall.setdefault(kind, []).append(shares)
        return {
            "pictures": size,
            "segments": len(shards),
            "add": seconds,
            "kB": sum(Path(shard.path).stat().st_size for shard in shards) / size / 1000,
            "query": spent,
            "wall": waited,
            "anonymous": status("RssAnon"),
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
            "recall": {kind: np.mean(shares, axis=0).tolist() for kind, shares in recall.items()},
        }


def status(name):
    """Megabytes of this process, by /proc."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(name))


def draw(living, first, n, rng):
    """Entries of drawn pictures and their lists: living ones, with other picture numbers and other bits."""
    entries, lists = living
    drawn = entries.copy()
    pictures = DRAWN + first + rng.integers(n, size=len(drawn))
    drawn["id"] = (pictures << SHAPE_BITS) + (drawn["id"] & (1 << SHAPE_BITS) - 1)
    masks = np.packbits(rng.random((4096, 256)) < CHANGED, axis=1)
    drawn["bits"] ^= masks[rng.integers(len(masks), size=len(drawn))]
    return drawn, lists


def crop_square(picture, rng):
    """A square part of a picture at random, SIDE pixels wide."""
    height, width = picture.shape[:2]
    side = int(min(height, width) * rng.uniform(0.35, 0.9))
    y, x = rng.integers(0, height - side + 1), rng.integers(0, width - side + 1)
    return fill_square(picture[y : y + side, x : x + side], SIDE)


def again(picture, rng):
    """Show 60 to 90 % of a picture: warped, turned by up to 30 degrees, 0.7 to 1.4 times as large, relit."""
    picture = render(picture, random_warp(len(picture), 4.0, rng))
    picture = (255 * (picture / 255) ** rng.uniform(0.7, 1.4) * rng.uniform(0.7, 1.1)).clip(0, 255)
    image = Image.fromarray(picture.astype(np.uint8)).rotate(rng.uniform(-30, 30), Image.Resampling.BICUBIC)
    side = int(image.width * rng.uniform(0.6, 0.9))
    x, y = rng.integers(0, image.width - side + 1, 2)
    target = int(side * rng.uniform(0.7, 1.4))
    seen = image.crop((x, y, x + side, y + side)).resize((target, target), Image.Resampling.LANCZOS)
    return np.asarray(seen)


def crop(picture, share, rng):
    """A part of a picture at random, `share` of its width and height."""
    height, width = (int(share * side) for side in picture.shape[:2])
    y, x = (rng.integers(0, a - b + 1) for a, b in zip(picture.shape[:2], (height, width), strict=True))
    return np.ascontiguousarray(picture[y : y + height, x : x + width])


def view(picture, tilt, rng):
    """Show a picture from the side: each corner moves inwards by up to `tilt` times the width and height."""
    height, width = picture.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    moved = corners + np.array([width, height]) * tilt * rng.uniform(0, 1, (4, 2)) * np.sign(
        np.array([width, height]) / 2 - corners
    )
    inverse = skimage.transform.estimate_transform("projective", moved, corners)
    seen = skimage.transform.warp(picture, inverse, order=1, preserve_range=True)
    return seen.round().astype(np.uint8)


def screen(picture, rng):
    """Simulate a photograph of a screen: moiré with its pixels, glare, noise, and a view from the side."""
    height, width = picture.shape[:2]
    y, x = np.mgrid[:height, :width]
    rows = 1 + 0.12 * np.sin(y * rng.uniform(1.5, 2.5)) + 0.08 * np.sin(x * rng.uniform(1.5, 2.5))
    glare = 90 * np.exp(-((x / width - rng.uniform()) ** 2 + (y / height - rng.uniform()) ** 2) / 0.05)
    shown = 0.75 * picture * rows[..., None] + glare[..., None] + rng.normal(0, 8, picture.shape)
    seen = Image.fromarray(view(shown.clip(0, 255).astype(np.uint8), 0.15, rng))
    return np.asarray(seen.filter(ImageFilter.GaussianBlur(0.8)))


def mirror(picture, rng):
    """A near-duplicate of the mirror image."""
    return nearly(np.ascontiguousarray(picture[:, ::-1]), rng)


def nearly(picture, rng):
    """A near-duplicate: cropped a little, relit, and up to a third smaller."""
    picture = crop(picture, rng.uniform(0.85, 1), rng)
    picture = (255 * (picture / 255) ** rng.uniform(0.8, 1.25)).astype(np.uint8)
    image = Image.fromarray(picture)
    return np.asarray(image.resize([int(side * rng.uniform(0.7, 1)) for side in image.size]))


def page(rng):
    """A page of random words."""
    image = Image.new("RGB", (700, 900), "white")
    font, pen = ImageFont.load_default(22), ImageDraw.Draw(image)
    for line in range(28):
        pen.text((40, 40 + 30 * line), " ".join(rng.choice(TEXT.split(), 9)), fill="black", font=font)
    return np.asarray(image)


def report(rows):
    """Print the cost of each size, and the recall of each kind of queries."""
    head = (
        "pictures",
        "segments",
        "add, s",
        "kB a picture",
        "query, s",
        "memory, MB",
        "with mapped files, MB",
    )
    texts = [
        "{pictures}",
        "{segments}",
        "{add:.3f}",
        "{kB:.1f}",
        "{query:.3f}",
        "{anonymous:.0f}",
        "{peak:.0f}",
    ]
    print(format_markdown(head, [[text.format(**row) for text in texts] for row in rows]))
    head = [f"recall at {', '.join(map(str, LENGTHS))}", *(f"of {row['pictures']}" for row in rows)]
    lines = [
        [kind, *(", ".join(f"{share:.2f}" for share in row["recall"][kind]) for row in rows)]
        for kind in rows[0]["recall"]
    ]
    print("\n" + format_markdown(head, lines))
