import numpy as np
import pytest
from planting import bent, candidates, geometry, magnified, moving, share, similarity, strangers, together
from scipy.interpolate import RBFInterpolator
from scipy.spatial import cKDTree

from matching.grouping.graph import GraphConfig
from matching.grouping.groups import Part
from matching.grouping.smooth_map import (
    SmoothMapConfig,
    _Joining,
    _Map,
    refine_parts,
    spline_residuals,
)

SIMILAR = similarity(0.3, 1.1)


BEND = 0.06  # of objects that bend


def refined(c, objects, free, config=SmoothMapConfig(), bend=BEND):
    parts = [Part(rows, bend) for rows in objects]
    return [part.rows for part in refine_parts(geometry(c), parts, free, config, GraphConfig())]


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


@pytest.mark.parametrize("extent", [200.0, 20_000.0, 170_000.0])
@pytest.mark.parametrize("smoothing", [1e-9, 1e-3, 1.0])
def test_points_that_nearly_coincide_are_no_trouble(extent, smoothing):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, extent, (30, 2))
    x = np.vstack([x, x + rng.normal(0, 0.01, x.shape)])
    y = x @ similarity(0.3, 1.1).T
    near = cKDTree(x).query(x, 13)[1][:, 1:]
    residual, deviation = spline_residuals(x, y, near, smoothing)
    assert np.isfinite(deviation).all()
    assert residual.max() < 1e-5 * extent


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
    (part,) = refined(c, [own], [])
    assert share(part, off) == 0
    assert share(part, np.setdiff1d(own, off)) > 0.98


def test_a_sparse_part_that_bends_stays_whole():
    c = bent(np.random.default_rng(10), 40, size=300.0, waves=9.0)
    everyone = np.arange(40)
    (part,) = refined(c, [everyone], [])
    assert len(part) >= 36
    (strict,) = refined(c, [everyone], [], SmoothMapConfig(tolerance=1.0))
    assert len(strict) < 30


def test_a_rigid_object_takes_less_than_one_that_bends():
    """Matches behind a gap of 30 px that are off by 8: so far may one be off that bends, not a rigid one."""
    c = moving(np.random.default_rng(4), 400, np.eye(2), size=200.0, noise=0.2)
    flat, beyond = np.flatnonzero(c.xy0[:, 0] < 120), np.flatnonzero(c.xy0[:, 0] > 150)
    c.xy1[beyond, 1] += 8.0
    (rigid,), (bending,) = (refined(c, [flat], beyond, bend=bend) for bend in (1e-4, BEND))
    assert share(bending, beyond) > 0.95
    assert share(rigid, beyond) == 0
    (largest,) = refined(c, [flat], beyond, SmoothMapConfig(largest_bend=1e-4), bend=BEND)
    assert np.array_equal(largest, rigid)


def test_what_left_comes_back_once_what_misled_it_is_gone():
    """Around an outlier far off, its neighbours are predicted badly: they leave with it, and join again."""
    c = moving(np.random.default_rng(11), 60, SIMILAR, noise=0.3)
    off = int(np.argmin(np.linalg.norm(c.xy0 - 50, axis=1)))
    c.xy1[off] += [200.0, 0.0]
    (part,) = refined(c, [np.arange(60)], [])
    assert np.array_equal(part, np.setdiff1d(np.arange(60), off))


def test_a_part_grows_over_the_rest_of_its_object_only():
    rng = np.random.default_rng(4)
    c, (own, other, none) = together(
        moving(rng, 150, SIMILAR, noise=0.3),
        moving(rng, 80, similarity(-0.5, 0.9), (300, 0), (300, 0), noise=0.3),
        strangers(rng, 100, size=400),
    )
    seed = own[c.xy0[own, 0] < 60]
    (grown,) = refined(c, [seed], np.arange(len(c)))
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
    (grown,) = refined(c, [members], rest)
    assert share(grown, rest) < 0.1
    (grown,) = refined(c, [members], rest, SmoothMapConfig(agreeing=0.0))
    assert share(grown, rest) > 0.9


def test_mirrored_matches_in_place_do_not_join():
    rng = np.random.default_rng(5)
    own, amid = (moving(rng, n, SIMILAR, size=300.0, noise=0.3) for n in (100, 60))
    turned = candidates(amid.xy0, amid.xy1, amid.frames0, amid.frames1 @ np.diag([-1.0, 1.0]))
    c, (members, rest) = together(own, turned)
    (grown,) = refined(c, [members], rest, SmoothMapConfig(agreeing=0.0))
    assert share(grown, rest) == 0
    (grown,) = refined(c, [rest], members, SmoothMapConfig(agreeing=0.0))
    assert share(grown, members) == 0


def test_strangers_do_not_run_away():
    # a few strangers that bend into each other must not take in ever more of them
    rng = np.random.default_rng(6)
    c = strangers(rng, 1500, size=200)
    seed = np.sort(np.argsort(np.linalg.norm(c.xy0 - 100, axis=1) + np.linalg.norm(c.xy1 - 100, axis=1))[:12])
    (grown,) = refined(c, [seed], np.arange(1500))
    assert len(grown) < 100


def test_the_first_part_chooses_first_and_takes_nothing_from_others():
    c = moving(np.random.default_rng(5), 120, SIMILAR, noise=0.3)
    left, right = np.flatnonzero(c.xy0[:, 0] < 60), np.flatnonzero(c.xy0[:, 0] >= 60)
    first, second = refined(c, [left[:-5], right[:-5]], np.arange(len(c)))
    assert len(first) > len(left) - 5 < len(second) + 5
    assert set(first) & set(second) == set()
    assert refined(c, [], np.arange(len(c))) == []


def test_only_what_is_allowed_joins():
    c = moving(np.random.default_rng(5), 120, SIMILAR, noise=0.3)
    left = np.flatnonzero(c.xy0[:, 0] < 60)
    allowed = np.flatnonzero(c.xy0[:, 0] < 90)
    (grown,) = refined(c, [left], allowed)
    assert len(grown) > len(left)
    assert set(grown) <= set(allowed)


@pytest.mark.parametrize("magnification", [7.0, 1 / 7])
def test_lengths_count_pixels_of_the_smaller_image(magnification):
    c, size = magnified(magnification, noise=0.3)
    everyone = np.arange(120)
    inner = np.flatnonzero((np.abs(c.xy0 - c.xy0.mean(axis=0)) < size / 3).all(axis=1))
    (grown,) = refined(c, [inner], everyone)
    assert len(grown) > 110


def test_images_swapped_the_same_parts():
    rng = np.random.default_rng(8)
    c, (own, _) = together(moving(rng, 100, SIMILAR, noise=0.8), strangers(rng, 80, size=150))
    swapped = candidates(c.xy1, c.xy0, c.frames1, c.frames0)
    seed, everyone = own[::2], np.arange(len(c))
    here, there = (refined(x, [seed], everyone)[0] for x in (c, swapped))
    assert np.array_equal(here, there)


@pytest.mark.parametrize("n", range(7))
def test_a_few_members_are_no_trouble(n):
    c = moving(np.random.default_rng(9), 40, SIMILAR, noise=0.3)
    (part,) = refined(c, [np.arange(n)], np.arange(40))
    assert len(part) >= n if n > 4 else np.array_equal(part, np.arange(n))


@pytest.mark.parametrize("n_members", [8, 300])
def test_what_is_kept_from_round_to_round_is_what_would_be_found_anew(n_members):
    rng = np.random.default_rng(5)
    c, config = bent(rng, 600), SmoothMapConfig()
    kept = _Map(c.xy0, c.xy1, config, BEND)
    for _ in range(6):  # a few members come and go
        members = np.sort(rng.permutation(600)[:n_members])
        for _ in range(4):
            anew = _Map(c.xy0, c.xy1, config, BEND)
            others = np.setdiff1d(np.arange(600), members)
            for asked in (members, others):
                kept.set_members(members, asked)
                anew.set_members(members, asked)
                for ours, theirs in zip(kept.predict(asked), anew.predict(asked), strict=True):
                    np.testing.assert_array_equal(ours, theirs)
            members = np.sort(np.concatenate([rng.permutation(members)[2:], rng.permutation(others)[:3]]))


def test_what_joins_is_within_reach_of_one_match_in_both_images():
    c = bent(np.random.default_rng(5), 60)
    shift = c.xy1[50] - c.xy0[50]
    c.xy0[50], c.xy0[51] = (500, 0), (510, 0)  # away from the others
    c.xy1[50:52] = c.xy0[50:52] + shift
    members = np.arange(51)
    for reach in (11.0, 10.0):
        config = SmoothMapConfig(reach=reach, agreeing=0, tolerance=1e9)
        maps = tuple(_Map(x, y, config, BEND) for x, y in ((c.xy0, c.xy1), (c.xy1, c.xy0)))
        joining = _Joining(geometry(c), maps, GraphConfig())
        assert joining.find(members, np.array([51])).tolist() == ([51] if reach > 10 else [])
