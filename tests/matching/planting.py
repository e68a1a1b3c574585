"""What the tests of matching are made of: correspondences with known motion, and small pictures."""

import math
from dataclasses import fields

import numpy as np
import skimage.data

from matching.correspondences.candidates import Candidates
from matching.correspondences.correspondences import Correspondences
from matching.grouping.groups import make_group


def similarity(angle=0.0, scale=1.0):
    """The linear part (2, 2) of a similarity map."""
    c, s = math.cos(angle), math.sin(angle)
    return scale * np.array([[c, -s], [s, c]])


def random_frames(rng, n):
    """(n, 2, 2) frames with half axes of 3 to 12 px in any direction."""
    turn = np.array([similarity(a) for a in rng.uniform(0, 2 * np.pi, n)]).reshape(n, 2, 2)
    return turn * rng.uniform(3, 12, (n, 1, 2))


def record(cls, n, /, **arrays):
    """A record of n rows; columns that are not given are whole numbers 0."""
    return cls(**{f.name: arrays.get(f.name, np.zeros(n, np.int64)) for f in fields(cls)})


def candidates(xy0, xy1, frames0, frames1):
    """Candidates by rising score, all of one kind."""
    n = len(xy0)
    arrays = {"xy0": xy0, "xy1": xy1, "frames0": frames0, "frames1": frames1}
    arrays = {name: np.array(a, float) for name, a in arrays.items()}
    return record(Candidates, n, **arrays, score=np.linspace(0.1, 0.6, n), kind=np.zeros(n, np.int8))


def geometry(candidates):
    """The Correspondences of Candidates: what grouping looks at."""
    return Correspondences(candidates.xy0, candidates.xy1, candidates.maps)


def moving(rng, n, linear, start=(0.0, 0.0), shift=(0.0, 0.0), size=120.0, noise=0.0):
    """n correspondences of a square of `size` px at `start` that move by x -> linear (x - start) + shift."""
    xy0 = rng.uniform(0, size, (n, 2))
    xy1 = xy0 @ np.asarray(linear).T + shift + rng.normal(0, noise, (n, 2))
    frames0 = random_frames(rng, n)
    return candidates(xy0 + start, xy1, frames0, linear @ frames0)


def bent(rng, n, size=200.0, waves=6.0):
    """n correspondences of a square that bends like a flag."""
    c = moving(rng, n, np.eye(2), size=size)
    xy1 = c.xy0 + waves * np.sin(c.xy0[:, ::-1] / 25) + 300
    slope = waves / 25 * np.cos(c.xy0[:, ::-1] / 25)
    maps = np.tile(np.eye(2), (n, 1, 1))
    maps[:, 0, 1], maps[:, 1, 0] = slope[:, 0], slope[:, 1]
    return candidates(c.xy0, xy1, c.frames0, maps @ c.frames0)


def magnified(magnification, noise):
    """120 correspondences of a square of 200 px in the image where it is smaller, and its size in image 0;
    the noise counts pixels of the smaller one.
    """
    size = 200 / min(magnification, 1.0)
    noise *= max(magnification, 1.0)
    return moving(
        np.random.default_rng(14), 120, similarity(0.1, magnification), size=size, noise=noise
    ), size


def make_groups(labels, scores):
    """A group of the rows of each number in labels (m,), with its score; -1 is for rows in none."""
    return [make_group(np.flatnonzero(np.equal(labels, k)), score) for k, score in enumerate(scores)]


def share(part, rows):
    """How much of `rows` a part holds."""
    return np.isin(rows, part).mean()


def strangers(rng, n, size=600.0):
    """n correspondences that have nothing to do with each other."""
    places = rng.uniform(0, size, (2, n, 2))
    return candidates(*places, random_frames(rng, n), random_frames(rng, n))


def together(*parts):
    """Several Candidates as one, in this order, and the rows of each."""
    joined = Candidates(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Candidates)))
    ends = np.cumsum([len(p) for p in parts])
    return joined, [np.arange(end - len(p), end) for p, end in zip(parts, ends, strict=True)]


def crops(side=220):
    """Square crops (side, side, 3) of photographs that scikit-image ships, by name."""
    corners = {"astronaut": (0, 130), "coffee": (60, 150), "chelsea": (20, 100), "rocket": (100, 100)}
    return {
        name: getattr(skimage.data, name)()[y : y + side, x : x + side] for name, (y, x) in corners.items()
    }


def object_pair(side=220):
    """Two pictures (side, 2 side, 3) and (2 side, 2 side, 3): astronaut and coffee in both, elsewhere."""
    c = crops(side)
    picture0 = np.hstack([c["astronaut"], c["coffee"]])
    picture1 = np.vstack([np.hstack([c["rocket"], c["coffee"]]), np.hstack([c["astronaut"], c["chelsea"]])])
    return picture0, picture1


def true_shift(xy0, side=220):
    """Where a point of picture 0 of `object_pair` stands in picture 1: (n, 2)."""
    left = xy0[:, :1] < side - 0.5
    return xy0 + np.where(left, [0.0, side], [0.0, 0.0])


def distances_of(c):
    """(m, m) ACC distances of correspondences by the definition."""
    u, v = c.xy0[None] - c.xy0[:, None], c.xy1[None] - c.xy1[:, None]  # (i, j, 2): x_j - x_i
    there = np.linalg.norm(v - np.einsum("iab,ijb->ija", c.maps, u), axis=2)
    home = np.linalg.norm(u - np.einsum("iab,ijb->ija", c.inverse_maps, v), axis=2)
    directed = (there + home) / 2  # d(j|i) at [i, j]
    return (directed + directed.T) / 2
