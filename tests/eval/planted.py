"""Correspondences with planted clusters: each moves by a similarity of its own, the rest is random."""

from types import SimpleNamespace

import numpy as np


def planted(n_inliers=(60, 60, 60), n_outliers=100, noise=0.5, seed=0, size=600.0):
    """Candidates (xy0, xy1, frames0, frames1, score), (m, m) distances, (m,) true cluster or -1."""
    rng = np.random.default_rng(seed)
    n = n_outliers
    parts = [inliers(k, noise, rng, size) for k in n_inliers]
    parts.append((*rng.uniform(0, size, (2, n, 2)), random_frames(n, rng), random_frames(n, rng)))
    arrays = dict(
        zip(("xy0", "xy1", "frames0", "frames1"), map(np.concatenate, zip(*parts, strict=True)), strict=True)
    )
    instance = np.repeat([*range(len(n_inliers)), -1], [*n_inliers, n])
    arrays["score"] = rng.uniform(0.2, 0.6, len(instance)) + 0.2 * (instance < 0)
    order = rng.permutation(len(instance))
    candidates = SimpleNamespace(**{name: array[order] for name, array in arrays.items()})
    return candidates, acc_distance(candidates), instance[order]


def inliers(n, noise, rng, size):
    """Points of a 150 px square, turned, scaled and moved."""
    angle, scale = rng.uniform(-0.5, 0.5), rng.uniform(0.8, 1.25)
    linear = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    xy0 = rng.uniform(0, 150, (n, 2))
    xy1 = xy0 @ linear.T + rng.normal(0, noise, (n, 2)) + rng.uniform(0, size - 150, 2)
    frames0 = random_frames(n, rng)
    return xy0 + rng.uniform(0, size - 150, 2), xy1, frames0, linear @ frames0


def random_frames(n, rng):
    angle, radius = rng.uniform(0, 2 * np.pi, n), rng.uniform(4, 12, n)
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1).reshape(n, 2, 2)
    return radius[:, None, None] * turn


def acc_distance(c):
    """The symmetric distance of Cho, Lee and Lee, with loops over one index."""
    m = len(c.xy0)
    directed = np.empty((m, m))
    for i in range(m):
        linear = c.frames1[i] @ np.linalg.inv(c.frames0[i])
        u, v = c.xy0 - c.xy0[i], c.xy1 - c.xy1[i]
        forth = np.linalg.norm(v - u @ linear.T, axis=1)
        back = np.linalg.norm(u - v @ np.linalg.inv(linear).T, axis=1)
        directed[i] = (forth + back) / 2
    return (directed + directed.T) / 2
