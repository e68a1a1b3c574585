"""The geometry of correspondences: the points that they join, and the map around each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from matching._common.arrays import determinants, invert_matrices, select_rows
from matching._common.types import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class Correspondences:
    """Correspondences of two images, as aligned arrays."""

    xy0: Array  # (m, 2) float64, pixels
    xy1: Array
    maps: Array  # (m, 2, 2) float64, linear part of the affine map around each, from image 0 to image 1

    def __len__(self) -> int:
        return len(self.xy0)

    def __getitem__(self, index: Any) -> Correspondences:
        return select_rows(self, index)

    def reverse(self) -> Correspondences:
        """Return the correspondences from image 1 to image 0."""
        return Correspondences(self.xy1, self.xy0, self.inverse_maps)

    @cached_property
    def inverse_maps(self) -> Floats:
        """(m, 2, 2) float64: the maps from image 1 to image 0."""
        return invert_matrices(self.maps)

    @cached_property
    def growth(self) -> Floats:
        """(m,) float64: pixels of image 1 per pixel of image 0, the square root of the maps' determinant."""
        return np.asarray(np.sqrt(np.abs(self._determinant)))

    @cached_property
    def mirrored(self) -> Bools:
        """(m,) bool: whether the maps mirror the image."""
        return np.asarray(self._determinant < 0)

    @cached_property
    def extents(self) -> Floats:
        """(2, 2) float64: width and height of the box around the points in each image."""
        return np.stack([np.ptp(self.xy0, axis=0), np.ptp(self.xy1, axis=0)])

    @cached_property
    def _determinant(self) -> Floats:
        """(m,) float64: the determinants of the maps."""
        return determinants(self.maps)


def measure_magnification(correspondences: Correspondences, members: Array) -> tuple[float, float]:
    """Measure how much larger an object, rows (n,), is in each image than in the one where it is smaller."""
    if len(members) == 0:
        return 1.0, 1.0
    growth = float(np.median(correspondences.growth[members]))
    return max(1 / growth, 1.0), max(growth, 1.0)
