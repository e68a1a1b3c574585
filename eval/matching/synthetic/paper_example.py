"""The paper's own example (Fig. 5): three common objects, sigma_n = 50 px, and 1,200 false candidates.

Of 533 true candidates and 1,200 false ones the authors' AGDL keeps 552, of which 532 are true: F = 0.981.
--paper and the default are measured on several such pairs. Writes paper_example.csv.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tqdm import tqdm

from eval.common.options import add_options, at_least, choose_photographs
from eval.common.tables import format_markdown, write_csv
from eval.matching.metrics import count_objects, score_matches
from eval.matching.synthetic.methods import label_objects
from matching import MatchConfig
from matching.correspondences.candidates import Candidates, join_candidates, match_with_reserve
from matching.features.extraction import extract_features
from matching.pictures.images import make_picture_of_array
from synth.composite import CompositePair, composite_pair, true_instance
from synth.photographs import Photographs

SIGMA, N_COMMON, OUTLIERS = 50.0, 3, 1200
CELL = 4.0  # px: true candidates that share a cell in both images count as one place
COLUMNS = (
    *("method", "seed", "candidates", "true", "places", "detected", "correct", "f"),
    *("objects", "found", "clusters", "mixed"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "models", "tiles", "seed", out="paper-example", pairs=10)
    parser.add_argument(
        "--side", type=at_least(32), default=320, help="side of a tile, pixels (default: 320)"
    )
    parser.add_argument(
        "--outliers", type=at_least(0), default=OUTLIERS, help=f"false candidates (default: {OUTLIERS})"
    )
    parser.add_argument(
        "--all", action="store_true", help="use the best 3,000 candidates, however many of them are false"
    )


def run(args: argparse.Namespace) -> None:
    seeds = range(args.seed, args.seed + args.pairs)
    steps = measure(choose_photographs(args), seeds, args.side, None if args.all else args.outliers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a smaller K0, which --paper takes where it must
        rows = list(tqdm(steps, total=len(seeds) * len(methods())))
    write_csv(args.out / "paper_example.csv", COLUMNS, rows)
    print(format_table(rows))


def methods() -> dict[str, MatchConfig]:
    """Name -> settings: the text, the text with ACC's rule against duplicates, and the default."""
    paper = MatchConfig.paper()
    return {
        "--paper": paper,
        "--paper, no duplicates": replace(paper, candidates=replace(paper.candidates, duplicate_radius=3.0)),
        "default": MatchConfig(),
    }


def measure(
    photographs: Photographs, seeds: range, side: int = 320, outliers: int | None = OUTLIERS
) -> Iterator[dict]:
    """A row of COLUMNS for each method and seed.

    outliers : number of false candidates, those with the smallest descriptor distances, besides all true
        ones among the best 3,000; None: the best 3,000 as they are
    """
    for seed in seeds:
        pair = composite_pair(photographs, N_COMMON, SIGMA, seed, side=side)
        for name, config in methods().items():
            yield {"method": name, "seed": seed} | _measure_row(pair, config, outliers)


def _measure_row(pair: CompositePair, config: MatchConfig, outliers: int | None) -> dict:
    candidates, instance = _candidates(pair, config, outliers)
    labels = label_objects(candidates, candidates[:0], config)
    kept, true = labels >= 0, instance >= 0
    objects = count_objects(labels, instance, pair.n_instances)
    points = np.hstack([candidates.xy0, candidates.xy1])[true]
    return {
        "candidates": len(candidates),
        "true": int(true.sum()),
        "places": len(np.unique(np.floor(points / CELL), axis=0)),
        "detected": int(kept.sum()),
        "correct": int((kept & true).sum()),
        "f": score_matches(kept, true).f,
        "objects": objects.total,
        "found": objects.found,
        "clusters": int(labels.max(initial=-1)) + 1,
        "mixed": objects.mixed,
    }


def _candidates(
    pair: CompositePair, config: MatchConfig, outliers: int | None
) -> tuple[Candidates, np.ndarray]:
    """The candidates of a trial, by ascending distance in each kind of region, and the instance of each."""
    greys = (make_picture_of_array(image).grey for image in (pair.image0, pair.image1))
    features = (extract_features(grey, config.features) for grey in greys)
    best, more = match_with_reserve(*features, replace(config.candidates, reserve=1.0))
    candidates = join_candidates([best, more])
    instance = true_instance(pair, candidates.xy0, candidates.xy1)
    chosen = np.arange(len(candidates)) < len(best)
    if outliers is not None:
        false = np.flatnonzero(instance < 0)
        chosen &= instance >= 0
        chosen[false[np.argsort(candidates.score[false], kind="stable")][:outliers]] = True
    return candidates[chosen], instance[chosen]


def format_table(rows: list[dict]) -> str:
    """Markdown: a line for each row, and one with the means of each method."""
    lines = [[row["method"], str(row["seed"]), *_line(row)] for row in rows]
    for name in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == name]
        mean = {key: np.mean([row[key] for row in own]) for key in COLUMNS[2:]}
        lines.append([name, "mean", *_line(mean)])
    head = ("method", "seed", "true of candidates", "places", "detected", "correct", "F")
    return format_markdown((*head, "objects found", "clusters", "mixed"), lines)


def _line(row: dict) -> list[str]:
    return [
        f"{row['true']:.0f} of {row['candidates']:.0f}",
        *(f"{row[key]:.0f}" for key in ("places", "detected", "correct")),
        f"{row['f']:.3f}",
        f"{row['found']:.3g} of {row['objects']:.0f}",
        *(f"{row[key]:.3g}" for key in ("clusters", "mixed")),
    ]
