import numpy as np
from planting import candidates, moving, similarity, together

from matching.joining import join_parts, seam_cost
from matching.parts import PartsConfig

SIMILAR = similarity(0.3, 1.1)


def test_halves_of_one_object_are_joined():
    c = moving(np.random.default_rng(6), 200, SIMILAR, noise=0.5)
    left, right = np.flatnonzero(c.xy0[:, 0] < 60), np.flatnonzero(c.xy0[:, 0] >= 60)
    (joined,) = join_parts(c, [left, right])
    assert list(joined) == list(range(200))


def test_quarters_of_one_object_are_joined_in_any_order():
    c = moving(np.random.default_rng(7), 300, SIMILAR, noise=0.5)
    quarter = (c.xy0[:, 0] < 60) + 2 * (c.xy0[:, 1] < 60)
    parts = [np.flatnonzero(quarter == k) for k in range(4)]
    for order in ([0, 1, 2, 3], [3, 0, 2, 1]):
        (joined,) = join_parts(c, [parts[k] for k in order])
        assert list(joined) == list(range(300))


def test_neighbours_that_move_differently_stay_apart():
    rng = np.random.default_rng(8)
    c, parts = together(
        moving(rng, 100, np.eye(2), (0, 0), (0, 0), noise=0.5),
        moving(rng, 100, np.eye(2), (120, 0), (170, 60), noise=0.5),
    )
    assert [set(p) for p in join_parts(c, parts)] == [set(p) for p in parts]
    assert join_parts(c, []) == []


def test_what_a_seam_may_cost_decides():
    rng = np.random.default_rng(8)
    c, parts = together(
        moving(rng, 100, np.eye(2), (0, 0), (0, 0), noise=0.5),
        moving(rng, 100, similarity(0.1), (120, 0), (125, 15), noise=0.5),
    )
    cost = seam_cost(c, *parts)
    assert 0 < cost < 1
    for share, n in ((0.99, 2), (1.01, 1)):
        allowed = PartsConfig(
            seam_tolerance=share * cost * PartsConfig.seam_tolerance,
            seam_slope=share * cost * PartsConfig.seam_slope,
        )
        assert len(join_parts(c, parts, allowed)) == n


def test_a_repeat_of_a_fine_pattern_is_not_joined():
    rng = np.random.default_rng(10)
    c, parts = together(
        moving(rng, 300, SIMILAR, noise=0.5), moving(rng, 60, SIMILAR, shift=(14, 0), noise=0.5)
    )
    assert [set(p) for p in join_parts(c, parts)] == [set(p) for p in parts]


def test_a_few_strays_amid_the_other_part_do_not_keep_halves_apart():
    rng = np.random.default_rng(11)
    c, (one, stray) = together(
        moving(rng, 100, SIMILAR, noise=0.5), moving(rng, 12, SIMILAR, shift=(16, 0), noise=0.5)
    )
    left, right = np.split(one[np.argsort(c.xy0[one, 0])], 2)
    parts = [right, np.append(left, stray)]
    assert len(join_parts(c, parts)) == 1
    assert len(join_parts(c, parts, PartsConfig(seam_pairs=20))) == 2  # the strays' own are the closest


def test_the_cost_of_a_seam_is_the_same_from_either_side():
    rng = np.random.default_rng(12)
    c = moving(rng, 150, SIMILAR, noise=2.0)
    for size in (30, 75, 120):
        one, other = np.split(rng.permutation(150), [size])
        assert seam_cost(c, one, other) == seam_cost(c, other, one)


def test_coarse_frames_do_not_keep_the_parts_of_a_plane_apart():
    rng = np.random.default_rng(9)
    c = moving(rng, 200, SIMILAR, noise=0.5)
    coarse = candidates(c.xy0, c.xy1, c.frames0, c.frames1 * np.exp(rng.normal(0, 1.5, (200, 1, 1))))
    halves = np.split(np.argsort(c.xy0[:, 0]), 2)
    by_frames = PartsConfig(seam_neighbors=1000)
    assert seam_cost(c, *halves, by_frames) < 1
    assert seam_cost(coarse, *halves, by_frames) > 1
    assert seam_cost(coarse, *halves) < 0.2


def test_a_seam_reaches_as_far_in_a_larger_picture():
    c = moving(np.random.default_rng(6), 200, similarity(0.3, 8.0), noise=2.0)
    left, right = np.flatnonzero(c.xy0[:, 0] < 40), np.flatnonzero(c.xy0[:, 0] >= 60)
    assert len(join_parts(c, [left, right])) == 1


def test_parts_far_from_each_other_have_no_seam():
    c = moving(np.random.default_rng(6), 200, SIMILAR, noise=0.5)
    left, right = np.flatnonzero(c.xy0[:, 0] < 60), np.flatnonzero(c.xy0[:, 0] >= 60)
    far = candidates(c.xy0 + 500 * (c.xy0[:, :1] >= 60), c.xy1, c.frames0, c.frames1)
    assert seam_cost(c, left, right) < 1
    assert seam_cost(far, left, right) == np.inf
