"""The matcher against SIFT, ratio test and sequential MAGSAC, on composite pairs with exact truth."""

import argparse
from pathlib import Path

from tqdm import tqdm

from eval.ordinary import compare, methods, table
from synth.photographs import from_folders, shipped

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument(
    "--models", type=Path, help="folder with pictures of objects (default: shipped photographs)"
)
parser.add_argument("--tiles", type=Path, help="folder with other photographs")
parser.add_argument("--pairs", type=int, default=8, help="composite pairs a number of copies (default: 8)")
parser.add_argument("--first-seed", type=int, default=200)
parser.add_argument(
    "--copies", type=int, nargs="+", default=[1, 2], help="copies of each object (default: 1 2)"
)
options = parser.parse_args()
if (options.models is None) != (options.tiles is None):
    parser.error("--models and --tiles go together")
photographs = from_folders(options.models, options.tiles) if options.models else shipped()
seeds = range(options.first_seed, options.first_seed + options.pairs)
steps = (row for copies in options.copies for row in compare(photographs, seeds, copies))
print(table(list(tqdm(steps, total=len(seeds) * len(methods()) * len(options.copies)))))
