import numpy as np
import pytest
from planting import bent, candidates, magnified, moving, share, similarity, strangers, together
from scipy.interpolate import RBFInterpolator
from scipy.spatial import cKDTree

from matching.errors import InputError
from matching.refinement import RefinementConfig, grow_parts, refine_parts, spline_residuals
from matching.verification import verify_cluster

SIMILAR = similarity(0.3, 1.1)


def neighbors(x, at, k):
    return cKDTree(x).query(at, k)[1]


def waving(rng, n, noise=0.0):
    """Points x, y (n, 2) of a square that bends."""
    c = bent(rng, n)
    return c.xy0, c.xy1 + rng.normal(0, noise, (n, 2))


@pytest.mark.parametrize("smoothing", [1e-2, 1.0, 100.0, 1e4])
def test_residuals_are_those_of_scipys_spline(smoothing):
    rng = np.random.default_rng(0)
    x, y = waving(rng, 60, noise=1.0)
    own = waving(rng, 25, noise=3.0)
    near = neighbors(x, own[0], 14)
    residual, _ = spline_residuals(x, y, near, smoothing, own)
    for r, from_, to, j in zip(residual, *own, near, strict=True):
        spline = RBFInterpolator(x[j], y[j], smoothing=smoothing, kernel="thin_plate_spline", degree=1)
        assert r == pytest.approx(np.linalg.norm(spline(from_[None])[0] - to), rel=1e-4, abs=1e-4)


def kriging_deviation(x, at, smoothing):
    """The standard deviation at a point in the textbook's words: the smallest variance of any linear
    prediction from x that is exact for affine maps.
    """

    def phi(a, b):
        r = np.linalg.norm(a[:, None] - b[None], axis=2)
        return np.where(r > 0, r**2 * np.log(np.maximum(r, 1e-300)), 0.0)

    one = at[None]
    covariance, to_point = phi(x, x) + smoothing * np.eye(len(x)), phi(x, one)[:, 0]
    drift = np.column_stack([np.ones(len(x)), x])
    system = np.block([[covariance, drift], [drift.T, np.zeros((3, 3))]])
    weight = np.linalg.solve(system, np.concatenate([to_point, [1.0], at]))[: len(x)]
    return np.sqrt(weight @ covariance @ weight - 2 * weight @ to_point + smoothing)


def test_deviations_are_those_of_kriging():
    rng = np.random.default_rng(1)
    x, y = waving(rng, 40)
    own = waving(rng, 20)
    near = neighbors(x, own[0], 12)
    _, deviation = spline_residuals(x, y, near, 50.0, own)
    expected = [kriging_deviation(x[j], at, 50.0) for j, at in zip(near, own[0], strict=True)]
    assert np.allclose(deviation, expected, rtol=1e-4)


def test_the_deviation_grows_away_from_the_neighbours():
    x, y = waving(np.random.default_rng(2), 30)
    at = np.array([[100.0, 100.0], [300.0, 100.0], [600.0, 100.0]])
    _, deviation = spline_residuals(x, y, np.tile(np.arange(30), (3, 1)), 100.0, (at, at))
    assert (np.diff(deviation) > 0).all()
    assert deviation[0] >= 10.0  # the points' own part: the root of the smoothing


def test_affine_motion_leaves_no_residual():
    c = moving(np.random.default_rng(3), 50, SIMILAR, shift=(300, -50))
    near = neighbors(c.xy0, c.xy0, 13)[:, 1:]
    assert spline_residuals(c.xy0, c.xy1, near, 100.0)[0].max() < 1e-3


def test_neighbours_in_one_line_or_one_place_are_no_trouble():
    line = np.column_stack([np.arange(30.0), np.zeros(30)])
    near = neighbors(line, line, 9)[:, 1:]
    residual, deviation = spline_residuals(line, line + 5.0, near, 100.0)
    assert residual.max() < 1e-3
    assert np.isfinite(deviation).all()
    spot = np.ones((9, 2))
    near = np.array([[j for j in range(9) if j != i] for i in range(9)])
    for found in spline_residuals(spot, spot, near, 100.0):
        assert np.isfinite(found).all()


def test_members_that_are_off_leave():
    rng = np.random.default_rng(4)
    c, (own,) = together(moving(rng, 150, SIMILAR, noise=0.5))
    off = np.arange(0, 150, 15)
    c.xy1[off] += [6.0, 0.0]
    (part,) = refine_parts(c, [own], [])
    assert share(part, off) == 0
    assert share(part, np.setdiff1d(own, off)) > 0.98
    (grown,) = grow_parts(c, [own], [])
    assert np.array_equal(grown, own)


def test_a_sparse_part_that_bends_stays_whole():
    c = bent(np.random.default_rng(10), 40, size=300.0, waves=9.0)
    everyone = np.arange(40)
    (part,) = refine_parts(c, [everyone], [])
    assert len(part) >= 36
    (strict,) = refine_parts(c, [everyone], [], RefinementConfig(spread=0.0))
    assert len(strict) < 30


def test_a_part_grows_over_the_rest_of_its_object_only():
    rng = np.random.default_rng(4)
    c, (own, other, none) = together(
        moving(rng, 150, SIMILAR, noise=0.3),
        moving(rng, 80, similarity(-0.5, 0.9), (300, 0), (300, 0), noise=0.3),
        strangers(rng, 100, size=400),
    )
    seed = own[c.xy0[own, 0] < 60]
    for grow in (grow_parts, refine_parts):
        (grown,) = grow(c, [seed], np.arange(len(c)))
        assert share(grown, seed) > 0.95
        assert share(grown, own) > 0.9
        assert share(grown, other) == 0
        assert share(grown, none) < 0.05


def test_strangers_in_place_do_not_join():
    # their places fit the map, and what they show is turned and of another size
    rng = np.random.default_rng(5)
    own = moving(rng, 100, SIMILAR, size=300.0, noise=0.3)
    amid = moving(rng, 60, SIMILAR, size=300.0, noise=0.3)
    turned = candidates(amid.xy0, amid.xy1, amid.frames0, similarity(2.0, 3.0) @ amid.frames0)
    c, (members, rest) = together(own, turned)
    (grown,) = grow_parts(c, [members], rest)
    assert share(grown, rest) < 0.05
    (grown,) = grow_parts(c, [members], rest, RefinementConfig(close_share=0.0))
    assert share(grown, rest) > 0.9


def test_strangers_do_not_run_away():
    # a few strangers that bend into each other must not take in ever more of them
    rng = np.random.default_rng(6)
    c = strangers(rng, 1500, size=200)
    seed = np.sort(np.argsort(np.linalg.norm(c.xy0 - 100, axis=1) + np.linalg.norm(c.xy1 - 100, axis=1))[:12])
    (grown,) = grow_parts(c, [seed], np.arange(1500))
    assert len(grown) < 100


def test_the_first_part_chooses_first_and_takes_nothing_from_others():
    c = moving(np.random.default_rng(5), 120, SIMILAR, noise=0.3)
    left, right = np.flatnonzero(c.xy0[:, 0] < 60), np.flatnonzero(c.xy0[:, 0] >= 60)
    grown = grow_parts(c, [left, right], np.arange(len(c)))
    assert [list(g) for g in grown] == [list(left), list(right)]
    first, second = grow_parts(c, [left[:-5], right[:-5]], np.arange(len(c)))
    assert set(first) >= set(left)
    assert set(first) & set(second) == set()
    assert grow_parts(c, [], np.arange(len(c))) == refine_parts(c, [], np.arange(len(c))) == []


def test_only_what_is_allowed_joins():
    c = moving(np.random.default_rng(5), 120, SIMILAR, noise=0.3)
    left = np.flatnonzero(c.xy0[:, 0] < 60)
    allowed = np.flatnonzero(c.xy0[:, 0] < 90)
    for grow in (grow_parts, refine_parts):
        (grown,) = grow(c, [left], allowed)
        assert len(grown) > len(left)
        assert set(grown) <= set(allowed)


def test_what_is_out_of_reach_does_not_join():
    c = moving(np.random.default_rng(5), 120, SIMILAR, noise=0.3)
    left, far = np.flatnonzero(c.xy0[:, 0] < 60), np.flatnonzero(c.xy0[:, 0] > 90)
    config = RefinementConfig(reach=20.0, rounds=1)
    (grown,) = grow_parts(c, [left], far, config)
    assert np.array_equal(grown, left)


@pytest.mark.parametrize("magnification", [7.0, 1 / 7])
def test_lengths_count_pixels_of_the_smaller_image(magnification):
    c, size = magnified(magnification, noise=0.3)
    everyone = np.arange(120)
    inner = np.flatnonzero((np.abs(c.xy0 - c.xy0.mean(axis=0)) < size / 3).all(axis=1))
    for grow in (grow_parts, refine_parts):
        (grown,) = grow(c, [inner], everyone)
        assert len(grown) > 110


def test_images_swapped_the_same_parts():
    rng = np.random.default_rng(8)
    c, (own, _) = together(moving(rng, 100, SIMILAR, noise=0.8), strangers(rng, 80, size=150))
    swapped = candidates(c.xy1, c.xy0, c.frames1, c.frames0)
    seed, everyone = own[::2], np.arange(len(c))
    here, there = (refine_parts(x, [seed], everyone)[0] for x in (c, swapped))
    assert np.array_equal(here, there)


@pytest.mark.parametrize("n", range(7))
def test_a_few_members_are_no_trouble(n):
    c = moving(np.random.default_rng(9), 40, SIMILAR, noise=0.3)
    for refine in (grow_parts, refine_parts):
        (part,) = refine(c, [np.arange(n)], np.arange(40))
        assert len(part) >= n if n > 4 else np.array_equal(part, np.arange(n))


def test_better_than_the_affine_check_where_an_object_bends():
    rng = np.random.default_rng(12)
    c = bent(rng, 400, size=250.0, waves=9.0)
    c = candidates(c.xy0, c.xy1 + rng.normal(0, 0.5, c.xy1.shape), c.frames0, c.frames1)
    everyone, off = np.arange(400), np.arange(0, 400, 10)
    c.xy1[off] += rng.choice([-3.2, 3.2], (len(off), 2))
    verified = verify_cluster(c, everyone)
    (refined,) = refine_parts(c, [verified], everyone)
    right = np.setdiff1d(everyone, off)
    assert share(refined, off) < share(verified, off) < 0.2
    assert share(verified, right) < share(refined, right) == 1


@pytest.mark.parametrize("name", ["smoothing", "tolerance", "spread", "most_bend", "reach", "rounds"])
def test_settings_out_of_range(name):
    with pytest.raises(InputError, match=f"{name} must be at least"):
        RefinementConfig(**{name: -1})
    with pytest.raises(InputError, match="n_neighbors must be at least 4"):
        RefinementConfig(n_neighbors=3)
