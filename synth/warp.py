"""Thin-plate-spline warps of an image, defined backwards.

G: output pixel y -> source pixel G(y). The warped image shows at y what the source shows at G(y), so the
truth of a position in the warped image is single-valued even where a strong warp folds.
"""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from scipy.interpolate import RBFInterpolator, RectBivariateSpline

from synth._types import Array, Float32s, Floats, Picture

_NODES = 240  # exact values per side that a rendered warp interpolates: 24 between two control points


@dataclass(frozen=True, eq=False)
class ThinPlateWarp:
    """G, the thin-plate spline with G(controls[i]) = sources[i].

    Call it with (n, 2) positions in the warped image to get (n, 2) float64 positions in the source image.

    Parameters
    ----------
    controls : (k, 2) float64
        Control points in the warped image, pixels.
    sources : (k, 2) float64
        The places of the control points in the source image, pixels.
    """

    controls: Floats
    sources: Floats

    def __call__(self, xy: Array) -> Floats:
        """Map points (n, 2) of the warped image to the source image."""
        xy = np.asarray(xy, np.float64).reshape(-1, 2)
        return np.asarray(self._spline(xy) if len(xy) else np.empty((0, 2)))

    @cached_property
    def _spline(self) -> RBFInterpolator:
        return RBFInterpolator(self.controls, self.sources, kernel="thin_plate_spline", degree=1)


def random_warp(size: int, sigma: float, rng: np.random.Generator, n_cells: int = 10) -> ThinPlateWarp:
    """Draw the paper's deformation of a square image (Sec. 4.2).

    Each inner crossing point of a mesh of n_cells x n_cells squares (9 x 9 for 10) is moved by N(0, sigma^2)
    pixels in x and in y.

    Parameters
    ----------
    size : int
        Side of the image, pixels.
    sigma : float
        Standard deviation of the displacements, pixels.
    rng : numpy.random.Generator
        Source of random numbers.
    n_cells : int
        Squares of the mesh along a side.

    Returns
    -------
    ThinPlateWarp
        The deformation.
    """
    lines = np.linspace(0, size, n_cells + 1)[1:-1]
    controls = np.stack(np.meshgrid(lines, lines), axis=-1).reshape(-1, 2)  # (81, 2)
    return ThinPlateWarp(controls, controls + rng.normal(0, sigma, controls.shape))


def warp_map(warp: ThinPlateWarp, size: int) -> Float32s:
    """Compute G at every pixel of a square image, by a cubic spline through exact values on a grid.

    The result is within 0.03 px of the exact map for sigma <= 50 px on 960 px.

    Parameters
    ----------
    warp : ThinPlateWarp
        G.
    size : int
        Side of the image, pixels.

    Returns
    -------
    (size, size, 2) float32
        Positions in the source image, pixels.
    """
    step = max(1, size // _NODES)
    nodes = np.arange(0, size + step, step, dtype=np.float64)
    grid = warp(np.stack(np.meshgrid(nodes, nodes), axis=-1)).reshape(len(nodes), len(nodes), 2)
    # OpenCV's bicubic interpolation does not keep straight lines straight: it would be 0.2 px off here
    pixels = np.arange(size)
    splines = (RectBivariateSpline(nodes, nodes, grid[..., k]) for k in (0, 1))
    return np.stack([spline(pixels, pixels) for spline in splines], axis=-1).astype(np.float32)


def render(image: Picture, warp: ThinPlateWarp) -> Picture:
    """Warp a square image by bicubic interpolation; the image is mirrored beyond its edges.

    Parameters
    ----------
    image : (size, size, 3) uint8
        The source image.
    warp : ThinPlateWarp
        G, from the warped image to the source image.

    Returns
    -------
    (size, size, 3) uint8
        The warped image.
    """
    g = warp_map(warp, len(image))
    warped = cv2.remap(image, g[..., 0], g[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT_101)
    return np.asarray(warped, np.uint8)
