"""Measure what each step of the matching is worth: python scripts/ablation.py [--models DIR --tiles DIR]"""

import argparse
from pathlib import Path

from tqdm import tqdm

from eval.ablation import ablate, table, variants
from synth.photographs import from_folders, shipped

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument(
    "--models", type=Path, help="folder with pictures of objects (default: shipped photographs)"
)
parser.add_argument("--tiles", type=Path, help="folder with other photographs")
parser.add_argument("--pairs", type=int, default=16, help="composite pairs (default: 16)")
parser.add_argument("--first-seed", type=int, default=100)
parser.add_argument(
    "--copies", type=int, default=1, help="times that each object stands in the second picture"
)
options = parser.parse_args()
if (options.models is None) != (options.tiles is None):
    parser.error("--models and --tiles go together")
photographs = from_folders(options.models, options.tiles) if options.models else shipped()
seeds = range(options.first_seed, options.first_seed + options.pairs)
steps = ablate(photographs, seeds, options.copies)
print(table(list(tqdm(steps, total=len(seeds) * len(variants())))))
