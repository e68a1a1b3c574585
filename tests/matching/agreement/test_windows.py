"""Windows against their definition, window by window, and the significance of the share that wins."""

import math

import numpy as np
import pytest

from matching._common import opencv
from matching.agreement.existence import (
    CHANCE_SHARE,
    MIN_SIGNIFICANCE,
    PLACES_EXPONENT,
    Existence,
    Verdict,
    measure_existence,
    measure_significance,
)
from matching.agreement.grid import Grid
from matching.agreement.windows import (
    BLOCKS,
    N_PERIODS,
    NOISE_VARIANCE,
    REACH,
    ROW_STEP,
    STRICT_REACH,
    WINDOW,
    correlate_windows,
    find_periods,
    measure_windows,
)

SHAPE = 40, 46


@pytest.fixture(scope="module")
def grid():
    """Two smooth pictures, the second a noisy copy of the first, moved by one pixel."""
    rng = np.random.default_rng(3)
    wide = 40 * opencv.gaussian_blur(rng.normal(0, 3, (50, 50)).astype(np.float32), 1.2) + 120
    grey0 = wide[: SHAPE[0], : SHAPE[1]].copy()
    grey1 = (wide[1 : SHAPE[0] + 1, : SHAPE[1]] + rng.normal(0, 8, SHAPE)).astype(np.float32)
    hull = np.zeros(SHAPE, bool)
    hull[10:31, 12:33] = True
    places = np.zeros((*SHAPE, 2), np.float32)
    colours = [np.repeat(grey[..., None], 3, axis=2) for grey in (grey0, grey1)]
    return Grid(
        colours[0],
        colours[1],
        grey0,
        grey1,
        np.ones(SHAPE, bool),
        hull,
        np.empty((0, 2)),
        places,
        places,
        np.zeros((*SHAPE, 2), np.float32),
    )


def correlate(grid, y, x, dy, dx):
    """The correlation of two windows as it is defined; beyond the edges, pictures are mirrored."""
    half = WINDOW // 2
    margin = half + BLOCKS * (2 * REACH + 1) + REACH
    a, b = (np.pad(grey.astype(float), margin, "reflect") for grey in (grid.grey0, grid.grey1))
    y, x = y + margin, x + margin
    one = a[y - half : y + half + 1, x - half : x + half + 1]
    two = b[y + dy - half : y + dy + half + 1, x + dx - half : x + dx + half + 1]
    product = ((one - one.mean()) * (two - two.mean())).mean()
    return product / math.sqrt((one.var() + NOISE_VARIANCE) * (two.var() + NOISE_VARIANCE))


def list_periods(grid, far):
    """The periods of a grid, from its windows of mean 0 and variance 1."""
    parts = []
    for grey in (grid.grey0, grid.grey1):
        mean, variance = measure_windows(grey - grey.mean())
        parts.append((grey - grey.mean() - mean) / np.sqrt(variance + NOISE_VARIANCE))
    return find_periods(*parts, grid.hull, far)


def is_inside(y, x):
    half = WINDOW // 2
    return half <= y < SHAPE[0] - half and half <= x < SHAPE[1] - half


@pytest.mark.parametrize(("y", "x"), [(10, 12), (16, 20), (30, 32), (24, 14)])
def test_lead_is_that_of_the_best_place_over_the_best_around_and_after_a_period(grid, y, x):
    far = BLOCKS * (2 * REACH + 1) + REACH
    free, around = [], []
    for dy, dx in list_periods(grid, far):
        rows, columns = (np.arange(-REACH, REACH + 1) + moved for moved in (dy, dx))
        around += [correlate(grid, y, x, i, j) for i in rows for j in columns if is_inside(y + i, x + j)]
    for dy in range(-far, far + 1):
        for dx in range(-far, far + 1):
            inside = max(abs(dy), abs(dx)) <= REACH
            (free if inside else around).append(correlate(grid, y, x, dy, dx))
    assert correlate_windows(grid).lead[y, x] == pytest.approx(
        math.atanh(max(free)) - math.atanh(max(around)), abs=5e-3
    )


def test_strict_correlation_is_free_by_one_pixel(grid):
    steps = range(-STRICT_REACH, STRICT_REACH + 1)
    best = max(correlate(grid, 20, 21, dy, dx) for dy in steps for dx in steps)
    assert correlate_windows(grid).strict[20, 21] == pytest.approx(best, abs=2e-3)


def test_lead_is_measured_in_the_hull_in_every_second_row(grid):
    measured = ~np.isnan(correlate_windows(grid).lead)
    expected = np.zeros(SHAPE, bool)
    expected[10:31:ROW_STEP, 12:33] = True
    np.testing.assert_array_equal(measured, expected)


@pytest.mark.parametrize(("share", "sign"), [(0.9, 1), (CHANCE_SHARE, 0), (0.1, -1)])
def test_significance_has_the_sign_of_the_deviation_from_chance(share, sign):
    small, large = (measure_significance(share, n, CHANCE_SHARE) for n in (30.0, 60.0))
    assert np.sign(small) == sign
    assert large == pytest.approx(2 * small)


def test_significance_bounds_the_tail_of_a_binomial_distribution():
    n, k = 40, 26
    tail = sum(math.comb(n, j) * CHANCE_SHARE**j * (1 - CHANCE_SHARE) ** (n - j) for j in range(k, n + 1))
    assert measure_significance(k / n, n, CHANCE_SHARE) <= -math.log10(tail)


@pytest.mark.parametrize(
    ("share", "significance", "expected"),
    [
        (0.6, 3.0, Verdict.OBJECT),
        (0.5, 0.5, Verdict.OBJECT),
        (0.45, 0.3, Verdict.DOUBTFUL),
        (0.3, -0.1, Verdict.NONE),
        (0.1, -2.0, Verdict.NONE),
    ],
)
def test_object_is_told_where_chance_gives_clearly_less(share, significance, expected):
    found = Existence(share, 10.0, significance)
    assert found.verdict is expected
    assert found.log_nfa == MIN_SIGNIFICANCE - significance


def test_too_few_windows_tell_nothing():
    found = Existence(math.nan, 0.0, math.nan)
    assert found.verdict is Verdict.NONE
    assert math.isnan(found.log_nfa)


@pytest.mark.parametrize(("step", "shift"), [((0, 20), (0, 0)), ((15, 24), (3, -5))])
def test_periods_of_a_lattice_are_found(step, shift):
    """A strong picture that recurs, once moved: no period is the shift itself, or near it."""
    rng = np.random.default_rng(5)
    height, width = 120, 150
    y, x = np.indices((height, width))
    tile = opencv.gaussian_blur(rng.normal(0, 60, (60, 60)).astype(np.float32), 2.0)
    rows = y % step[0] if step[0] else y % 60
    lattice = tile[rows, x % step[1]]
    other = np.roll(lattice, shift, (0, 1)) + rng.normal(0, 1, lattice.shape).astype(np.float32)
    hull = np.zeros((height, width), bool)
    hull[40:80, 50:100] = True
    found = list(find_periods(lattice, other, hull, BLOCKS * (2 * REACH + 1) + REACH))
    assert len(found) == N_PERIODS
    for dy, dx in found:
        assert max(abs(dy), abs(dx)) > BLOCKS * (2 * REACH + 1) + REACH
        assert (dx - shift[1]) % step[1] == 0
        assert step[0] == 0 or (dy - shift[0]) % step[0] == 0


def test_flat_ground_has_no_period():
    flat, hull = np.zeros((60, 60), np.float32), np.zeros((60, 60), bool)
    hull[20:40, 20:40] = True
    assert list(find_periods(flat, flat, hull, 12)) == []


def test_small_object_must_be_more_significant_than_one_that_fills_the_pictures(grid):
    windows = correlate_windows(grid)
    large, small = measure_existence(grid, windows, 1.0), measure_existence(grid, windows, 1e6)
    assert large.significance == small.significance
    assert large.bound == MIN_SIGNIFICANCE
    assert small.bound == pytest.approx(6 * PLACES_EXPONENT)
