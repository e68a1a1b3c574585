"""Compiled loop that lets the neighbours of a match vote for a similarity map around it."""

from gdl_core.jit import inner, njit
from matching._common.types import Array, Scalar


@njit
def voted_similarities(x0: Array, x1: Array, near: Array, slope: Scalar, out: Array) -> None:
    """out (m, 2, 2): the similarity through a match and one of near (m, k) that explains most of the
    neighbours.

    It is the identity if no neighbour is at another place in both pictures.
    """
    k = near.shape[1]
    for i in range(len(near)):
        most, a, b = 0.0, 1.0, 0.0  # the map [[a, -b], [b, a]]
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
            if votes > most:
                most, a, b = votes, c, s
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
