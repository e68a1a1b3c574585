from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planting import record

from matching.correspondences import candidates
from matching.correspondences.candidates import (
    DIRECTION,
    CandidateConfig,
    Candidates,
    _equal_shares,
    match_with_reserve,
    match_within,
    share_out,
)
from matching.correspondences.descriptor_search import nearest_descriptors
from matching.features.extraction import DESCRIPTOR_NORM, Features
from matching.settings import REGIONS


def match_features(features0, features1, config=CandidateConfig()):
    """The candidates without a reserve."""
    return match_with_reserve(features0, features1, replace(config, reserve=0.0))[0]


def make_descriptors(rng, n, width=128):
    """Whole numbers of norm about DESCRIPTOR_NORM, as `describe` gives them."""
    h = rng.exponential(size=(n, width))
    return np.rint(DESCRIPTOR_NORM * np.sqrt(h / h.sum(axis=1, keepdims=True))).astype(np.float32)


def literal_nearest(descriptors0, descriptors1, width):
    """(n0, width) indices by (squared distance, index) and squared distances, in 64-bit integers."""
    a, b = descriptors0.astype(np.int64), descriptors1.astype(np.int64)
    squared = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    order = np.argsort(squared, axis=1, kind="stable")[:, :width]
    return order, np.take_along_axis(squared, order, axis=1)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n0=st.integers(1, 60),
    n1=st.integers(1, 60),
    width=st.integers(1, 12),
    block=st.sampled_from([7, 512]),
)
def test_nearest_descriptors_are_exact(seed, n0, n1, width, block):
    rng = np.random.default_rng(seed)
    d0, d1 = make_descriptors(rng, n0), make_descriptors(rng, n1)
    d1[n1 // 2 :] = d1[: n1 - n1 // 2]  # equal rows: the smaller index first
    found, squared = nearest_descriptors(d0, d1, width, block=block)
    expected, truth = literal_nearest(d0, d1, width)
    k = min(width, n1)
    assert found.shape == squared.shape == (n0, width)
    assert squared.dtype == np.float32
    assert np.array_equal(found[:, :k], expected)
    assert np.array_equal(squared[:, :k], truth)
    assert (found[:, k:] == -1).all()


def literal_thinning(xy0, xy1, radius, limit):
    keep = []
    for p in range(len(xy0)):
        ends = ((np.linalg.norm(xy[p] - xy[q]) < radius for xy in (xy0, xy1)) for q in keep)
        if len(keep) < limit and not any(all(near) for near in ends):
            keep.append(p)
    mask = np.zeros(len(xy0), bool)
    mask[keep] = True
    return mask


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 150),
    size=st.floats(3, 60),
    radius=st.floats(0.5, 6),
    limit=st.integers(1, 100),
)
def test_near_duplicates_are_dropped_as_by_a_plain_loop(seed, n, size, radius, limit):
    rng = np.random.default_rng(seed)
    xy0, xy1 = rng.uniform(-size / 4, size, (2, n, 2))
    found = candidates.find_distinct((xy0, xy1), radius, limit)
    assert np.array_equal(found, literal_thinning(xy0, xy1, radius, limit))


def features(rng, n, kinds, size=400.0):
    return record(
        Features,
        n,
        xy=rng.uniform(0, size, (n, 2)),
        frames=np.repeat(5 * np.eye(2)[None], n, axis=0),
        descriptors=make_descriptors(rng, n),
        kind=np.array([REGIONS.index(k) for k in kinds], np.int8),
    )


def make_two_images(n=60):
    """Features of either kind, and the same again with small changes: f0 and f1."""
    rng = np.random.default_rng(2)
    f0 = features(rng, n, ["mser"] * (n // 2) + ["sift"] * (n - n // 2))
    noisy = np.abs(f0.descriptors + np.rint(rng.normal(0, 20, f0.descriptors.shape)))
    return f0, replace(f0, xy=f0.xy + np.array([30, 10]), descriptors=noisy.astype(np.float32))


def literal_candidates(f0, f1, kind, config):
    """(i, j) of the candidates of one kind, by rising distance."""
    rows0, rows1 = (np.flatnonzero(f.kind == kind) for f in (f0, f1))
    index, squared = literal_nearest(f0.descriptors[rows0], f1.descriptors[rows1], config.per_feature)
    pairs = sorted((squared[a, b], rows0[a], rows1[index[a, b]]) for a, b in np.ndindex(index.shape))
    pairs = [p for p in pairs if p[0] < (config.max_distance * DESCRIPTOR_NORM) ** 2]
    i, j = (np.array([p[k] for p in pairs], int) for k in (1, 2))
    limit = config.max_matches // 2
    keep = literal_thinning(f0.xy[i], f1.xy[j], config.duplicate_radius, limit)
    return i[keep], j[keep], np.sqrt([p[0] for p in pairs])[keep] / DESCRIPTOR_NORM


def test_candidates_are_the_nearest_pairs_of_each_kind():
    f0, f1 = make_two_images()
    config = CandidateConfig(max_matches=80, per_feature=4)
    found = match_features(f0, f1, config)
    assert isinstance(found, Candidates)
    for kind in range(len(REGIONS)):
        i, j, score = literal_candidates(f0, f1, kind, config)
        actual = found[found.kind == kind]
        order = np.lexsort((actual.xy1[:, 0], actual.xy0[:, 0], actual.score))
        expected = np.lexsort((f1.xy[j, 0], f0.xy[i, 0], score))
        assert len(actual) == len(i)
        assert np.allclose(actual.score[order], score[expected])
        assert np.array_equal(actual.xy0[order], f0.xy[i][expected])
        assert np.array_equal(actual.xy1[order], f1.xy[j][expected])
        assert (np.diff(actual.score) >= 0).all()


def test_missing_kind_leaves_its_share_to_the_other():
    f0, f1 = make_two_images()
    config = CandidateConfig(max_matches=24)
    found = match_features(f0, f1[f1.kind == 0], config)
    assert len(found) == 24
    assert (found.kind == 0).all()


def test_images_without_features_have_no_candidates():
    f0, f1 = make_two_images()
    for a, b in ((f0[:0], f1), (f0, f1[:0]), (f0[f0.kind == 0], f1[f1.kind == 1])):
        found = match_features(a, b)
        assert len(found) == 0
        assert found.xy0.shape == found.xy1.shape == (0, 2)
        assert found.frames0.shape == (0, 2, 2)


def test_reserve_continues_the_best_candidates():
    images = make_two_images()
    wide = match_features(*images, CandidateConfig(max_matches=40))
    best, reserve = match_with_reserve(*images, CandidateConfig(max_matches=20, reserve=1.0))
    for k in np.unique(wide.kind):
        expected = wide.xy0[wide.kind == k]
        found = np.concatenate([best.xy0[best.kind == k], reserve.xy0[reserve.kind == k]])
        assert (found == expected).all()
    assert len(best) == 20


@pytest.mark.parametrize("max_matches", [21, 60, 200])
@pytest.mark.parametrize("n_regions", [0, 6, 40])
def test_limited_search_finds_all_shared_candidates(max_matches, n_regions):
    """As many of each kind as of all kinds together are enough for the shares; fewer are chosen."""
    f0, f1 = make_two_images(90)
    kept = (f0.kind == 1) | (np.arange(len(f0)) < n_regions)
    config = CandidateConfig(max_matches=max_matches, reserve=0.7, per_feature=4)
    images, kinds = (f0[kept], f1[kept]), range(2) if n_regions else [1]
    parts = [candidates._find_best(*images, kind, int(max_matches * 1.7), config) for kind in kinds]
    expected_shares = share_out(parts, max_matches, config.reserve)
    for actual, expected in zip(match_with_reserve(*images, config), expected_shares, strict=True):
        assert all(np.array_equal(getattr(actual, f.name), getattr(expected, f.name)) for f in fields(actual))


def test_dark_regions_are_matched_only_with_dark_ones():
    f0, f1 = make_two_images()
    rng = np.random.default_rng(5)
    f0, f1 = (replace(f, bright=rng.random(len(f)) < 0.5) for f in (f0, f1))
    found = match_features(f0, f1, CandidateConfig(per_polarity=True))
    assert len(found) > 20
    assert (f0.bright[found.row0] == f1.bright[found.row1]).all()
    mixed = match_features(f0, f1, CandidateConfig(per_polarity=False))
    assert (f0.bright[mixed.row0] != f1.bright[mixed.row1]).any()


@pytest.mark.parametrize("per_polarity", [False, True])
def test_dark_regions_of_one_picture_are_matched_only_with_dark_ones(per_polarity):
    f, _ = make_two_images()
    f = replace(f, bright=np.random.default_rng(5).random(len(f)) < 0.5)
    config = CandidateConfig(per_polarity=per_polarity)
    found, _ = match_within(f, np.zeros(len(f)), config)
    assert len(found) > 20
    assert (f.bright[found.row0] == f.bright[found.row1]).all() == per_polarity


def test_match_within_lists_each_pair_once_outside_the_clearance():
    f, _ = make_two_images()
    f = replace(f, kind=np.zeros(len(f), np.int8))
    config = CandidateConfig(max_matches=50, per_feature=3, max_distance=2, duplicate_radius=0)
    clearance = np.full(len(f), 90.0)
    squared = ((f.descriptors[:, None].astype(int) - f.descriptors.astype(int)) ** 2).sum(axis=2)
    apart = np.linalg.norm(f.xy[:, None] - f.xy, axis=2)
    expected = set()
    for i in range(len(f)):
        others = [j for j in np.argsort(squared[i], kind="stable") if apart[i, j] > 90]
        for j in others[:3]:
            expected.add((squared[i, j], *sorted((i, j), key=lambda k: f.xy[k] @ DIRECTION)))
    best, reserve = match_within(f, clearance, config)
    assert len(best) == 50
    rows = [*zip(best.row0.tolist(), best.row1.tolist(), strict=True)]
    assert {*rows} == {pair[1:] for pair in sorted(expected)[:50]}
    following = [*zip(reserve.row0.tolist(), reserve.row1.tolist(), strict=True)]
    assert not {*rows} & {*following}
    assert {*rows, *following} <= {pair[1:] for pair in expected}


def test_match_within_finds_mirrored_pairs():
    f, _ = make_two_images()
    clearance = np.full(len(f), 50.0)
    plain, mirrored = (match_within(f, clearance, mirrored=m)[0] for m in (False, True))
    assert (np.linalg.det(plain.maps) > 0).all()
    assert (np.linalg.det(mirrored.maps) < 0).all()


@pytest.mark.parametrize(
    ("available", "total", "shares"),
    [
        ([9, 9], 7, [4, 3]),
        ([1, 9], 6, [1, 5]),
        ([2, 1, 9], 7, [2, 1, 4]),
        ([2, 3], 10, [2, 3]),
        ([0, 0], 5, [0, 0]),
    ],
)
def test_shares_are_equal_unless_a_kind_has_too_few(available, total, shares):
    assert _equal_shares(available, total).tolist() == shares
