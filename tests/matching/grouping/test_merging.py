"""Merging of parts: the fast formulas against the definition, and what they decide."""

import numpy as np
import pytest
from planting import bent, geometry, moving, similarity, together
from scipy.stats import multivariate_normal

from matching.correspondences.correspondences import Correspondences
from matching.correspondences.points import spread_out
from matching.grouping._kernels import fit_random_field
from matching.grouping.config import MatchConfig
from matching.grouping.merging import (
    MIN_LANDMARKS,
    MergingConfig,
    MergingRules,
    _find_evidence,
    _spread,
    choose_landmarks,
    compare_parts,
    measure_part,
    measure_roughness,
    merge_parts,
)
from matching.grouping.smooth_map import SmoothMapConfig

ACCURACY = SmoothMapConfig().accuracy


def covariance(x, bends, noise):
    """K by its definition."""
    r = np.linalg.norm(x[:, None] - x, axis=2)
    return bends * np.where(r > 0, r**2 * np.log(np.where(r > 0, r, 1.0)), 0.0) + noise * np.eye(len(x))


def restricted_by_definition(x, y, bends, noise):
    """y^T P y and log|K| + log|T^T K^-1 T| from orthonormal contrasts: log|C^T K C| + log|T^T T|."""
    drift = np.column_stack([np.ones(len(x)), x])
    contrasts = np.linalg.qr(drift, mode="complete")[0][:, 3:]
    of_contrasts = contrasts.T @ covariance(x, bends, noise) @ contrasts
    z = contrasts.T @ y
    volume = np.linalg.slogdet(of_contrasts)[1] + np.linalg.slogdet(drift.T @ drift)[1]
    return (z * np.linalg.solve(of_contrasts, z)).sum(), 2 * volume


@pytest.mark.parametrize(("bends", "noise"), [(1e-5, 0.1), (0.002, 0.3), (0.04, 2.0)])
def test_restricted_likelihood_is_the_definition(bends, noise):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 300, (30, 2)) + 1000, rng.uniform(0, 300, (30, 2))
    found = fit_random_field(x, y, bends, noise)
    np.testing.assert_allclose(found, restricted_by_definition(x, y, bends, noise), rtol=1e-6)


def test_evidence_is_the_ratio_of_two_densities():
    """One object: the six contrasts between the parts are normal, given those inside. Two: any motion."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 200, (20, 2)), rng.uniform(0, 200, (20, 2))
    bends, noise, config = 0.003, 0.4, MergingConfig(inflation=1.0)

    def log_density(rows):
        drift = np.column_stack([np.ones(len(rows)), x[rows]])
        contrasts = np.linalg.qr(drift, mode="complete")[0][:, 3:]
        spread = contrasts.T @ covariance(x[rows], bends, noise) @ contrasts
        found = sum(multivariate_normal.logpdf(contrasts.T @ y[rows, c], cov=spread) for c in (0, 1))
        return found - np.linalg.slogdet(drift.T @ drift)[1]

    a, b = np.arange(12), np.arange(12, 20)
    expected = log_density(np.arange(20)) - log_density(a) - log_density(b) + 2 * np.log(1400)
    found = _find_evidence((x[a], y[a]), (x[b], y[b]), bends, noise, config, 1400.0, 0.0)
    assert found == pytest.approx(expected)
    wider = _find_evidence((x[a], y[a]), (x[b], y[b]), bends, noise, config, 2800.0, 0.0)
    assert wider == pytest.approx(found + 2 * np.log(2))


def landmarks(c, members, degrees=None):
    members = np.asarray(members)
    degrees = np.ones(len(members)) if degrees is None else degrees
    return choose_landmarks(geometry(c), members, degrees, MergingConfig(), ACCURACY)


def test_roughness_tells_what_bends():
    rng = np.random.default_rng(2)
    rigid = moving(rng, 300, similarity(0.3, 1.1), size=200.0, noise=0.3)
    wavy = bent(rng, 300, size=200.0, waves=8.0)
    found = [measure_roughness(geometry(c), landmarks(c, np.arange(300)), ACCURACY) for c in (rigid, wavy)]
    assert found[0].bend < 0.005 < 0.03 < found[1].bend
    assert 0.2 < found[0].accuracy < 0.7


def test_few_landmarks_count_as_rigid():
    c = moving(np.random.default_rng(3), MIN_LANDMARKS - 1, np.eye(2))
    found = measure_roughness(geometry(c), np.arange(MIN_LANDMARKS - 1), ACCURACY)
    assert found.accuracy == ACCURACY and 0 < found.bend < 1e-3 * ACCURACY


def test_landmarks_are_supported_spread_out_and_no_outliers():
    rng = np.random.default_rng(4)
    c = moving(rng, 200, similarity(0.3, 1.1), size=200.0, noise=0.2)
    off = np.array([20, 40, 60])
    c.xy1[off] += [0.0, 25.0]
    degrees = np.where(np.arange(200) < 120, 2.0, 1.0)
    degrees[:5] = 0.0  # not in the graph
    found = landmarks(c, np.arange(200), degrees)
    assert 16 <= len(found) <= 24
    assert set(found) <= set(range(5, 120)) - set(off)
    assert np.ptp(c.xy0[found], axis=0).min() > 150


def test_points_are_spread_out_from_the_farthest():
    x = np.array([[0.0, 0], [1, 0], [10, 0], [5, 0], [9, 0]])
    assert spread_out(x, 3).tolist() == [0, 2, 3]  # 0 and 10 are as far from the middle, 5
    assert sorted(spread_out(x, 9)) == [0, 1, 2, 3, 4]


def merged(c, *parts, config=MergingConfig()):
    chosen = [landmarks(c, part) for part in parts]
    return merge_parts(geometry(c), parts, chosen, MergingRules(config, SmoothMapConfig()))


@pytest.mark.parametrize(("turn", "n"), [(0.0, 1), (0.2, 2), (0.4, 2)])
def test_rigid_parts_are_one_object_only_as_long_as_they_move_as_one(turn, n):
    rng = np.random.default_rng(5)
    c, parts = together(
        moving(rng, 100, np.eye(2), start=(0, 0), size=100.0, noise=0.2),
        moving(rng, 100, similarity(turn, 1.0), start=(150, 0), shift=(150, 0), size=100.0, noise=0.2),
    )
    labels, own = merged(c, *parts)
    assert len(np.unique(labels)) == n
    assert set(own[0]) <= set(parts[0]) | (set(parts[1]) if n == 1 else set())


@pytest.mark.parametrize(
    ("motion", "far", "crease", "n"),
    [
        (9, False, 1.0, 2),
        (9, True, 1.0, 1),
        (11, False, 1e9, 2),
        (11, True, 1e9, 1),
        (11, True, 1.0, 2),  # the gap is too wide for a crease
    ],
)
def test_a_small_motion_is_much_in_small_pictures(motion, far, crease, n):
    """What moves on its own may move as far as the pictures reach: in large ones, a few pixels are a bend."""
    rng = np.random.default_rng(5)
    more = [moving(rng, 1, np.eye(2), start=(9000, 9000), size=1.0)] if far else []
    c, parts = together(
        moving(rng, 100, np.eye(2), start=(0, 0), size=70.0, noise=0.5),
        moving(rng, 100, np.eye(2), start=(100, 0), shift=(100 + motion, 0), size=70.0, noise=0.5),
        *more,
    )
    labels, _ = merged(c, *parts[:2], config=MergingConfig(crease=crease))
    assert len(np.unique(labels)) == n


@pytest.mark.parametrize(("motion", "n"), [(0, 1), (20, 2)])
def test_ends_of_narrow_print_are_one_object_although_landmarks_are_far_apart(motion, n):
    rng, size = np.random.default_rng(8), np.array([200.0, 30.0])
    c, parts = together(
        moving(rng, 60, np.eye(2), start=(0, 0), shift=(0, 0), size=size, noise=0.2),
        moving(rng, 60, np.eye(2), start=(380, 0), shift=(380, motion), size=size, noise=0.2),
    )
    labels, _ = merged(c, *parts)
    assert len(np.unique(labels)) == n


def test_parts_with_a_wide_gap_are_not_compared():
    rng = np.random.default_rng(8)
    c, parts = together(
        moving(rng, 60, np.eye(2), start=(0, 0), shift=(0, 0), noise=0.2),
        moving(rng, 60, np.eye(2), start=(500, 0), shift=(500, 0), noise=0.2),
    )
    for gap, n in ((1000.0, 1), (100.0, 2)):
        assert len(np.unique(merged(c, *parts, config=MergingConfig(part_gap=gap))[0])) == n


def test_parts_that_bend_may_be_bent_against_each_other():
    c = bent(np.random.default_rng(6), 600, size=300.0, waves=8.0)
    left, right = np.flatnonzero(c.xy0[:, 0] < 120), np.flatnonzero(c.xy0[:, 0] > 180)
    assert merged(c, left, right)[0].tolist() == [0, 0]


def test_what_bends_enough_to_explain_anything_glues_nothing():
    """Two rigid things that moved apart, and between them matches in which nothing agrees."""
    rng = np.random.default_rng(7)
    c, parts = together(
        moving(rng, 100, np.eye(2), start=(0, 0), size=100.0, noise=0.2),
        moving(rng, 20, np.eye(2), start=(100, 0), shift=(110, 0), size=60.0, noise=12.0),
        moving(rng, 100, similarity(0.2, 1.0), start=(160, 0), shift=(180, 0), size=100.0, noise=0.2),
    )
    labels, _ = merged(c, *parts)
    assert labels[0] != labels[2]


@pytest.mark.parametrize("noise", [3.0, 8.0])
def test_a_part_that_is_not_smooth_is_merged_with_none(noise):
    """Its matches are on average next to where one map takes them, and no map tells where each is."""
    rng = np.random.default_rng(8)
    c, parts = together(
        moving(rng, 200, np.eye(2), start=(0, 0), size=100.0, noise=noise),
        moving(rng, 200, np.eye(2), start=(130, 0), shift=(130, 0), size=100.0, noise=0.2),
    )
    assert merged(c, *parts)[0].tolist() == [0, 1]


def test_evidence_is_averaged_over_how_much_more_an_object_may_bend():
    rng = np.random.default_rng(10)
    x, y = rng.uniform(0, 200, (2, 24, 2))
    parts = (x[:12], y[:12]), (x[12:], y[12:] + 300)

    def evidence(inflation, far=0.0):
        return _find_evidence(*parts, 0.5, 30.0, MergingConfig(inflation=inflation), 1400.0, far)

    once, twice = evidence(1.0), evidence(2.0)
    joint = x, np.vstack([parts[0][1], parts[1][1]])
    whole, *apart = (fit_random_field(*points, 0.5, 30.0)[0] for points in (joint, *parts))
    square = whole - sum(apart)
    more = once + square / 2 * (1 - 1 / 4) - 6 * np.log(2)
    assert twice == pytest.approx(np.logaddexp(once, more) - np.log(2))
    assert evidence(3.9) == twice < evidence(4.0)
    crease = np.exp(-(1.5**2) / 2) / 2  # the probability of the stronger bend
    expected = np.logaddexp(once + np.log1p(-crease), more + np.log(crease))
    assert evidence(2.0, far=1.5) == pytest.approx(expected)
    assert evidence(1.0, far=1.5) == once
    assert evidence(4.0, far=100.0) == pytest.approx(once)
    wide = _find_evidence(*parts, 0.5, 30.0, MergingConfig(inflation=2.0, crease=1e9), 1400.0, 4.5)
    assert wide == pytest.approx(twice)


@pytest.mark.parametrize("line", [[[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 0.0]]])
def test_landmarks_on_a_line_fix_no_map_and_are_merged_with_nothing(line):
    rng = np.random.default_rng(11)
    c = moving(rng, 60, np.eye(2), size=200.0, noise=0.2)
    c.xy0[40:] = c.xy1[40:] = 100.0 + np.arange(20.0)[:, None] * line
    c = geometry(c)
    parts = [np.arange(40), np.arange(40, 60)]
    labels, _ = merge_parts(c, parts, parts, MatchConfig().merging_rules)
    assert labels.tolist() == [0, 1]


@pytest.mark.parametrize("width", [1e-13, 1e-9, 0.03, 1.0])
def test_the_evidence_of_nearly_straight_parts_is_a_number(width):
    rng = np.random.default_rng(12)
    c = moving(rng, 60, np.eye(2), size=200.0, noise=0.2)
    c.xy1[40:] = np.column_stack([300 + 6.0 * np.arange(20), 3600 + width * rng.normal(size=20)])
    c.xy0[40:] = c.xy1[40:] + rng.normal(0, 0.2, (20, 2))
    c, rules = geometry(c), MatchConfig(merging=MergingConfig(part_gap=1e9)).merging_rules
    rows = np.arange(40), np.arange(40, 60)
    parts = [measure_part(c, part, part, rules.smooth_map) for part in rows]
    evidence = compare_parts(c, *parts, rules)
    assert evidence is None if width < 0.01 else np.isfinite(evidence)


def test_mirrored_parts_and_others_stay_apart():
    rng = np.random.default_rng(8)
    c = moving(rng, 100, np.eye(2), size=200.0, noise=0.2)
    maps = np.where((c.xy0[:, 0] < 100)[:, None, None], np.eye(2), np.diag([-1.0, 1.0]))
    c = Correspondences(c.xy0, c.xy1, maps)
    parts = [np.flatnonzero(c.xy0[:, 0] < 100), np.flatnonzero(c.xy0[:, 0] >= 100)]
    labels, _ = merge_parts(c, parts, parts, MatchConfig().merging_rules)
    assert labels.tolist() == [0, 1]


def test_no_part_and_one_part():
    c = moving(np.random.default_rng(9), 50, np.eye(2))
    assert merged(c)[0].tolist() == []
    assert merged(c, np.arange(50))[0].tolist() == [0]


def test_the_spread_of_points_is_the_mean_of_their_deviations():
    x = np.random.default_rng(13).normal(0, (30.0, 10.0), (2000, 2))
    assert _spread(x + 500) == pytest.approx(np.sqrt(300), rel=0.02)
