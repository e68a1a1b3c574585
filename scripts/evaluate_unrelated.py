"""How often unrelated pictures give an object: python scripts/evaluate_unrelated.py FOLDER FOLDER [--pairs N]

Pairs a random picture of the first folder with a random one of the second (all must show different things),
and prints how many pairs have an object, and the best score of each pair where no least score is asked for.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from matching import MatchConfig, match

FREE = replace(MatchConfig(), clustering=replace(MatchConfig().clustering, min_score=0.0))


def best_score(path0, path1):
    return max((thing.score for thing in match(path0, path1, FREE).objects), default=0.0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs=2, type=Path, metavar="FOLDER")
    parser.add_argument("--pairs", type=int, default=200, help="pairs (default: 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    options = parser.parse_args()
    pictures = [sorted(p for p in folder.iterdir() if p.is_file()) for folder in options.folders]
    possible = sorted({tuple(sorted((a, b))) for a in pictures[0] for b in pictures[1] if a != b})
    order = np.random.default_rng(options.seed).permutation(len(possible))[: options.pairs]
    run = Parallel(n_jobs=options.jobs, return_as="generator")(
        delayed(best_score)(*possible[i]) for i in order
    )
    scores = np.array(list(tqdm(run, total=len(order))))
    least = MatchConfig().clustering.min_score
    quantiles = np.quantile(scores, [0.5, 0.95, 0.99, 1.0])
    print(f"{len(scores)} unrelated pairs, {np.count_nonzero(scores >= least)} with an object")
    print("best score: median {:.1f}, 95 % {:.1f}, 99 % {:.1f}, largest {:.1f}".format(*quantiles))


if __name__ == "__main__":
    main()
