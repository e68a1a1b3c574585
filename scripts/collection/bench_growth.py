"""What the search of a kept index costs as it grows, on descriptors drawn from those of real photographs.

A picture is 1,200 descriptors drawn from all those of the photographs in $GDL_DATA, in each of which 8 % of
the bits are changed; a query is 960 of those of one picture, in which another 5 % are changed.

python scripts/collection/bench_growth.py $GDL_DATA --sizes 1000,10000 --folder FOLDER
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import itertools
import math
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np

from eval.common.options import exit_status
from matching import MatchConfig
from matching._common.threads import limit_threads
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import encode
from matching.collection.retrieval._votes import merge_neighbours, rank
from matching.pictures.images import read_picture
from matching.pipelines.description import describe_picture

FOLDERS = "tiles", "models", "scenes", "retrieval/gallery"
EACH, ASKED = 1200, 960  # descriptors of a picture, and of a query
CHANGED, CHANGED_AGAIN = 0.08, 0.05  # share of their bits
TOGETHER = 2000  # pictures a segment
MASKS = 2**16


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", default="1000,10000", help="pictures of the index, rising")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--folder", type=Path, required=True, help="where the segments are written and kept")
    return exit_status(lambda: measure(parser.parse_args(argv)))


def measure(arguments):
    sizes = [int(size) for size in arguments.sizes.split(",")]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with limit_threads(1):
        pool, cells = read_pool(arguments), _inverted.make_cells(MatchConfig())
        rows = [measure_size(size, pool, cells, arguments) for size in sizes]
    print("| pictures | index, s a picture | kB a picture | query, s | recall at 1 |\n|---|---|---|---|---|")
    for row in rows:
        print("| {} | {:.4f} | {:.1f} | {:.3f} | {:.2f} |".format(*row))
    for a, b in itertools.pairwise(rows):
        power = math.log(b[3] / a[3]) / math.log(b[0] / a[0])
        print(f"{a[0]} to {b[0]}: the seconds of a query grow with the power {power:.2f}")


def read_pool(arguments):
    """The entries of all features of the photographs; kept in the folder."""
    path = arguments.folder / "pool.npy"
    if not path.exists():
        files = sorted(
            p for f in FOLDERS for p in arguments.data.glob(f"{f}/*") if p.suffix in (".jpg", ".png")
        )
        if not files:
            raise ValueError(f"{arguments.data} must hold photographs, found none")
        found = (encode(describe_picture(read_picture(p)).features, 10**6) for p in files)
        np.save(path, np.concatenate(list(found)))
    return np.load(path)


def measure_size(size, pool, cells, arguments):
    """(pictures, s a picture, kB a picture, s a query, recall at 1)."""
    before, made, paths = time.process_time(), 0, []
    for first in range(0, size, TOGETHER):
        last = min(first + TOGETHER, size)
        paths.append(arguments.folder / f"{first}-{last}.seg")
        if not paths[-1].exists():
            entries = np.concatenate([draw(pool, k) for k in range(first, last)])
            before, made = time.process_time(), last - first
            _inverted.write_segment(paths[-1], cells, [_inverted.assign(entries, cells)])
    seconds = (time.process_time() - before) / made if made else math.nan
    segments = [_inverted.open_segment(path) for path in paths]
    rng = np.random.default_rng(1)
    wanted = rng.choice(size, arguments.queries, replace=False).tolist()
    queries = [change(draw(pool, k)[:ASKED], CHANGED_AGAIN, rng) for k in wanted]
    for _ in range(2):  # the first time, files are read
        before, n_right = time.process_time(), 0
        for right, query in zip(wanted, queries, strict=True):
            found = merge_neighbours(_inverted.find_neighbours(query, segment) for segment in segments)
            n_right += rank(query["id"], found)[0][0] == right
        looked = (time.process_time() - before) / len(queries)
    size_each = sum(path.stat().st_size for path in paths) / size / 1000
    return size, seconds, size_each, looked, n_right / len(queries)


def draw(pool, number):
    rng = np.random.default_rng([0, number])
    entries = change(pool[rng.integers(len(pool), size=EACH)], CHANGED, rng)
    entries["id"] = (number << 16) + (entries["id"] & 0xFFFF)
    return entries


def change(entries, share, rng):
    """A copy of entries in which a share of the bits is another one."""
    changed = entries.copy()
    changed["bits"] ^= masks(share)[rng.integers(MASKS, size=len(entries))]
    return changed


@cache
def masks(share):
    chosen = np.random.default_rng(0).random((MASKS, 256), dtype=np.float32) < share
    return np.packbits(chosen, axis=1)


if __name__ == "__main__":
    sys.exit(main())
