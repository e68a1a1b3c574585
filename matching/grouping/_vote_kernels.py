"""Compiled loops: neighbours vote for the map around a match; features are looked up where a map leads."""

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar


@njit
def voted_similarities(x0: Array, x1: Array, near: Array, slope: Scalar, out: Array) -> None:
    """Fill out (m, 2, 2): the similarity that a match and one of its neighbours, near (m, k), define.

    All neighbours vote, and the similarity with the most votes is chosen. If no neighbour is at another place
    in both pictures, the map is the identity.
    """
    k = near.shape[1]
    for i in range(len(near)):
        max_votes, a, b = 0.0, 1.0, 0.0  # the map [[a, -b], [b, a]]
        for h in range(k):
            j = near[i, h]
            ux, uy = x0[j, 0] - x0[i, 0], x0[j, 1] - x0[i, 1]
            vx, vy = x1[j, 0] - x1[i, 0], x1[j, 1] - x1[i, 1]
            square = ux * ux + uy * uy
            if square == 0.0 or vx * vx + vy * vy == 0.0:
                continue
            c, s = (ux * vx + uy * vy) / square, (ux * vy - uy * vx) / square
            votes = 0.0
            for n in range(k):
                votes += _vote(x0, x1, i, near[i, n], c, s, slope)
            if votes > max_votes:
                max_votes, a, b = votes, c, s
        out[i, 0, 0] = out[i, 1, 1] = a
        out[i, 0, 1], out[i, 1, 0] = -b, b


@inner
def _vote(x0: Array, x1: Array, i: Scalar, j: Scalar, a: Scalar, b: Scalar, slope: Scalar) -> Scalar:
    """How well the map [[a, -b], [b, a]] around match i explains match j: 1 / (1 + r^2 / (slope gap)^2)."""
    ux, uy = x0[j, 0] - x0[i, 0], x0[j, 1] - x0[i, 1]
    vx, vy = x1[j, 0] - x1[i, 0], x1[j, 1] - x1[i, 1]
    p, q = vx - (a * ux - b * uy), vy - (b * ux + a * uy)
    variance = slope * slope * max(ux * ux + uy * uy, vx * vx + vy * vy)
    return 1.0 / (1.0 + (p * p + q * q) / variance)


@njit
def most_alike(
    xy: Array,
    start: Array,
    equal: Array,
    product: Array,
    min_product: Scalar,
    rows: Array,
    places: Array,
    reach: Scalar,
    ends: Array,
) -> None:
    """Fill ends (n,) at rows (k,): the most similar of the points xy (n, 2) within reach of places (k, 2).

    The points similar to point i are equal[start[i] : start[i + 1]], the most similar first. Those with a
    product above `min_product` count.
    """
    for r in range(len(rows)):
        for p in range(start[rows[r]], start[rows[r] + 1]):
            if product[p] <= min_product:
                break
            x, y = xy[equal[p], 0] - places[r, 0], xy[equal[p], 1] - places[r, 1]
            if x * x + y * y <= reach * reach:
                ends[rows[r]] = equal[p]
                break
