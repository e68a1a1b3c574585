import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planting import (
    candidates,
    distances_of,
    geometry,
    moving,
    similarity,
    strangers,
    together,
)

from matching._common.threads import limit_threads
from matching.correspondences import distances
from matching.correspondences.correspondences import Correspondences
from matching.correspondences.distances import (
    find_nearest_among,
    find_nearest_in_both,
    measure_agreeing_shares,
)


def acc_distances(c):
    """(m, m) distances by the definition, of candidates."""
    return distances_of(geometry(c))


def acc_neighbors(c, *args, **options):
    return distances.acc_neighbors(geometry(c), *args, **options)


def literal_distance(c, i, j):
    """d_ij with homogeneous 3x3 frames, as the paper writes it."""

    def frame(a, x):
        return np.array([[*a[0], x[0]], [*a[1], x[1]], [0, 0, 1]])

    def directed(i, j):  # d(j|i)
        t = frame(c.frames1[i], c.xy1[i]) @ np.linalg.inv(frame(c.frames0[i], c.xy0[i]))
        forth = (t @ [*c.xy0[j], 1])[:2]
        back = (np.linalg.inv(t) @ [*c.xy1[j], 1])[:2]
        return (math.dist(c.xy1[j], forth) + math.dist(c.xy0[j], back)) / 2

    return (directed(i, j) + directed(j, i)) / 2


def test_distances_equal_the_definition():
    c = strangers(np.random.default_rng(0), 12)
    literal = [[literal_distance(c, i, j) for j in range(len(c))] for i in range(len(c))]
    assert np.allclose(acc_distances(c), literal, rtol=1e-9, atol=1e-9)


def test_distance_of_two_shifts_is_their_difference():
    unit = np.repeat(np.eye(2)[None], 2, axis=0)
    c = candidates([[0, 0], [10, 0]], [[5, 5], [18, 9]], unit, unit)  # shifts (5, 5) and (8, 9)
    assert np.allclose(acc_distances(c), [[0, 5], [5, 0]])


def test_scale_counts_in_both_directions():
    # i says: twice as large; j says: as large. |u| = 4, v = u: i is wrong by 4 forth, 2 back; j by nothing.
    c = candidates([[0, 0], [4, 0]], [[0, 0], [4, 0]], [np.eye(2)] * 2, [2 * np.eye(2), np.eye(2)])
    assert acc_distances(c)[0, 1] == pytest.approx((4 + 2 + 0 + 0) / 4)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_agreeing_shares_equal_the_definition(n_threads):
    rng = np.random.default_rng(3)
    c = geometry(together(moving(rng, 60, similarity(0.3, 1.6), noise=6.0), strangers(rng, 40))[0])
    rows, near = rng.permutation(100)[:80], rng.integers(0, 100, (80, 9))
    near[:5, 6:] = -1  # these have six alone
    unit = np.sqrt(c.growth[:, None] * c.growth)
    unit = np.maximum(unit, 1 / unit)
    gap = np.max([np.linalg.norm(xy[:, None] - xy, axis=2) for xy in (c.xy0, c.xy1)], axis=0) / unit
    agree = distances_of(c) / ((1 + unit) / 2) < np.sqrt(12.0**2 + (0.3 * gap) ** 2)
    expected = [agree[i, j[j >= 0]].mean() for i, j in zip(rows, near, strict=True)]
    with limit_threads(n_threads):
        found = measure_agreeing_shares(c, rows, near, 12.0, 0.3)
    assert np.array_equal(found, expected)
    assert 0.1 < np.mean(expected) < 0.9
    assert measure_agreeing_shares(c, rows[:0], near[:0], 12.0, 0.3).shape == (0,)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 60), k=st.integers(1, 12))
def test_distance_is_symmetric_and_unchanged_by_swapping_the_images(seed, m, k):
    rng = np.random.default_rng(seed)
    c = strangers(rng, m)
    d = acc_distances(c)
    assert np.array_equal(d, d.T)
    swapped = candidates(c.xy1, c.xy0, c.frames1, c.frames0)
    assert np.allclose(acc_distances(swapped), d, rtol=1e-9, atol=1e-8)
    knn = acc_neighbors(c, min(k, m - 1))
    assert np.allclose(knn.distances, np.take_along_axis(d, knn.indices, axis=1), rtol=1e-4, atol=1e-2)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 150), k=st.integers(1, 35))
def test_neighbours_have_the_k_smallest_distances(seed, m, k):
    rng = np.random.default_rng(seed)
    k = min(k, m - 1)
    c, _ = together(moving(rng, m // 2, similarity(0.3, 1.2), noise=1.0), strangers(rng, m - m // 2))
    d = acc_distances(c)
    np.fill_diagonal(d, np.inf)
    knn = acc_neighbors(c, k)
    assert knn.indices.shape == (m, k)
    kth = np.sort(d, axis=1)[:, :k]
    actual = np.take_along_axis(d, knn.indices, axis=1)
    # single precision may swap neighbours whose distances differ by its rounding, no others
    assert np.allclose(np.sort(actual, axis=1), kth, rtol=1e-4, atol=5e-3)
    assert all(len(set(row)) == k for row in knn.indices.tolist())


def test_ties_go_to_the_smaller_index():
    # whole-number shifts of unit frames: exact in single precision, and many distances are equal
    rng = np.random.default_rng(4)
    m, k = 200, 10
    xy0 = rng.integers(0, 100, (m, 2))
    unit = np.repeat(np.eye(2)[None], m, axis=0)
    c = candidates(xy0, xy0 + rng.integers(0, 4, (m, 1)) * [1, 0], unit, unit)
    d = acc_distances(c)
    np.fill_diagonal(d, np.inf)
    expected = np.lexsort((np.broadcast_to(np.arange(m), d.shape), d))[:, :k]
    knn = acc_neighbors(c, k)
    assert np.array_equal(knn.indices, expected)
    assert np.array_equal(knn.distances, np.take_along_axis(d, expected, axis=1))


def test_far_coordinates_keep_their_precision():
    rng = np.random.default_rng(5)
    near = moving(rng, 60, similarity(0.2, 1.1), noise=1.0)
    far = candidates(near.xy0 + 7000, near.xy1 + 9000, near.frames0, near.frames1)
    assert np.allclose(
        acc_neighbors(near, 8).distances, acc_neighbors(far, 8).distances, rtol=1e-2, atol=1e-2
    )


def test_neighbours_do_not_depend_on_the_number_of_threads():
    c, _ = together(*(strangers(np.random.default_rng(s), 400) for s in range(2)))
    with limit_threads(1):
        one = acc_neighbors(c, 35)
    for n_threads in (2, 5):
        with limit_threads(n_threads):
            other = acc_neighbors(c, 35)
        assert one.indices.tobytes() == other.indices.tobytes()
        assert one.distances.tobytes() == other.distances.tobytes()


def test_nearness_orders_correspondences_with_equal_motion():
    rng = np.random.default_rng(4)
    c = moving(rng, 60, np.eye(2), shift=(40, -7))
    nearness = 1 / 128
    knn = acc_neighbors(c, 5, nearness=nearness)
    gap = np.linalg.norm(c.xy0[:, None] - c.xy0, axis=2)
    expected = np.argsort(gap, axis=1)[:, 1:6]
    assert (knn.indices == expected).all()
    assert np.allclose(knn.distances, nearness * np.take_along_axis(gap, expected, axis=1), atol=1e-4)


@pytest.mark.parametrize("magnification", [1.0, 4.0, 1 / 4])
def test_agreement_is_measured_in_pixels_of_the_smaller_image(magnification):
    # both maps are right but for the second point, which is 3 pixels off in the smaller image, 40 apart there
    linear, size = similarity(0.0, magnification), 40 / min(magnification, 1.0)
    xy0 = np.array([[0.0, 0.0], [size, 0.0]])
    xy1 = xy0 @ linear.T + [[0.0, 0.0], [0.0, 3.0 * max(magnification, 1.0)]]
    c = geometry(candidates(xy0, xy1, [np.eye(2)] * 2, [linear] * 2))
    i, j = np.array([0]), np.array([[1]])
    assert measure_agreeing_shares(c, i, j, 2.9, 0.0) == 0
    assert measure_agreeing_shares(c, i, j, 3.1, 0.0) == 1
    assert measure_agreeing_shares(c, i, j, 2.9, 0.05) == 1  # sqrt(2.9^2 + 2^2) = 3.5 at a gap of 40


def test_a_singular_map_agrees_with_nothing():
    c = Correspondences(np.eye(2), np.eye(2), np.array([np.zeros((2, 2)), np.eye(2)]))
    rows, near = np.arange(2), np.array([[1, -1], [-1, -1]])
    assert measure_agreeing_shares(c, rows, near, 12.0, 0.3).tolist() == [0.0, 0.0]


def test_neighbours_are_chosen_among_given_candidates():
    rng = np.random.default_rng(8)
    c, _ = together(moving(rng, 50, similarity(0.3), noise=1.0), strangers(rng, 30))
    every = np.array([[j for j in range(80) if j != i] for i in range(80)])
    for chosen in (every, every[:, ::-2]):
        d = np.take_along_axis(acc_distances(c), chosen, axis=1)
        knn = acc_neighbors(c, 5, candidates=chosen)
        assert np.allclose(knn.distances, np.sort(d, axis=1)[:, :5], rtol=1e-4, atol=5e-3)
        assert (knn.indices[:, :, None] == chosen[:, None]).any(axis=2).all()


def test_find_nearest_among_uses_only_the_given_rows():
    line = np.array([[0.0, 0], [1, 0], [3, 0], [7, 0], [8, 0]])
    rows = np.array([0, 2, 4])
    assert find_nearest_among(line, rows, 2).tolist() == [[2, 4], [0, 2], [0, 4], [4, 2], [2, 0]]


def test_find_nearest_in_both_adds_squares_of_both_images():
    # in the first picture 1 is nearer to 0, in both together 2 is
    xy0, xy1 = np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([[0.0, 0], [9, 0], [2, 0]])
    c = Correspondences(xy0, xy1, np.tile(np.eye(2), (3, 1, 1)))
    assert find_nearest_in_both(c, 1).tolist() == [[2], [2], [0]]
    assert find_nearest_in_both(c, 9).tolist() == [[2, 1], [2, 0], [0, 1]]
