"""The usual alternative: homographies by RANSAC, one object after another.

`sequential_ransac` works on given matches; `sift_ransac` finds its own: OpenCV's SIFT and the ratio test.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from eval.matching.rivals import Rival
from eval.matching.rivals._labels import drop_small

SAMPLERS = {
    "uniform": cv2.SAMPLING_UNIFORM,
    "prosac": cv2.SAMPLING_PROSAC,
    "napsac": cv2.SAMPLING_NAPSAC,
}


@dataclass(frozen=True)
class RansacParams:
    """Parameters of sequential RANSAC; the values here are those of `ransac`."""

    threshold: float = 6.26  # px, MAGSAC's
    min_inliers: int = 38  # of a model; the first with fewer ends the search
    sampler: str = "napsac"  # a key of SAMPLERS; prosac draws the best-scored first, napsac neighbours
    max_iterations: int = 10_000
    confidence: float = 0.999
    max_models: int = 16
    seed: int = 0


# the ordinary tool at ordinary settings: cv2.findHomography(..., cv2.USAC_MAGSAC, 5.0)
ORDINARY = RansacParams(threshold=5.0, min_inliers=12, sampler="uniform", max_models=30)


@dataclass(frozen=True)
class SiftMatches:
    """Matches of SIFT features: `xy0`, `xy1` (m, 2) float64 pixels and `score` (m,) float64, the ratio."""

    xy0: NDArray[np.float64]
    xy1: NDArray[np.float64]
    score: NDArray[np.float64]


def ransac(distances: NDArray | None, candidates, params: RansacParams = RansacParams()) -> NDArray[np.int64]:
    """(m,) int64 clusters of the candidates' points, -1 for outliers. The distances are not used."""
    return sequential_ransac(candidates.xy0, candidates.xy1, candidates.score, params)


def sequential_ransac(xy0: NDArray, xy1: NDArray, score: NDArray, params: RansacParams) -> NDArray[np.int64]:
    """Homographies by USAC MAGSAC (`cv2.findHomography`), one after another, each without the inliers of
    those before.
    """
    labels = np.full(len(score), -1, np.int64)
    rest = np.argsort(score, kind="stable")  # PROSAC takes earlier matches to be better
    for c in range(params.max_models):
        if len(rest) < max(4, params.min_inliers):
            break
        inlier = _homography_inliers(xy0[rest], xy1[rest], params)
        if np.count_nonzero(inlier) < params.min_inliers:
            break
        labels[rest[inlier]] = c
        rest = rest[~inlier]
    return drop_small(labels, 1)


def sift_ransac(
    image0: NDArray, image1: NDArray, ratio: float = 0.8, params: RansacParams = ORDINARY
) -> tuple[SiftMatches, NDArray[np.int64]]:
    """SIFT matches of two (h, w, 3) uint8 RGB images that pass the ratio test, and their clusters."""
    matches = sift_matches(image0, image1, ratio)
    return matches, sequential_ransac(matches.xy0, matches.xy1, matches.score, params)


def sift_matches(image0: NDArray, image1: NDArray, ratio: float = 0.8) -> SiftMatches:
    """Nearest SIFT descriptors whose distance is below `ratio` times that of the second nearest."""
    sift = cv2.SIFT_create()
    (points0, descriptors0), (points1, descriptors1) = (
        sift.detectAndCompute(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), None) for image in (image0, image1)
    )
    if min(len(points0), len(points1)) < 2:
        return SiftMatches(np.empty((0, 2)), np.empty((0, 2)), np.empty(0))
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(descriptors0, descriptors1, k=2)
    good = [(a, a.distance / max(b.distance, 1e-9)) for a, b in pairs if a.distance < ratio * b.distance]
    xy0 = np.array([points0[a.queryIdx].pt for a, _ in good], np.float64).reshape(-1, 2)
    xy1 = np.array([points1[a.trainIdx].pt for a, _ in good], np.float64).reshape(-1, 2)
    return SiftMatches(xy0, xy1, np.array([r for _, r in good], np.float64))


def _homography_inliers(xy0: NDArray, xy1: NDArray, params: RansacParams) -> NDArray[np.bool_]:
    _, mask = cv2.findHomography(xy0.reshape(-1, 1, 2), xy1.reshape(-1, 1, 2), usac_settings(params))
    return np.zeros(len(xy0), bool) if mask is None else mask.ravel() > 0


def usac_settings(params: RansacParams) -> "cv2.UsacParams":
    """USAC_MAGSAC's settings with a fixed seed and the sampler chosen."""
    usac = cv2.UsacParams()
    usac.sampler = SAMPLERS[params.sampler]
    usac.score = cv2.SCORE_METHOD_MAGSAC
    usac.loMethod = cv2.LOCAL_OPTIM_SIGMA
    usac.loIterations, usac.loSampleSize = 10, 14
    usac.threshold, usac.confidence = params.threshold, params.confidence
    usac.maxIterations, usac.randomGeneratorState = params.max_iterations, params.seed
    usac.isParallel = False
    return usac


RIVAL = Rival(
    ransac,
    RansacParams(),
    RansacParams(threshold=14.3, min_inliers=21, sampler="napsac", max_models=7),
    uses_distances=False,
)
