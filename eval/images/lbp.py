"""Histograms of uniform local binary patterns over blocks, and their chi-square distance.

Ahonen, Hadid, Pietikäinen: Face Description with Local Binary Patterns, PAMI 2006.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from skimage.feature import local_binary_pattern

from gdl_core.jit import njit

N_POINTS = 8
N_PATTERNS = N_POINTS * (N_POINTS - 1) + 3  # 58 uniform ones and one for all others


def lbp_histograms(images: NDArray, n_blocks: int = 16, radius: float = 1.0) -> NDArray[np.float32]:
    """Counts of the 59 uniform patterns (8 points on a circle) in each of n_blocks x n_blocks blocks.

    Parameters
    ----------
    images : (n, h, w) array
        Grey levels; h and w of at least n_blocks. Rows and columns beyond the last whole block are left out.
    n_blocks : int
        Blocks along each side.
    radius : float
        Of the circle, pixels.

    Returns
    -------
    (n, n_blocks**2 * 59) float32
    """
    h, w = images.shape[1] // n_blocks, images.shape[2] // n_blocks
    if min(h, w) < 1:
        raise ValueError(f"n_blocks must be at most {min(images.shape[1:])}, got {n_blocks}")
    rows, columns = np.arange(n_blocks * h) // h, np.arange(n_blocks * w) // w
    block = (rows[:, None] * n_blocks + columns) * N_PATTERNS
    result = np.empty((len(images), n_blocks**2 * N_PATTERNS), np.float32)
    for histogram, image in zip(result, images, strict=True):
        codes = patterns(image, radius)[: n_blocks * h, : n_blocks * w]
        histogram[:] = np.bincount((block + codes).ravel(), minlength=len(histogram))
    return result


def patterns(image: NDArray, radius: float) -> NDArray[np.int64]:
    """(h, w) the uniform pattern of each pixel, 0 to 58."""
    with warnings.catch_warnings():  # scikit-image warns about float images; these hold grey levels
        warnings.simplefilter("ignore")
        return local_binary_pattern(image, N_POINTS, radius, "nri_uniform").astype(np.int64)


@njit
def chi_square_distances(f):
    """d(x, y) = sum_k (x_k - y_k)^2 / (x_k + y_k), terms 0 / 0 left out; (n, d) float32 to (n, n) float32.

    For counts, each term is x_k + y_k - 4 x_k y_k / (x_k + y_k). So apart from the sums, only the k at
    which both are positive need to be visited; most counts of small blocks are 0.
    """
    n, d = f.shape
    sums = np.empty(n)
    for i in range(n):
        sums[i] = f[i].astype(np.float64).sum()
    result = np.zeros((n, n), np.float32)
    filled = np.empty(d, np.int64)
    for i in range(n):
        m = 0
        for k in range(d):
            if f[i, k] > 0:
                filled[m] = k
                m += 1
        for j in range(i + 1, n):
            common = 0.0
            for e in range(m):
                x, y = np.float64(f[i, filled[e]]), np.float64(f[j, filled[e]])
                common += x * y / (x + y)
            result[i, j] = result[j, i] = max(sums[i] + sums[j] - 4 * common, 0.0)
    return result
