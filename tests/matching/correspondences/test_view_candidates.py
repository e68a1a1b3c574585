import numpy as np

from matching._common.threads import limit_threads
from matching.correspondences import descriptor_search
from matching.correspondences.candidates import CandidateConfig
from matching.correspondences.descriptor_search import find_centres, nearest_descriptors, search_by_cells
from matching.correspondences.view_candidates import ViewCandidatesConfig, match_views
from matching.features.extraction import DESCRIPTOR_NORM, Features


def normalised(rows):
    rows = np.abs(rows)
    return np.rint(DESCRIPTOR_NORM * rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float32)


def words(n, seed):
    """Descriptors of random directions."""
    return normalised(np.random.default_rng(seed).normal(0, 1, (n, 128)))


def noisy(rows, amount, seed):
    rng = np.random.default_rng(seed)
    return normalised(rows + rng.normal(0, amount * DESCRIPTOR_NORM / np.sqrt(128), rows.shape))


def features(xy, descriptors, size=3.0, kind=1):
    n = len(xy)
    frames = np.broadcast_to(size * np.eye(2), (n, 2, 2)).copy()
    return Features(np.asarray(xy, float), frames, descriptors, np.full(n, kind, np.int8), np.ones(n, bool))


def test_cells_find_nearly_all_nearest_with_exact_distances(monkeypatch):
    monkeypatch.setattr(descriptor_search, "CELL_SIZE", 64)
    kinds = words(40, 0)  # of texture, each with its variants
    rng = np.random.default_rng(1)
    stored = noisy(kinds[rng.integers(0, 40, 3000)], 0.3, 2)
    queries = noisy(stored[rng.integers(0, 3000, 500)], 0.1, 3)
    exact, squared = nearest_descriptors(queries, stored, 5)
    found, found_squared = search_by_cells(queries, stored, 5)
    same = found[:, 0] == exact[:, 0]
    assert same.mean() > 0.95
    np.testing.assert_array_equal(found_squared[same, 0], squared[same, 0])
    direct = ((queries[:, None] - stored[found]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found_squared, direct)
    assert (np.diff(found_squared, axis=1) >= 0).all()


def test_search_by_cells_does_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(descriptor_search, "CELL_SIZE", 64)
    monkeypatch.setattr(descriptor_search, "BLOCK_ROWS", 100)
    stored, queries = words(2000, 0), words(450, 1)
    with limit_threads(1):
        one = search_by_cells(queries, stored, 4)
    with limit_threads(3):
        three = search_by_cells(queries, stored, 4)
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


def test_centres_are_rounded_means_of_a_sample():
    rng = np.random.default_rng(1)
    stored = np.repeat(words(5, 0), 300, axis=0) + rng.integers(-20, 21, (1500, 128)).astype(np.float32)
    sample = stored[:: 1500 // (5 * descriptor_search.SAMPLES_PER_CELL)].reshape(5, 75, 128)
    np.testing.assert_array_equal(find_centres(stored, 5), np.rint(sample.mean(axis=1, dtype=np.float64)))


def test_few_descriptors_are_all_compared():
    stored, queries = words(300, 0), words(50, 1)
    for a, b in zip(
        search_by_cells(queries, stored, 3), nearest_descriptors(queries, stored, 3), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_place_in_ten_views_is_one_candidate():
    rng = np.random.default_rng(0)
    places, base = rng.uniform(50, 450, (20, 2)), words(20, 1)
    n_views = 10
    xy0 = np.concatenate([places + rng.normal(0, 0.3, places.shape) for _ in range(n_views)])
    xy1 = np.concatenate([places + 30 + rng.normal(0, 0.3, places.shape) for _ in range(n_views)])
    both = [features(xy, noisy(np.tile(base, (n_views, 1)), 0.05, k)) for k, xy in enumerate((xy0, xy1))]
    candidates, n_listed = match_views(*both)
    assert n_listed == len(candidates) == 20
    assert len(np.unique(np.rint(candidates.xy0 / 8), axis=0)) >= 19
    np.testing.assert_allclose(candidates.xy1, candidates.xy0 + 30, atol=3)


def test_place_with_two_different_sizes_is_two_candidates():
    word = words(2, 0)
    small, large = features([[100, 100]], word[:1], 8.0), features([[105, 100]], word[1:], 24.0)
    both = [
        Features(*(np.concatenate([getattr(f, n) for f in (small, large)]) for n in small.__annotations__))
    ] * 2
    alike = features([[100, 100], [105, 100]], word, 8.0)
    wide = CandidateConfig(max_matches=10)
    views = ViewCandidatesConfig(same_place=1.0)
    assert len(match_views(*both, wide, views)[0]) == 2
    assert len(match_views(alike, alike, wide, views)[0]) == 2  # 5 px apart: half of 8 does not reach


def test_distinct_descriptors_come_first():
    """Candidates are sorted by the ratio to the nearest at another place, not by distance."""
    base = words(3, 0)
    stored = np.concatenate([base, noisy(base[:1], 0.12, 1)])  # the first one stands twice, nearly
    xy1 = [[10, 10], [200, 10], [10, 200], [300, 300]]
    queries = np.concatenate([noisy(base[:1], 0.08, 2), noisy(base[1:], 0.3, 3)])
    candidates, _ = match_views(features([[0, 0], [100, 0], [0, 100]], queries), features(xy1, stored))
    assert candidates.xy0[:2].tolist() != [[0, 0], [100, 0]]
    assert candidates.xy0[-1].tolist() == [0, 0]
    assert candidates.score[-1] == candidates.score.min()


def test_kinds_have_equal_shares_of_the_list_and_the_pool():
    rng = np.random.default_rng(0)
    parts = [
        [features(rng.uniform(0, 900, (400, 2)), words(400, 5 + k), kind=k) for k in (0, 1)] for _ in "01"
    ]
    both = [
        Features(*(np.concatenate([getattr(f, name) for f in pair]) for name in pair[0].__annotations__))
        for pair in parts
    ]
    config = CandidateConfig(max_matches=100)
    candidates, n_listed = match_views(*both, config, ViewCandidatesConfig(pool=1.0))
    assert (n_listed, len(candidates)) == (100, 200)
    assert np.bincount(candidates.kind[:100]).tolist() == [50, 50]
    assert np.bincount(candidates.kind[100:]).tolist() == [50, 50]
