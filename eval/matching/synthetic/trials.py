"""One composite pair, its candidates, and the trials on them.

A trial is a pair with a chosen number of outliers. Its list holds all true candidates among the best 3,000,
and the n_outliers false ones with the smallest descriptor distances, some of them from beyond the best 3,000
if these hold fewer. The pool behind the list holds the next best of all others, as many as the list has, the
same for all methods that use one. Methods are judged on the list.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.matching.metrics import count_objects, score_matches
from eval.matching.rivals.ransac import sift_ransac
from eval.matching.synthetic.methods import SIFT_RANSAC, Labelling, label_candidates
from matching import MatchConfig
from matching.correspondences.candidates import Candidates, join_candidates, match_with_reserve
from matching.features.extraction import extract_features
from matching.pictures.images import WorkingImage, make_picture_of_array, make_working_image, to_picture
from synth.composite import CompositePair, composite_pair, true_instance
from synth.photographs import Photographs

NO_POOL = np.empty(0, np.int64)


@dataclass(frozen=True)
class PairSettings:
    """What a composite pair is made from: sigma (px), number of objects, seed, variant, tile side."""

    sigma: float
    n_common: int
    seed: int
    copies: int = 1
    hard: bool = False
    side: int = 320

    def make(self, photographs: Photographs) -> CompositePair:
        variant = {"side": self.side, "copies": self.copies, "hard_poses": self.hard}
        return composite_pair(photographs, self.n_common, self.sigma, self.seed, **variant)


@dataclass(frozen=True, eq=False)
class Trial:
    """m `candidates` by ascending score; `instance` (m,) int64, the object instance on which each is true, or
    -1; and the same for the pool behind them."""

    candidates: Candidates
    instance: NDArray[np.int64]
    pool: Candidates
    pool_instance: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledCandidates:
    """m `candidates`, `instance` (m,) int64: the object instance on which each is true or -1, `best` (m,)
    bool: whether it is among those that the matcher lists, the others being its pool."""

    candidates: Candidates
    instance: NDArray[np.int64]
    best: NDArray[np.bool_]

    def with_outliers(self, n_outliers: int) -> Trial:
        """The trial's list and pool; among equal scores, the order of the candidates decides."""
        order = np.argsort(self.candidates.score, kind="stable")
        false = order[self.instance[order] < 0][:n_outliers]
        chosen = (self.instance >= 0) & self.best
        chosen[false] = True
        listed, others = order[chosen[order]], order[~chosen[order]]
        pool = others[: round(len(listed) * MatchConfig().candidates.reserve)]
        return Trial(
            self.candidates[listed], self.instance[listed], self.candidates[pool], self.instance[pool]
        )


def read_working_images(image0: NDArray, image1: NDArray, config: MatchConfig) -> list[WorkingImage]:
    """The matcher's input: grey values of (h, w, 3) uint8 images, reduced if they are large."""
    pictures = make_picture_of_array(image0, "image0"), make_picture_of_array(image1, "image1")
    return [make_working_image(picture, config.first_pixels) for picture in pictures]


def find_candidates(images: list[WorkingImage], config: MatchConfig) -> tuple[Candidates, Candidates]:
    """The best candidates of two images and the pool behind them, by ascending score, in their pixels."""
    features = (extract_features(image.grey, config.features, image.mask) for image in images)
    best, pool = match_with_reserve(*features, config.candidates)
    return best, pool[np.argsort(pool.score, kind="stable")]


def label_true_candidates(pair: CompositePair) -> LabelledCandidates:
    """The candidates of a pair and the pool behind them, with their truth."""
    config = MatchConfig()
    images = read_working_images(pair.image0, pair.image1, config)
    best, pool = find_candidates(images, config)
    candidates = join_candidates([best, pool])
    points = (
        to_picture(xy, image.step) for image, xy in zip(images, (candidates.xy0, candidates.xy1), strict=True)
    )
    return LabelledCandidates(
        candidates, true_instance(pair, *points), np.arange(len(candidates)) < len(best)
    )


def measure_pair(
    settings: PairSettings, outliers: tuple[int, ...], photographs: Photographs, names: tuple[str, ...]
) -> dict[int, dict[str, dict]]:
    """Measures of every method for every number of outliers: {n_outliers: {method: row}}."""
    pair = settings.make(photographs)
    candidates = label_true_candidates(pair)
    own = _measure_sift_ransac(pair) if SIFT_RANSAC in names else None
    rows = {}
    for n in outliers:
        trial = candidates.with_outliers(n)
        labellings = label_candidates(trial.candidates, trial.pool, names)
        rows[n] = {
            name: measures(trial.instance, found, pair, trial.pool_instance)
            for name, found in labellings.items()
        }
        if own is not None:
            rows[n][SIFT_RANSAC] = own
    return rows


def _measure_sift_ransac(pair: CompositePair) -> dict:
    start = time.perf_counter()
    matches, labels = sift_ransac(pair.image0, pair.image1)
    seconds = time.perf_counter() - start
    return measures(true_instance(pair, matches.xy0, matches.xy1), Labelling(labels, seconds), pair)


def measures(
    instance: NDArray[np.int64],
    found: Labelling,
    pair: CompositePair,
    pool_instance: NDArray[np.int64] = NO_POOL,
) -> dict:
    """One row of results: the columns of the CSV that depend on the method.

    Everything counts the m candidates of the list, except for what joined from the pool.
    """
    labels, joined = np.split(found.labels, [len(instance)])
    kept, true = labels >= 0, instance >= 0
    score = score_matches(kept, true)
    objects = count_objects(labels, instance, pair.n_instances)
    return {
        "n_true": int(true.sum()),
        "n_false": int((~true).sum()),
        "kept": int(kept.sum()),
        "true_matches": int((kept & true).sum()),
        "joined": int((joined >= 0).sum()),
        "true_joined": int(((joined >= 0) & (pool_instance >= 0)).sum()),
        "precision": score.precision,
        "recall": score.recall,
        "f": score.f,
        "objects": objects.total,
        "objects_found": objects.found,
        "clusters": objects.clusters,
        "clusters_per_object": objects.clusters_per_object,
        "mixed": objects.mixed,
        "seconds": found.seconds,
    }
