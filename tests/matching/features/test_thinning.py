"""The number of features is limited: the strongest of each part of a picture are kept."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from matching._common.threads import limit_threads
from matching.features.extraction import FeatureConfig, extract_features
from matching.features.thinning import SQUARE_SIDE, choose_clear, choose_strongest
from synth.textures import Screen, texture

RNG = np.random.default_rng(0)


def test_few_points_are_all_chosen():
    xy = RNG.uniform(0, 500, (40, 2))
    assert choose_strongest(xy, RNG.random(40), 40).tolist() == list(range(40))
    assert choose_strongest(xy[:0], np.empty(0), 3).tolist() == []


@pytest.mark.parametrize("limit", [1, 7, 60, 299])
def test_squares_have_equal_shares_of_their_strongest(limit):
    xy = RNG.uniform(-1, 5 * SQUARE_SIDE, (300, 2)) * RNG.choice([0.3, 1], (300, 1))  # dense at the top left
    strength = RNG.integers(0, 20, 300).astype(float)  # with ties
    chosen = choose_strongest(xy, strength, limit)
    assert len(chosen) == limit and (np.diff(chosen) > 0).all()
    squares = {}
    for i in sorted(range(300), key=lambda i: (-strength[i], i)):
        squares.setdefault(tuple(np.floor(xy[i] / SQUARE_SIDE)), []).append(i)
    counts = [len(set(rows) & set(chosen.tolist())) for rows in squares.values()]
    largest = max(counts)
    for rows, count in zip(squares.values(), counts, strict=True):
        assert set(rows[:count]) <= set(chosen.tolist())  # the strongest, of equal ones the first
        assert count >= min(largest - 1, len(rows))


def test_faint_points_fill_squares_that_have_few():
    xy = RNG.uniform(0, 4 * SQUARE_SIDE, (400, 2)) * RNG.choice([0.3, 1], (400, 1))
    clearness = RNG.choice([0.3, 0.5, 0.7, 1.0, 2.0], 400)
    chosen = choose_clear(xy, clearness, 9)
    assert chosen[clearness >= 1].all() and not chosen.all()
    squares = np.floor(xy / SQUARE_SIDE)
    for square in np.unique(squares, axis=0):
        rows = np.flatnonzero((squares == square).all(axis=1))
        n_clear = np.count_nonzero(clearness[rows] >= 1)
        strongest = rows[np.argsort(-clearness[rows], kind="stable")[: max(n_clear, 9)]]
        assert set(rows[chosen[rows]]) == set(strongest)  # of equal ones the first


def test_points_and_fill_may_be_missing():
    assert choose_clear(np.empty((0, 2)), np.empty(0), 9).tolist() == []
    assert choose_clear(np.zeros((3, 2)), np.array([0.9, 1.0, 3.0]), 0).tolist() == [False, True, True]


def test_plain_pictures_have_faint_key_points_and_rich_ones_no_more():
    noise = gaussian_filter(RNG.normal(0, 5, (256, 256)), 1.5)
    plain, rich = (np.clip(128 + strength * noise, 0, 255).astype(np.uint8) for strength in (4, 60))

    def count(grey, **settings):
        return len(extract_features(grey, FeatureConfig(regions=("sift",), **settings)))

    assert count(plain, sift_fill=0) < 20
    assert 300 < count(plain) < count(plain, sift_fill=10**6) / 2
    assert count(rich, sift_fill=0) == count(rich)


def test_textures_have_at_most_max_features():
    grey = texture("dots", (300, 400), np.random.default_rng(0), Screen(6.0, 0.4))[..., 1]
    every = extract_features(grey)
    limit = max(np.bincount(every.kind)) // 2
    few = extract_features(grey, FeatureConfig(max_features=limit))
    assert max(np.bincount(few.kind)) == limit
    all_rows = {tuple(row) for row in np.c_[every.xy, every.frames.reshape(-1, 4)].tolist()}
    assert all(tuple(row) in all_rows for row in np.c_[few.xy, few.frames.reshape(-1, 4)].tolist())
    with limit_threads(1):
        again = extract_features(grey, FeatureConfig(max_features=limit))
    np.testing.assert_array_equal(few.descriptors, again.descriptors)


def test_masked_features_do_not_count_towards_the_limit():
    grey = texture("dots", (300, 400), np.random.default_rng(0), Screen(6.0, 0.4))[..., 1]
    mask = np.zeros(grey.shape, bool)
    mask[:, :150] = True
    whole = extract_features(grey, mask=mask)
    few = extract_features(grey, FeatureConfig(max_features=max(np.bincount(whole.kind))), mask)
    np.testing.assert_array_equal(few.xy, whole.xy)
