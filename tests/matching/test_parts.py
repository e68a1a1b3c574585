import numpy as np
import pytest
from planting import bent, candidates, magnified, moving, share, similarity, strangers, together

from matching.geometry import acc_neighbors
from matching.joining import join_parts
from matching.parts import PartsConfig, dense_parts, is_wide, split_parts

SIMILAR = similarity(0.3, 1.1)


def assert_apart(parts, members):
    """Parts are disjoint subsets of the members, the largest first."""
    everything = np.concatenate([np.empty(0, int), *parts])
    assert len(np.unique(everything)) == len(everything)
    assert set(everything) <= set(members)
    sizes = [len(p) for p in parts]
    assert sizes == sorted(sizes, reverse=True)


@pytest.fixture
def copies():
    """One object that stands twice in image 1, and strangers: candidates and the rows of each."""
    rng = np.random.default_rng(0)
    return together(
        moving(rng, 90, SIMILAR, shift=(0, 0), noise=0.5),
        moving(rng, 60, SIMILAR, shift=(260, 40), noise=0.5),
        strangers(rng, 60, size=400),
    )


def test_copies_of_one_object_fall_apart(copies):
    c, (one, two, none) = copies
    members = np.arange(len(c))
    parts = dense_parts(c, acc_neighbors(c, 35), members)
    assert_apart(parts, members)
    assert len(parts) == 2
    assert share(parts[0], one) > 0.9
    assert share(parts[1], two) > 0.9
    assert share(np.concatenate(parts), none) < 0.1


def test_dense_parts_stay_inside_their_cluster(copies):
    c, (one, _, _) = copies
    knn = acc_neighbors(c, 35)
    half = one[::2]
    for part in dense_parts(c, knn, half):
        assert set(part) <= set(half)
    assert dense_parts(c, knn, half[:0]) == []


def test_a_sparse_part_that_bends_stays_dense():
    c = bent(np.random.default_rng(10), 30, size=300.0, waves=9.0)
    knn = acc_neighbors(c, 29)
    assert [len(p) for p in dense_parts(c, knn, np.arange(30))] == [26]
    assert [len(p) for p in dense_parts(c, knn, np.arange(30), PartsConfig(slope=0.0))] == [8]


def test_objects_far_from_each_other_are_split():
    rng = np.random.default_rng(1)
    c, (one, two) = together(
        moving(rng, 80, SIMILAR), moving(rng, 50, SIMILAR, (500, 0), 500 * SIMILAR[:, 0])
    )
    parts = split_parts(c, np.arange(len(c)))
    assert_apart(parts, np.arange(len(c)))
    assert [set(p) for p in parts] == [set(one), set(two)]


def test_one_object_is_not_split():
    c = moving(np.random.default_rng(2), 100, SIMILAR, noise=0.5)
    assert [list(p) for p in split_parts(c, np.arange(len(c)))] == [list(range(100))]


@pytest.mark.parametrize("magnification", [7.0, 1 / 7])
def test_reaches_count_pixels_of_the_smaller_image(magnification):
    c, _ = magnified(magnification, noise=0.3)
    everyone = np.arange(120)
    for part, *rest in (dense_parts(c, acc_neighbors(c, 35), everyone), split_parts(c, everyone)):
        assert len(part) > 110
        assert rest == []


def test_few_correspondences_are_no_part():
    c = moving(np.random.default_rng(3), 20, SIMILAR)
    for n in range(4):
        assert split_parts(c, np.arange(n)) == []


def test_parts_do_not_depend_on_which_image_is_first(copies):
    c, _ = copies
    swapped = candidates(c.xy1, c.xy0, c.frames1, c.frames0)
    members = np.arange(len(c))
    here, there = ([list(p) for p in join_parts(x, split_parts(x, members))] for x in (c, swapped))
    assert here == there


def test_points_along_a_line_are_not_wide():
    rng = np.random.default_rng(0)
    across, along = rng.normal(size=(2, 200))
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    strip = np.column_stack([100 * along, 8 * across]) @ turn
    assert not is_wide(strip)
    assert is_wide(strip, PartsConfig(min_width=0.05))
    assert is_wide(10 * rng.normal(size=(20, 2)))
    assert not is_wide(np.column_stack([np.arange(9.0), np.arange(9.0)]))


def test_a_spot_is_not_wide():
    rng = np.random.default_rng(1)
    spot = rng.normal(size=(200, 2))
    assert is_wide(8 * spot)
    assert not is_wide(4 * spot)
    assert not is_wide(np.ones((8, 2)))
