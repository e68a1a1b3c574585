"""Distinct matches, against a loop over all features."""

import math

import numpy as np
from planting import record

from matching.correspondences.candidates import Candidates
from matching.correspondences.distinct import MAX_RATIO, MIN_GAP, count_distinct_matches
from matching.features.extraction import DESCRIPTOR_NORM, Features


def make_features(rng, n, centres):
    """Features near each other, whose descriptors are near a few centres, of two kinds."""
    noisy = centres[rng.integers(0, len(centres), n)] + rng.exponential(0.3, (n, 128))
    descriptors = np.rint(DESCRIPTOR_NORM * np.sqrt(noisy / noisy.sum(axis=1, keepdims=True)))
    frames = np.tile(np.eye(2), (n, 1, 1))
    return record(
        Features,
        n,
        xy=rng.uniform(0, 60, (n, 2)),
        frames=frames,
        descriptors=descriptors.astype(np.float32),
        kind=rng.integers(0, 2, n).astype(np.int8),
    )


def measure(features0, row0, features1, row1):
    a, b = (f.descriptors[r].astype(float) for f, r in ((features0, row0), (features1, row1)))
    return math.dist(a, b) / DESCRIPTOR_NORM


def is_distinct(features0, row0, features1, row1, distance):
    """Whether no second feature of the same kind, farther than MIN_GAP, is nearly as near."""
    for row in range(len(features1.xy)):
        gap = math.dist(features1.xy[row], features1.xy[row1])
        if gap < MIN_GAP or features1.kind[row] != features0.kind[row0]:
            continue
        if distance > MAX_RATIO * measure(features0, row0, features1, row):
            return False
    return True


def test_distinct_matches_are_those_of_a_loop_over_all_features():
    rng = np.random.default_rng(0)
    centres = rng.exponential(size=(25, 128))
    features0, features1 = make_features(rng, 60, centres), make_features(rng, 70, centres)
    rows = [
        (k, min(same, key=lambda r: measure(features0, k, features1, r)))
        for k in range(60)
        if (same := np.flatnonzero(features1.kind == features0.kind[k]).tolist())
    ]
    score = np.array([measure(features0, a, features1, b) for a, b in rows])
    row0, row1 = np.array(rows).T
    ends = {"xy0": features0.xy[row0], "xy1": features1.xy[row1], "row0": row0, "row1": row1}
    frames = np.tile(np.eye(2), (len(rows), 1, 1))
    matches = record(Candidates, len(rows), **ends, frames0=frames, frames1=frames, score=score)
    expected = [
        is_distinct(features0, a, features1, b, d) and is_distinct(features1, b, features0, a, d)
        for (a, b), d in zip(rows, score.tolist(), strict=True)
    ]
    assert 5 < sum(expected) < len(rows) - 5
    assert count_distinct_matches(features0, features1, matches) == sum(expected)
    for k, distinct in enumerate(expected):
        assert count_distinct_matches(features0, features1, matches[k : k + 1]) == distinct
    assert count_distinct_matches(features0, features1, matches[:0]) == 0


def test_only_feature_of_its_kind_is_distinct_and_one_of_two_equal_ones_is_not():
    rng = np.random.default_rng(1)
    one = make_features(rng, 1, rng.exponential(size=(3, 128)))
    frames = np.tile(np.eye(2), (1, 1, 1))
    match = record(Candidates, 1, xy0=one.xy, xy1=one.xy, frames0=frames, frames1=frames, score=np.zeros(1))
    match = match[:1]
    assert count_distinct_matches(one, one, match) == 1
    twice = one[np.zeros(2, int)]
    twice = Features(**{**vars(twice), "xy": np.array([[0.0, 0.0], [30.0, 0.0]])})
    score = np.array([0.2])
    match = Candidates(**{**vars(match), "score": score})
    assert count_distinct_matches(one, twice, match) == 0
    near = Features(**{**vars(twice), "xy": np.array([[0.0, 0.0], [7.9, 0.0]])})  # of the same place
    assert count_distinct_matches(one, near, match) == 1
