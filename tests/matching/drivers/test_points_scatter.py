"""Groups of matches that agree only roughly are dropped, and bent or noisy objects are not."""

import numpy as np
import pytest

from matching import group_matches
from matching.drivers.points.scatter import MAX_SCATTER, drop_scattered, measure_scatter
from matching.grouping.groups import make_group
from matching.grouping.ledger import Ledger, name_steps


def rough(rng, n, size=400.0, noise=0.12):
    """Matches of places that roughly correspond, as learned descriptors give them in unrelated pictures."""
    xy0 = rng.uniform(0, size, (n, 2))
    return xy0, 0.8 * xy0 + rng.normal(0, noise * size, (n, 2))


def bent(rng, n, noise, size=400.0):
    xy0 = rng.uniform(0, size, (n, 2))
    return xy0, xy0 + 0.08 * size * np.sin(xy0[:, ::-1] / size * 5) + rng.normal(0, noise, (n, 2))


@pytest.mark.parametrize("n", [12, 60, 300])
def test_matches_that_agree_roughly_scatter(n):
    assert measure_scatter(*rough(np.random.default_rng(n), n)) > MAX_SCATTER


@pytest.mark.parametrize(("n", "noise"), [(30, 0.5), (100, 2.0), (1000, 3.0), (5000, 3.0)])
def test_bent_and_noisy_objects_do_not_scatter(n, noise):
    assert measure_scatter(*bent(np.random.default_rng(n), n, noise)) < MAX_SCATTER


def test_order_repeats_and_swapped_pictures_do_not_count():
    rng = np.random.default_rng(3)
    xy0, xy1 = bent(rng, 900, 4.0)
    scatter = measure_scatter(xy0, xy1)
    assert measure_scatter(xy1, xy0) == pytest.approx(scatter, abs=1e-12)
    order = rng.permutation(900)
    assert measure_scatter(xy0[order], xy1[order]) == pytest.approx(scatter, abs=1e-12)
    assert measure_scatter(np.vstack([xy0, xy0]), np.vstack([xy1, xy1])) == pytest.approx(scatter, abs=1e-12)


def test_few_matches_and_matches_on_a_line_are_measured():
    line = np.stack([np.arange(20.0), np.arange(20.0)], axis=1)
    assert measure_scatter(line[:4], line[:4]) == 0
    assert measure_scatter(line, line) == pytest.approx(0, abs=1e-6)
    assert measure_scatter(line * 0, line * 0) == 0


def test_scattered_group_is_dropped_with_its_measure():
    rng = np.random.default_rng(4)
    xy0, xy1 = map(np.vstack, zip(bent(rng, 50, 0.5), rough(rng, 40), strict=True))
    groups, ledger = [make_group(np.arange(50), 0.9), make_group(np.arange(50, 90), 0.8)], Ledger(90)
    (kept,) = drop_scattered(xy0, xy1, groups, ledger)
    assert kept is groups[0]
    steps, (rejected,) = ledger.close(np.repeat([0, -1], [50, 40]), xy0, xy1)
    assert name_steps(steps).tolist() == [""] * 50 + ["scatter"] * 40
    assert (rejected.step, rejected.reason, rejected.n_matches) == ("scatter", "scattered", 40)
    assert rejected.measure > rejected.bound == MAX_SCATTER


def test_given_matches_that_agree_roughly_are_no_object():
    xy0, xy1 = rough(np.random.default_rng(0), 400, noise=0.05)
    result = group_matches(xy0, xy1)
    assert result.objects == ()
    assert {group.step for group in result.rejected} == {"scatter"}
