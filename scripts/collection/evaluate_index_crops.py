"""Does a kept index find a large photograph by a small part? evaluate_index_crops.py $GDL_DATA --folder F

The photographs are mosaics of the pictures in $GDL_DATA/logos/scenes and $GDL_DATA/retrieval/queries, each of
which is in one mosaic. A query is a part of a mosaic, a twentieth, a tenth or a fifth as wide: as it is, or
turned by up to 30 degrees, 0.6 to 1.2 times as large, and relit. It is compressed in either case. The index
also has the pictures, including synthetic ones, that bench_index.py has left in its folder F. Each query is
looked up with as many entries per mosaic as an index keeps, and with other numbers of entries.
"""

from eval.common import uncaught  # noqa: F401

# isort: split
import argparse
import sys
import time
from collections import defaultdict
from io import BytesIO
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

from eval.common.mosaics import lay_mosaic
from eval.common.options import check_least, exit_status
from eval.common.tables import format_markdown
from matching import MatchConfig
from matching._common.threads import limit_threads
from matching.collection.kept_index._store import open_index
from matching.collection.retrieval import _inverted
from matching.collection.retrieval._codes import encode, encode_indexed, encode_query
from matching.collection.retrieval._votes import merge_neighbours, rank
from matching.pictures.encoding import encode_jpeg
from matching.pictures.images import make_picture_of_array
from matching.pipelines.description import describe_picture
from synth.photographs import read_picture

PARTS = "logos/scenes", "retrieval/queries"
SHARES = 0.05, 0.1, 0.2  # of the mosaic's width
SHORTLIST = 10
FIRST = 10**8  # numbers of mosaics begin here


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder that holds logos and retrieval")
    parser.add_argument("--folder", type=Path, required=True, help="the folder of bench_index.py")
    parser.add_argument("--mosaics", type=int, default=6, help="number of mosaics (default: 6)")
    parser.add_argument(
        "--asked", type=int, nargs="+", help="numbers of the mosaics that queries show (default: all)"
    )
    parser.add_argument("--megapixels", type=float, default=12.2, help="size of a mosaic (default: 12.2)")
    parser.add_argument(
        "--entries",
        type=int,
        nargs="+",
        default=[1300],
        help="other numbers of entries per mosaic (default: 1300)",
    )
    parser.add_argument(
        "--queries", type=int, default=10, help="queries of each kind for each mosaic (default: 10)"
    )
    return exit_status(lambda: measure(parser.parse_args(argv)))


def measure(options):
    check_least(options, mosaics=1, queries=1, megapixels=0.1)
    with limit_threads(1):
        with open_index(options.folder / "index", MatchConfig()) as index:
            paths = [Path(shard.path) for shard in index.shards()]
        mosaics = make_mosaics(options)
        others = [_inverted.open_segment(p) for p in [*paths, *sorted(options.folder.glob("drawn-*.seg"))]]
        described = [describe_picture(make_picture_of_array(mosaic)) for mosaic in mosaics]
        made = {"as kept": [encode_indexed(d, FIRST + k) for k, d in enumerate(described)]}
        for n in options.entries:
            made[str(n)] = [encode(d.features, n, FIRST + k) for k, d in enumerate(described)]
        cells = _inverted.make_cells(MatchConfig())
        segments = {}
        for name, entries in made.items():
            path = options.folder / f"mosaics-{name.replace(' ', '-')}.seg"
            _inverted.write_segment(path, cells, [_inverted.assign(np.concatenate(entries), cells)])
            segments[name] = _inverted.open_segment(path)
        found, seconds = ask_all(options, mosaics, others, segments)
    n = len(options.asked or mosaics) * options.queries
    rows = [
        (name, f"{np.mean([a.nbytes for a in made[name]]) / 1000:.0f}", *(str(found[name, k]) for k in KINDS))
        for name in made
    ]
    print(format_markdown(("entries", "kB a mosaic", *KINDS), rows))
    print(f"of {n} queries of each kind; a query takes {seconds:.2f} s of the processor")


KINDS = tuple(f"{share:g}{', changed' * changed}" for share in SHARES for changed in (False, True))


def ask_all(options, mosaics, others, segments):
    """How many queries of each kind find their mosaic among the first ones, by the entries of a mosaic."""
    found, spent = defaultdict(int), []
    for k in range(len(mosaics)) if options.asked is None else options.asked:
        for kind, number in product(range(len(KINDS)), range(options.queries)):
            rng = np.random.default_rng([k, kind, number])
            part = cut(mosaics[k], SHARES[kind // 2], kind % 2, rng)
            query = encode_query(describe_picture(make_picture_of_array(part)).features)
            begun = time.process_time()
            shared = [_inverted.find_neighbours(query, segment) for segment in others]
            for name, own in segments.items():
                best = rank(query["id"], merge_neighbours([*shared, _inverted.find_neighbours(query, own)]))
                if name == "as kept":
                    spent.append(time.process_time() - begun)
                found[name, KINDS[kind]] += FIRST + k in [picture for picture, _ in best[:SHORTLIST]]
    return found, np.mean(spent)


def make_mosaics(options):
    """Mosaics (h, w, 3) uint8 of different pictures, row by row, with the highest ones first."""
    height = round(np.sqrt(options.megapixels * 1e6 * 3 / 4))
    paths = sorted(path for folder in PARTS for path in (options.data / folder).glob("*.jpg"))
    pictures = [read_picture(paths[k]) for k in np.random.default_rng(0).permutation(len(paths))]
    lying = [p if p.shape[1] >= p.shape[0] else np.rot90(p) for p in pictures]
    lying.sort(key=lambda picture: -len(picture))
    return [fill(lying[k :: options.mosaics], height * 4 // 3, height) for k in range(options.mosaics)]


def fill(pictures, width, height):
    return lay_mosaic(iter(pictures), (height, width, 3), np.uint8)


def cut(mosaic, share, is_changed, rng):
    """A part of a mosaic, compressed."""
    height, width = (int(share * side) for side in mosaic.shape[:2])
    y, x = (int(rng.integers(side - own)) for side, own in zip(mosaic.shape, (height, width), strict=False))
    part = mosaic[y : y + height, x : x + width]
    if is_changed:
        relit = 255 * (part / 255) ** rng.uniform(0.7, 1.4) * rng.uniform(0.7, 1.1)
        image = Image.fromarray(relit.clip(0, 255).astype(np.uint8))
        image = image.rotate(rng.uniform(-30, 30), Image.Resampling.BICUBIC)
        factor = rng.uniform(0.6, 1.2)
        part = np.asarray(image.resize([int(side * factor) for side in image.size], Image.Resampling.LANCZOS))
    return compress(part)


def compress(picture, quality=80):
    return np.asarray(Image.open(BytesIO(encode_jpeg(Image.fromarray(picture), quality))))


if __name__ == "__main__":
    sys.exit(main())
