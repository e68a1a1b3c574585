"""What a kept index costs and finds as it grows: seconds and bytes a picture, recall of queries, exponents.

Gallery pictures are collages of four random crops of the photographs in $GDL_DATA; a query is one of them
warped, cropped, turned, relit and compressed. Crops of one photograph stand in many collages, so a query has
many pictures that share a part with it, and one that shares most.

python scripts/collection/bench_index.py $GDL_DATA --sizes 1000,3000 --queries 50
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import itertools
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from eval.common.options import exit_status
from matching.collection import FeatureCache
from matching.collection.database.store import open_store
from matching.collection.kept_index._index import add_pictures, find_candidates, verify_candidates
from synth.composite import fill_square
from synth.photographs import read_picture
from synth.warp import random_warp, render

FOLDERS = "tiles", "models", "scenes", "retrieval/gallery", "sfm", "pairs/*"
SIDE = 160  # pixels of a crop in a collage
LENGTHS = 1, 5, 20


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", default="1000,3000", help="pictures of the index, rising")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--verified", type=int, default=10, help="queries that are also matched")
    return exit_status(lambda: measure(parser.parse_args(argv)))


def measure(arguments):
    sizes = [int(size) for size in arguments.sizes.split(",")]
    files = sorted(p for f in FOLDERS for p in arguments.data.glob(f"{f}/*") if p.suffix in (".jpg", ".png"))
    if not files:
        raise ValueError(f"{arguments.data} must hold photographs, found none")
    photographs = [read_picture(path) for path in files]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("gallery", "queries", "cache"):
            (folder / name).mkdir()
        cache = FeatureCache(folder / "cache", 10**11)
        chosen = np.random.default_rng(0).choice(sizes[0], arguments.queries, replace=False)
        made, rows = 0, []
        for size in sizes:
            for k in range(made, size):
                make_gallery_picture(folder / "gallery" / f"{k:07}.jpg", photographs, k)
            made = size
            rows.append(measure_size(folder, size, chosen, cache, arguments))
        report(rows)


def make_gallery_picture(path, photographs, seed):
    rng = np.random.default_rng([0, seed])
    crops = [crop_at_random(photographs[rng.integers(len(photographs))], rng) for _ in range(4)]
    picture = np.vstack([np.hstack(crops[:2]), np.hstack(crops[2:])])
    Image.fromarray(picture).save(path, quality=90)


def crop_at_random(picture, rng):
    height, width = picture.shape[:2]
    side = int(min(height, width) * rng.uniform(0.35, 0.9))
    y, x = rng.integers(0, height - side + 1), rng.integers(0, width - side + 1)
    return fill_square(picture[y : y + side, x : x + side], SIDE)


def make_query(path, gallery_picture, seed):
    """Warped, turned by up to 30 degrees, 60 to 90 % of it, 0.7 to 1.4 times as large, relit, compressed."""
    rng = np.random.default_rng([1, seed])
    picture = read_picture(gallery_picture)
    picture = render(picture, random_warp(len(picture), 4.0, rng))
    picture = (255 * (picture / 255) ** rng.uniform(0.7, 1.4) * rng.uniform(0.7, 1.1)).clip(0, 255)
    image = Image.fromarray(picture.astype(np.uint8)).rotate(rng.uniform(-30, 30), Image.Resampling.BICUBIC)
    side = int(image.width * rng.uniform(0.6, 0.9))
    x, y = rng.integers(0, image.width - side + 1, 2)
    target = int(side * rng.uniform(0.7, 1.4))
    image.crop((x, y, x + side, y + side)).resize((target, target), Image.Resampling.LANCZOS).save(
        path, quality=60
    )


def measure_size(folder, size, chosen, cache, arguments):
    """(pictures, s a picture to add, bytes a picture, s a query, recall at each of LENGTHS, verified)."""
    paths = sorted(str(path) for path in (folder / "gallery").iterdir())
    before = cpu()
    added = add_pictures(folder / "index", paths, cache=cache, jobs=1)
    seconds = (cpu() - before) / max(added.indexed, 1)
    queries = {}
    for k in chosen:
        path = folder / "queries" / f"{k}.jpg"
        if not path.exists():
            make_query(path, folder / "gallery" / f"{k:07}.jpg", int(k))
        queries[str(path)] = str(folder / "gallery" / f"{k:07}.jpg")
    find_candidates(folder / "index", list(queries)[:1], max(LENGTHS), cache=cache)  # compiled code is loaded
    find_candidates(folder / "index", list(queries), max(LENGTHS), cache=cache)  # all are described
    before = cpu()
    found = find_candidates(folder / "index", list(queries), max(LENGTHS), cache=cache)
    looked = (cpu() - before) / len(queries)
    place = {query: len(paths) for query in queries}
    for query, right in queries.items():
        own = [c.picture for c in found if c.query == query]
        if right in own:
            place[query] = own.index(right)
    recall = [sum(p < n for p in place.values()) / len(place) for n in LENGTHS]
    some = list(queries)[: arguments.verified]
    first = {query: [c for c in found if c.query == query][:5] for query in some}
    n_right = 0
    with (
        verify_candidates([c for own in first.values() for c in own], cache=cache) as db,
        open_store(db) as store,
    ):
        for query in some:
            best = store.rows(
                "SELECT path1 FROM results WHERE path0 = ? AND n_objects > 0 ORDER BY n_matches DESC LIMIT 1",
                (query,),
            )
            n_right += best == [(queries[query],)]
    return size, seconds, added.counts.bytes / size, looked, recall, n_right / max(len(some), 1)


def cpu():
    """Seconds of processor time of this process: the work runs in it, so that other programs don't count."""
    return time.process_time()


def report(rows):
    recalls = " | ".join(f"recall at {n}" for n in LENGTHS)
    print(f"| pictures | add, s | kB a picture | query, s | {recalls} | best match right |")
    print("|---" * (5 + len(LENGTHS)) + "|")
    for size, seconds, size_each, looked, recall, right in rows:
        told = " | ".join(f"{r:.2f}" for r in recall)
        print(f"| {size} | {seconds:.3f} | {size_each / 1000:.1f} | {looked:.3f} | {told} | {right:.2f} |")
    for a, b in itertools.pairwise(rows):
        factor = math.log(b[0] / a[0])
        print(
            f"{a[0]} to {b[0]}: seconds a picture grow with the power {math.log(b[1] / a[1]) / factor:.2f},"
            f" seconds a query {math.log(b[3] / a[3]) / factor:.2f}"
        )


if __name__ == "__main__":
    sys.exit(main())
