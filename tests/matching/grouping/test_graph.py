import math

import numpy as np
import pytest
from planting import (
    bent,
    candidates,
    distances_of,
    geometry,
    moving,
    random_frames,
    similarity,
    strangers,
    together,
)

from matching.correspondences.distances import acc_neighbors
from matching.grouping.graph import (
    GraphConfig,
    build_graph,
    edge_weights,
    fit_local_maps,
    fit_maps,
)


def coarse(c, noise, rng):
    """The same correspondences with maps that are off by a normal error, as those of single features are."""
    linear = c.maps + rng.normal(0, noise, c.maps.shape)
    return geometry(candidates(c.xy0, c.xy1, c.frames0, linear @ c.frames0))


@pytest.mark.parametrize("magnification", [1.0, 3.0, 0.25])
def test_weights_are_the_definition(magnification):
    rng = np.random.default_rng(0)
    c, _ = together(moving(rng, 40, similarity(0.3, magnification), noise=2.0), strangers(rng, 30))
    c = geometry(c)
    knn = acc_neighbors(c, 9)
    weights = edge_weights(c, knn, 6.0, 0.15)
    for i in (0, 17, 39, 55):
        for k, j in enumerate(knn.indices[i]):
            unit = math.sqrt(c.growth[i] * c.growth[j])
            unit = max(unit, 1 / unit)
            gap = max(math.dist(xy[i], xy[j]) for xy in (c.xy0, c.xy1)) / unit
            distance = knn.distances[i, k] / ((1 + unit) / 2)
            sigma2 = 6.0**2 + (0.15 * gap) ** 2
            expected = 6.0 / math.sqrt(sigma2) * math.exp(-(distance**2) / sigma2)
            assert weights[i, k] == pytest.approx(expected)
    assert ((weights >= 0) & (weights <= 1)).all()


def test_beyond_the_reach_edges_have_no_weight():
    c = geometry(moving(np.random.default_rng(1), 60, np.eye(2), size=300.0))
    knn = acc_neighbors(c, 20)
    near = edge_weights(c, knn, 6.0, 0.15, reach=50.0)
    gap = np.max([np.linalg.norm(xy[:, None] - xy[knn.indices], axis=2) for xy in (c.xy0, c.xy1)], axis=0)
    assert ((near > 0) == (gap <= 50)).all()
    assert np.array_equal(near[near > 0], edge_weights(c, knn, 6.0, 0.15)[near > 0])


def test_mirrored_matches_and_others_have_no_edges():
    """Near the axis of a reflection both move alike."""
    rng = np.random.default_rng(9)
    xy = rng.uniform(0, 40, (30, 2))
    plain = moving(rng, 30, np.eye(2), size=40)
    c, _ = together(plain, candidates(xy, xy * [-1, 1], plain.frames0, np.diag([-1.0, 1.0]) @ plain.frames0))
    knn = acc_neighbors(geometry(c), 40)
    weights = edge_weights(geometry(c), knn, 30.0, 0.15)
    across = (knn.indices >= 30) != (np.arange(60) >= 30)[:, None]
    assert across.any()
    assert (weights[across] == 0).all()
    assert (weights[~across] > 0).mean() > 0.9


def test_fitted_maps_solve_the_robust_normal_equations():
    """Iteratively reweighted least squares with a ridge, written with NumPy's solver."""
    rng = np.random.default_rng(2)
    c = coarse(bent(rng, 50), 0.1, rng)
    knn, config = acc_neighbors(c, 12), GraphConfig()
    weights = edge_weights(c, knn, 12.0, 0.3)
    fitted = fit_local_maps(c, knn, weights, config, np.arange(len(c)))
    for i in (0, 20, 49):
        unit0, unit1 = max(1 / c.growth[i], 1.0), max(c.growth[i], 1.0)
        j = knn.indices[i]
        u, v = (c.xy0[j] - c.xy0[i]) / unit0, (c.xy1[j] - c.xy1[i]) / unit1
        own = c.maps[i] * unit0 / unit1
        design, robust = np.column_stack([u, np.ones(len(j))]), np.ones(len(j))
        ridge = (6.0 / 0.3) ** 2  # points are off by 6 pixels, maps of features by 0.3 a pixel
        for _ in range(config.rounds):
            w = weights[i] * robust
            normal = design.T @ (w[:, None] * design) + np.diag([ridge, ridge, 1.0])
            change = np.linalg.solve(normal, design.T @ (w[:, None] * (v - u @ own.T)))
            residual = v - u @ own.T - design @ change
            robust = 1 / (1 + (residual**2).sum(axis=1) / config.scale**2)
        assert fitted.maps[i] == pytest.approx((own + change[:2].T) * unit1 / unit0, abs=1e-9)


def test_where_nothing_agrees_the_own_maps_stay():
    c = geometry(strangers(np.random.default_rng(4), 200, size=3000.0))
    knn = acc_neighbors(c, 10)
    fitted = fit_local_maps(c, knn, np.zeros(knn.indices.shape), GraphConfig(), np.arange(len(c)))
    assert fitted.maps == pytest.approx(c.maps)


def test_maps_that_would_turn_over_stay():
    rng = np.random.default_rng(5)
    xy0 = rng.uniform(0, 1000, (30, 2))
    frames = random_frames(rng, 30)
    c = geometry(candidates(xy0, xy0 * [-1.0, 1.0], frames, frames))
    knn = acc_neighbors(c, 20)
    fitted = fit_local_maps(c, knn, np.ones(knn.indices.shape), GraphConfig(), np.arange(len(c)))
    assert fitted.maps == pytest.approx(c.maps)


def test_matches_of_one_object_come_nearer_and_others_do_not():
    rng = np.random.default_rng(6)
    c, (own, none) = together(bent(rng, 150), strangers(rng, 150))
    c = coarse(c, 0.12, rng)
    graph = build_graph(c, 20, GraphConfig())
    weight = np.bincount(np.repeat(np.arange(300), 20), graph.affinities.weights) / 20
    first = edge_weights(c, acc_neighbors(c, 20, nearness=1 / 128), 6.0, 0.15).mean(axis=1)
    assert weight[own].mean() > 1.3 * first[own].mean()
    assert weight[none].mean() < 0.1 * weight[own].mean()
    assert np.isin(graph.knn.indices[own], own).mean() > 0.9


def test_without_rounds_the_graph_is_that_of_the_features():
    rng = np.random.default_rng(7)
    c = geometry(bent(rng, 60))
    graph = build_graph(c, 10, GraphConfig(rounds=0))
    own = acc_neighbors(c, 10, nearness=1 / 128)
    assert np.array_equal(graph.knn.indices, own.indices)
    assert np.array_equal(graph.affinities.weights, edge_weights(c, own, 12.0, 0.3).ravel())


def test_what_others_support_has_weight_in_the_first_graph():
    rng = np.random.default_rng(12)
    c, (own, none) = together(moving(rng, 60, similarity(0.3), noise=0.5), strangers(rng, 120))
    c = geometry(c)
    knn = acc_neighbors(c, 20, nearness=1 / 128)
    weights = edge_weights(c, knn, 12.0, 0.3)
    support = weights.mean(axis=1)
    maps = fit_local_maps(c, knn, weights, GraphConfig(), np.arange(len(c))).maps
    assert support[own].min() > 0.5 > np.median(support[none])
    for least in (0.0, *np.sort(support)[[0, 1, 90, 179]]):  # one that has just that much stays
        rows, fitted = fit_maps(c, 20, GraphConfig(), min_degree=least)
        assert np.array_equal(rows, np.flatnonzero(support >= least))
        assert fitted.maps.tobytes() == maps[rows].tobytes()
        assert np.array_equal(fitted.xy1, c.xy1[rows])
        same, unfitted = fit_maps(c, 20, GraphConfig(rounds=0), min_degree=least)
        assert np.array_equal(same, rows) and np.array_equal(unfitted.maps, c.maps[rows])


def test_swapped_images_the_same_graph():
    rng = np.random.default_rng(9)
    c = bent(rng, 80)
    here, there = geometry(c), geometry(candidates(c.xy1, c.xy0, c.frames1, c.frames0))
    weights = [edge_weights(x, acc_neighbors(here, 10), 6.0, 0.15) for x in (here, there)]
    assert weights[0] == pytest.approx(weights[1], rel=1e-9)
    assert distances_of(here) == pytest.approx(distances_of(there), abs=1e-8)
