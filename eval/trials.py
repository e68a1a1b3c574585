"""One composite pair, its candidates, and the trials on them.

A trial is a pair with a chosen number of outliers: all true candidates among the best 3,000, and the
n_outliers false ones with the smallest descriptor distances, from beyond the best 3,000 where these hold
fewer.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.methods import SIFT_RANSAC, Labelling, composite_config, label_candidates
from eval.metrics import count_objects, score_matches
from eval.ransac import sift_ransac
from matching import MatchConfig
from matching.candidates import Candidates, match_features
from matching.features import extract_features
from matching.images import WorkingImage, picture_of_array, working_image
from synth.composite import CompositePair, composite_pair, true_instance
from synth.photographs import Photographs

POOL = 6000  # candidates that the false ones are taken from


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
class LabelledCandidates:
    """m `candidates`, `instance` (m,) int64: the object instance each is true on or -1, and `best` (m,) bool:
    whether it is among the best 3,000."""

    candidates: Candidates
    instance: NDArray[np.int64]
    best: NDArray[np.bool_]

    def with_outliers(self, n_outliers: int) -> "LabelledCandidates":
        """The trial's choice, in the order of the candidates; ties of the score by that order."""
        false = np.flatnonzero(self.instance < 0)
        false = false[np.argsort(self.candidates.score[false], kind="stable")][:n_outliers]
        chosen = np.sort(np.concatenate([np.flatnonzero((self.instance >= 0) & self.best), false]))
        return LabelledCandidates(self.candidates[chosen], self.instance[chosen], self.best[chosen])


def working_images(image0: NDArray, image1: NDArray, config: MatchConfig) -> list[WorkingImage]:
    """What the matcher looks at: grey values of (h, w, 3) uint8 images, made smaller where they are large."""
    pictures = picture_of_array(image0, "image0"), picture_of_array(image1, "image1")
    return [working_image(picture, config.max_pixels) for picture in pictures]


def candidates_of(images: list[WorkingImage], config: MatchConfig) -> Candidates:
    """The best candidates of two images, in their pixels."""
    features = (extract_features(image.grey, config.features, image.mask, 1) for image in images)
    return match_features(*features, config.candidates)


def labelled_candidates(pair: CompositePair) -> LabelledCandidates:
    """The best 6,000 candidates of a pair with their truth, by the matcher's settings for composites."""
    config = composite_config()
    wide = replace(config, candidates=replace(config.candidates, max_matches=POOL))
    images = working_images(pair.image0, pair.image1, wide)
    candidates = candidates_of(images, wide)
    points = (
        image.to_picture(xy) for image, xy in zip(images, (candidates.xy0, candidates.xy1), strict=True)
    )
    share = config.candidates.max_matches // max(len(np.unique(candidates.kind)), 1)
    best = np.zeros(len(candidates), bool)
    for kind in np.unique(candidates.kind):
        best[np.flatnonzero(candidates.kind == kind)[:share]] = True
    return LabelledCandidates(candidates, true_instance(pair, *points), best)


def measure_pair(
    settings: PairSettings, outliers: tuple[int, ...], photographs: Photographs, names: tuple[str, ...]
) -> dict[int, dict[str, dict]]:
    """Measures of every method for every number of outliers: {n_outliers: {method: row}}."""
    pair = settings.make(photographs)
    pool = labelled_candidates(pair)
    own = _measure_sift_ransac(pair) if SIFT_RANSAC in names else None
    rows = {}
    for n in outliers:
        trial = pool.with_outliers(n)
        labellings = label_candidates(trial.candidates, names)
        rows[n] = {name: measures(trial.instance, found, pair) for name, found in labellings.items()}
        if own is not None:
            rows[n][SIFT_RANSAC] = own
    return rows


def _measure_sift_ransac(pair: CompositePair) -> dict:
    start = time.perf_counter()
    matches, labels = sift_ransac(pair.image0, pair.image1)
    seconds = time.perf_counter() - start
    return measures(true_instance(pair, matches.xy0, matches.xy1), Labelling(labels, seconds), pair)


def measures(instance: NDArray[np.int64], found: Labelling, pair: CompositePair) -> dict:
    """One row of results: the columns of the CSV that a method decides."""
    kept, true = found.labels >= 0, instance >= 0
    score = score_matches(kept, true)
    objects = count_objects(found.labels, instance, pair.n_instances)
    return {
        "n_true": int(true.sum()),
        "n_false": int((~true).sum()),
        "kept": int(kept.sum()),
        "true_matches": int((kept & true).sum()),
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
