"""What tells a fine periodic texture from copies."""

from dataclasses import replace

import numpy as np
import pytest
from planting import crops, record

from matching import match
from matching.core.repeats.periodicity import _Confusable, _find_step, measure_periodicity
from matching.correspondences.candidates import Candidates
from matching.features.extraction import DESCRIPTOR_NORM, Features, mirrored_features


def lattice(step, n=12, alike=True, radius=2.0):
    """Features on a square lattice, and matches of each with itself."""
    rng = np.random.default_rng(0)
    x, y = np.meshgrid(np.arange(n), np.arange(n))
    xy = np.column_stack([x.ravel(), y.ravel()]) * float(step)
    h = rng.exponential(size=(1 if alike else len(xy), 128)) * np.ones((len(xy), 1))
    descriptors = np.rint(DESCRIPTOR_NORM * np.sqrt(h / h.sum(axis=1, keepdims=True))).astype(np.float32)
    frames = np.tile(radius * np.eye(2), (len(xy), 1, 1))
    features = record(Features, len(xy), xy=xy, frames=frames, descriptors=descriptors)
    rows = np.arange(len(xy))
    ends = {"xy0": xy, "xy1": xy, "frames0": frames, "frames1": frames, "row0": rows, "row1": rows}
    return features, record(Candidates, len(xy), **ends, score=np.full(len(xy), 0.1))


@pytest.mark.parametrize(
    ("step", "alike", "periodic"), [(10, True, True), (10, False, False), (120, True, False)]
)
def test_what_recurs_close_by_is_periodic(step, alike, periodic):
    """Different features are not, nor are copies far apart."""
    features, candidates = lattice(step, alike=alike)
    assert measure_periodicity(features, features, candidates).is_periodic is periodic


def test_one_shift_must_lead_to_many_confusable_places():
    """2,000 matches with ten places each, up to 90 px away, anywhere or on a lattice; then one for each."""
    rng = np.random.default_rng(0)
    angle, far = rng.uniform(0, 2 * np.pi, 20_000), 90 * np.sqrt(rng.uniform(0.01, 1, 20_000))
    anywhere = far[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    row, on_lattice = np.repeat(np.arange(2000), 10), np.rint(anywhere / 20) * 20
    assert _find_step(_Confusable(2000, row, on_lattice)).any()
    assert not _find_step(_Confusable(2000, row, anywhere)).any()
    assert _find_step(_Confusable(2000, row[::10], on_lattice[::10])).any()
    assert not _find_step(_Confusable(2000, row[:0], anywhere[:0])).any()


def test_a_grid_of_copies_is_no_texture():
    grid = np.tile(crops()["coffee"], (2, 2, 1))
    assert match(grid, np.rot90(grid)).objects


@pytest.mark.parametrize(("changed", "periodic"), [(0.02, True), (0.2, False)])
def test_descriptors_that_are_nearly_as_near_are_confusable(changed, periodic):
    features, candidates = lattice(10)
    noise = np.random.default_rng(1).normal(size=features.descriptors.shape)
    noise *= changed * DESCRIPTOR_NORM / np.linalg.norm(noise, axis=1, keepdims=True)
    features = replace(features, descriptors=np.rint(features.descriptors + noise).astype(np.float32))
    candidates = replace(candidates, score=np.zeros(len(candidates)))
    assert measure_periodicity(features, features, candidates).is_periodic is periodic


def test_a_mirrored_lattice_is_periodic():
    features, candidates = lattice(10)
    mirrored = mirrored_features(features)
    candidates = replace(candidates, frames1=mirrored.frames)
    assert measure_periodicity(features, mirrored, candidates).is_periodic
