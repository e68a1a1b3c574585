from dataclasses import replace

import numpy as np
import pytest
from planting import bent, candidates, moving, similarity, strangers, together
from scipy.spatial import cKDTree

from matching import verification
from matching.verification import (
    VerificationConfig,
    affine_residuals,
    frame_residuals,
    verify_cluster,
)


def neighbors(x, k):
    return cKDTree(x).query(x, k + 1)[1][:, 1:]


@pytest.mark.parametrize("linear", [np.eye(2), similarity(1.2, 0.6), [[1.5, 0.5], [-0.2, 0.8]]])
def test_exact_affine_motion_leaves_no_residual(linear):
    c = moving(np.random.default_rng(0), 80, np.array(linear), shift=(300, -50))
    near = neighbors(c.xy0, 12)
    # the ridge that steadies neighbours in one line costs a small part of the neighbours' offset
    assert affine_residuals(c.xy0, c.xy1, near, 2.5).max() < 0.5
    assert np.median(affine_residuals(c.xy0, c.xy1, near, 2.5)) < 0.1


def test_residual_is_how_far_a_planted_outlier_is_off():
    c = moving(np.random.default_rng(1), 100, similarity(0.5, 1.2))
    wrong = np.arange(0, 100, 10)
    xy1 = c.xy1.copy()
    xy1[wrong] += [30.0, 40.0]
    residual = affine_residuals(c.xy0, xy1, neighbors(c.xy0, 12), 2.5)
    assert np.allclose(residual[wrong], 50, atol=2)
    assert np.mean(np.delete(residual, wrong) < 1) > 0.95  # outliers among the neighbours hardly matter


def test_residuals_of_points_that_are_not_among_the_neighbours():
    c = moving(np.random.default_rng(2), 60, similarity(-0.4, 0.9), shift=(20, 20))
    own0, own1 = c.xy0[:20], c.xy1[:20] + np.array([0.0, 7.0])
    rest0, rest1 = c.xy0[20:], c.xy1[20:]
    near = cKDTree(rest0).query(own0, 12)[1]
    assert np.allclose(affine_residuals(rest0, rest1, near, 2.5, (own0, own1)), 7, atol=0.7)


def test_neighbours_in_one_line_are_no_trouble():
    x = np.column_stack([np.arange(30.0), np.zeros(30)])
    residual = affine_residuals(x, x + np.array([5, 5]), neighbors(x, 12), 2.5)
    assert np.isfinite(residual).all()
    assert residual.max() < 0.5


def test_frame_residuals_are_the_definition():
    rng = np.random.default_rng(3)
    n, k, share = 25, 9, 0.3
    x, y = rng.uniform(0, 100, (2, n, 2))
    maps = np.eye(2) + rng.normal(0, 0.2, (n, 2, 2))
    near = neighbors(x, k)
    for i, found in enumerate(frame_residuals(x, y, maps, near, share)):
        errors = sorted(np.linalg.norm(y[i] - (y[j] + maps[j] @ (x[i] - x[j]))) for j in near[i])
        assert found == pytest.approx(errors[int(share * k)])


def test_an_object_passes_whole():
    c = moving(np.random.default_rng(4), 120, similarity(0.8, 1.3), shift=(200, 0), noise=0.3)
    members = np.arange(len(c))
    kept = verify_cluster(c, members)
    assert set(kept) <= set(members)
    assert len(kept) > 0.95 * len(c)


def test_strangers_inside_a_cluster_are_left_out():
    rng = np.random.default_rng(5)
    own = moving(rng, 120, similarity(0.3, 1.1), shift=(50, 80), noise=0.3)
    away = moving(rng, 40, similarity(0.3, 1.1), shift=(50, 80))
    away = candidates(away.xy0, away.xy1 + rng.choice([-60, 60], (40, 2)), away.frames0, away.frames1)
    c, (true, false) = together(own, away)
    kept = verify_cluster(c, np.arange(len(c)))
    assert np.isin(true, kept).mean() > 0.9
    assert np.isin(false, kept).mean() < 0.1


def test_nothing_in_common_leaves_nothing():
    c = strangers(np.random.default_rng(6), 200)
    assert len(verify_cluster(c, np.arange(200))) < 10


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_too_few_to_tell(n):
    c = moving(np.random.default_rng(7), 20, np.eye(2))
    assert len(verify_cluster(c, np.arange(n))) == 0


def test_both_directions_alike():
    rng = np.random.default_rng(8)
    own = moving(rng, 100, similarity(-0.6, 0.7), noise=1.0)
    c, _ = together(own, strangers(rng, 30, size=120))
    swapped = candidates(c.xy1, c.xy0, c.frames1, c.frames0)
    members = np.arange(len(c))
    assert np.array_equal(verify_cluster(c, members), verify_cluster(swapped, members))


@pytest.mark.parametrize("magnification", [6.0, 1 / 6])
def test_tolerance_follows_the_magnification(magnification):
    # a pixel of the smaller picture is several of the larger one
    rng = np.random.default_rng(9)
    size = 80 / min(magnification, 1.0)
    c = moving(rng, 120, similarity(0.1, magnification), size=size, noise=0.7 * max(magnification, 1.0))
    if magnification < 1:
        c = candidates(c.xy0 + rng.normal(0, 0.7 / magnification, c.xy0.shape), c.xy1, c.frames0, c.frames1)
    assert len(verify_cluster(c, np.arange(len(c)))) > 0.85 * len(c)


def test_a_point_is_not_its_own_neighbour_where_points_coincide():
    x = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 4, axis=0)
    near = verification.nearest_others(x, 6)
    assert near.shape == (12, 6)
    assert not (near == np.arange(12)[:, None]).any()


def test_far_neighbours_may_be_off_by_more():
    c = bent(np.random.default_rng(10), 40, waves=8.0)
    everyone = np.arange(40)
    assert len(verify_cluster(c, everyone)) > 35
    assert len(verify_cluster(c, everyone, VerificationConfig(slope=0.0))) < 25
    assert len(verify_cluster(c, everyone, VerificationConfig(most_tolerance=3.0))) < 25


def test_frames_of_far_neighbours_may_predict_worse():
    c = bent(np.random.default_rng(10), 30, size=300.0, waves=9.0)
    frames_only = VerificationConfig(tolerance=1e9)
    assert len(verify_cluster(c, np.arange(30), frames_only)) == 30
    assert len(verify_cluster(c, np.arange(30), replace(frames_only, frame_slope=0.0))) < 25
    assert len(verify_cluster(c, np.arange(30), replace(frames_only, most_frame_tolerance=15.0))) < 25


def affine_residuals_by_definition(x, y, near, scale, from_, to, iterations=5):
    """Each correspondence by itself, in NumPy's words."""
    out = []
    for i, j in enumerate(near):
        u, v = x[j] - from_[i], y[j] - to[i]  # (k, 2)
        design = np.column_stack([u / (np.sqrt((u**2).sum(axis=1).mean()) + 1e-9), np.ones(len(u))])
        weight = np.ones(len(u))
        for _ in range(iterations):
            normal = design.T @ np.diag(weight) @ design + np.diag([1e-2, 1e-2, 1e-6])
            fitted = np.linalg.solve(normal, design.T @ np.diag(weight) @ v)  # (3, 2)
            residual = np.linalg.norm(v - design @ fitted, axis=1)
            weight = 1 / (1 + (residual / max(scale, np.median(residual))) ** 2)
        out.append(np.linalg.norm(fitted[2]))
    return np.array(out)


@pytest.mark.parametrize("k", [3, 5, 10])
def test_affine_residuals_are_those_of_the_definition(k):
    rng = np.random.default_rng(k)
    x = rng.uniform(0, 100, (60, 2))
    y = x @ rng.normal(size=(2, 2)) + rng.normal(scale=3, size=(60, 2))
    x[10:20] = np.linspace(0, 50, 10)[:, None]  # in one line
    near = neighbors(x, k)
    own = rng.uniform(0, 100, (2, 60, 2))
    for from_, to in ((x, y), own):
        fast = affine_residuals(x, y, near, 2.0, (from_, to))
        assert np.allclose(fast, affine_residuals_by_definition(x, y, near, 2.0, from_, to), atol=1e-8)
