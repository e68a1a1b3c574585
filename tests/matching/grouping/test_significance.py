"""The number of false alarms of objects, against a definition and against shuffled ends."""

import math

import numpy as np
import pytest
from planting import make_groups, similarity

from matching.correspondences.correspondences import Correspondences
from matching.grouping import significance
from matching.grouping.groups import make_group
from matching.grouping.ledger import Ledger
from matching.grouping.significance import grow_objects, keep_significant, measure_significance


def planted(n_inside, n_outside, seed=0, matrix=None, noise=0.7):
    """Matches all over 600 x 600, the first of them of one object at the middle."""
    rng = np.random.default_rng(seed)
    matrix = np.eye(2) if matrix is None else matrix
    xy0 = np.vstack([rng.uniform(200, 400, (n_inside, 2)), rng.uniform(0, 600, (n_outside, 2))])
    xy1 = rng.uniform(0, 600, (len(xy0), 2))
    xy1[:n_inside] = (xy0[:n_inside] - 300) @ matrix.T + 300 + rng.normal(0, noise, (n_inside, 2))
    maps = np.tile(matrix, (len(xy0), 1, 1))
    angles, sizes = rng.uniform(-np.pi, np.pi, n_outside), np.exp(rng.uniform(-1.5, 1.5, n_outside))
    maps[n_inside:] = [similarity(a, s) for a, s in zip(angles, sizes, strict=True)]
    return Correspondences(xy0, xy1, maps)


def defined(c, seed, second, noise, bend, limit):
    """The largest log likelihood ratio by the definition: kriging from a covariance matrix, all plainly."""
    u, v = c.xy0[second] - c.xy0[seed], c.xy1[second] - c.xy1[seed]
    z = complex(*v) / complex(*u)
    s, growth = np.array([[z.real, -z.imag], [z.imag, z.real]]), abs(z)
    noise = noise * max(growth, 1)

    def covariance(a, b):
        a, b = c.xy0[a] - c.xy0[seed], c.xy0[b] - c.xy0[seed]
        along = np.linalg.norm(a) + np.linalg.norm(b) - np.linalg.norm(a - b)
        return noise**2 + (significance.MAP_STRAIN * growth) ** 2 * (a @ b) + (bend * growth) ** 2 * along / 2

    accepted, left = [seed, second], [i for i in range(len(c)) if i not in (seed, second)]
    total = largest = 0.0
    agreeing, seen = 0.2, 2.0
    while left and len(accepted) < limit:
        gaps = [min(np.linalg.norm(c.xy0[i] - c.xy0[j]) for j in accepted) for i in left]
        i = left.pop(int(np.argmin(gaps)))
        apart1 = significance.MIN_MATCH_GAP * max(growth, 1)
        if any(
            np.linalg.norm(c.xy0[i] - c.xy0[j]) < significance.MIN_MATCH_GAP
            or np.linalg.norm(c.xy1[i] - c.xy1[j]) < apart1
            for j in accepted
        ):
            continue
        near = sorted(accepted, key=lambda j: np.linalg.norm(c.xy0[i] - c.xy0[j]))[:12]
        cov = np.array([[covariance(a, b) + noise**2 * (a == b) for b in near] for a in near])
        cross = np.array([covariance(a, i) for a in near])
        weights = np.linalg.solve(cov, cross)
        variance = max(covariance(i, i) + noise**2 - weights @ cross, noise**2)
        residual = np.array([c.xy1[a] - c.xy1[seed] - s @ (c.xy0[a] - c.xy0[seed]) for a in near])
        predicted = c.xy1[seed] + s @ (c.xy0[i] - c.xy0[seed]) + weights @ residual
        square = ((c.xy1 - predicted) ** 2).sum(axis=1) / variance
        density = np.where(square < -np.log(np.finfo(np.float64).eps), np.exp(-square / 2), 0)
        free = np.linalg.norm(c.xy1[:, None] - c.xy1[accepted], axis=2).min(axis=1) >= apart1
        free[accepted] = True
        ratio = density[i] / density[free].mean() if density[i] > 0 else 0.0
        share = agreeing / seen
        total += math.log(1 - share + share * ratio)
        belief = share * ratio / (1 - share + share * ratio)
        agreeing, seen = 34 / 35 * agreeing + belief + 0.5 / 35, 34 / 35 * seen + 36 / 35
        if belief > 0.5:
            accepted.append(i)
            largest = max(largest, total)
    return largest


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_growing_is_its_definition(seed):
    c = planted(25, 60, seed, similarity(0.4, 1.5))
    pairs = np.array([[0, 1], [2, 5], [7, 30]])
    found = grow_objects(c, pairs, (1.0,), np.zeros(3, bool))
    tests = len(c) * significance.N_NEAREST * len(significance.BENDS)
    for pair, log_nfa in zip(pairs, found.log_nfa, strict=True):
        ratio = max(defined(c, *pair, 1.0, bend, significance.MAX_MEMBERS) for bend in significance.BENDS)
        assert log_nfa == pytest.approx((math.log(tests) - ratio) / math.log(10), abs=1e-6)


def test_what_agrees_is_significant_and_is_the_object():
    c = planted(40, 200)
    found = grow_objects(c, np.array([[0, 3]]), (1.0,), np.zeros(1, bool))
    members = found.members[0][found.members[0] >= 0]
    assert found.log_nfa[0] < -20
    assert (members < 40).mean() > 0.95
    assert len(members) > 30


def test_shuffled_ends_give_as_few_as_the_number_says():
    """Of 60 shuffled lists, three may have one that is expected once a list: few of the tests are made."""
    below = 0
    for seed in range(60):
        c = planted(40, 200, seed)
        order = np.random.default_rng(seed).permutation(len(c))
        shuffled = Correspondences(c.xy0, c.xy1[order], c.maps)
        members = np.arange(0, 240, 3)
        below += measure_significance(shuffled, [members])[0] <= 0
    assert below <= 3


@pytest.mark.slow
def test_shuffled_ends_in_clumps_give_as_few_as_the_number_says():
    """Of 2,000 seeds, 4 p should exceed 1 / p with one of the four models; ends at one place don't help."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        clumps = rng.uniform(0, 500, (4, 2))
        xy0, xy1 = rng.uniform(0, 300, (400, 2)), clumps[rng.integers(0, 4, 400)] + rng.normal(0, 8, (400, 2))
        i = rng.integers(0, 400, 100)
        gap0, gap1 = (np.linalg.norm(xy[i, None] - xy, axis=2) for xy in (xy0, xy1))
        gap0[(gap0 < significance.MIN_SEED_LENGTH) | (gap1 < significance.MIN_MATCH_GAP)] = np.inf
        pairs = np.column_stack([i, gap0.argmin(axis=1)])
        c = Correspondences(xy0, xy1, np.tile(np.eye(2), (400, 1, 1)))
        grown = grow_objects(c, pairs, significance.NOISES, np.zeros(100, bool))
        n_tests = 400 * significance.N_NEAREST * len(significance.NOISES) * len(significance.BENDS)
        ratios.append(np.log10(n_tests) - grown.log_nfa)
    exceeding = [(np.concatenate(ratios) >= np.log10(4 / p)).mean() for p in (0.1, 0.01, 0.001)]
    assert (np.array(exceeding) <= (0.1, 0.01, 0.001)).all()


def test_points_at_one_place_tell_nothing():
    """Fifty matches of one corner with its neighbours are not an object: they have one end."""
    c = planted(50, 100)
    c.xy1[:50] = np.array([300, 300]) + np.random.default_rng(1).normal(0, 0.3, (50, 2))
    assert measure_significance(c, [np.arange(50)])[0] > -2


@pytest.mark.parametrize("turned", [False, True])
def test_each_of_many_copies_of_a_print_is_significant(turned):
    """Forty copies, 15 matches of each: around a place of the print are hundreds of matches of the others."""
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 200, (120, 2))
    feature = np.concatenate([rng.choice(120, 15, replace=False) for _ in range(40)])
    corners = 250.0 * np.column_stack(np.divmod(np.arange(40), 8)).repeat(15, axis=0)
    xy0, xy1 = places[feature], places[feature] + corners + rng.normal(0, 0.5, (600, 2))
    c = Correspondences(xy0, xy1, np.tile(np.eye(2), (600, 1, 1)))
    found = measure_significance(c.reverse() if turned else c, list(np.arange(600).reshape(40, 15)))
    assert (found < -15).all()


def test_matches_denser_than_pixels_are_read_as_far_as_sparse_ones():
    """Of 20,000 matches within 200 pixels, 300 are within 5 of a seed, where few are apart."""
    c = planted(10_000, 10_000)
    c.xy0[10_000:] = np.random.default_rng(1).uniform(200, 400, (10_000, 2))
    found = measure_significance(c, [np.arange(0, 10_000, 3)])[0]
    assert found <= significance.CERTAIN_LOG_NFA


def test_an_object_is_measured_as_far_as_the_bound_asks_for():
    c = planted(90, 100)
    default, strict = (measure_significance(c, [np.arange(90)], max_log_nfa=most)[0] for most in (-2, -30))
    assert strict < -30 < -20 < default <= significance.CERTAIN_LOG_NFA


def test_mirrored_objects_are_measured():
    flip = np.diag([-1.0, 1.0])
    c = planted(30, 100, matrix=flip)
    assert measure_significance(c, [np.arange(30)])[0] < -10


def test_an_object_whose_points_are_one_place_has_no_number():
    c = planted(20, 50)
    c.xy0[:20] = 300.0
    assert measure_significance(c, [np.arange(20)])[0] == np.inf
    assert measure_significance(c, []).shape == (0,)


def test_groups_above_the_bound_are_dropped_with_their_number_and_known_ones_are_not_measured_again(
    monkeypatch,
):
    c = planted(60, 100)
    known = make_group(np.arange(20), 0.9, -50.0)
    new = make_groups(np.repeat([-1, 0, 1, -1], [20, 40, 40, 60]), [0.8, 0.7])
    ledger, given = Ledger(160), []

    def measure(correspondences, objects, max_log_nfa):
        given.extend(objects)
        return measure_significance(correspondences, objects, max_log_nfa)

    monkeypatch.setattr(significance, "measure_significance", measure)
    kept = keep_significant(c, [known, *new], -2.0, ledger)
    assert [rows.tolist() for rows in given] == [group.rows.tolist() for group in new]
    assert [group.score for group in kept] == [0.9, 0.8]
    assert kept[0].log_nfa == -50 and kept[1].log_nfa <= -2
    (dropped,) = ledger.close(np.full(160, -1), c.xy0, c.xy1)[1]
    assert dropped.step == "significance"
    assert dropped.measure > dropped.bound == -2
    assert np.array_equal(dropped.points0, c.xy0[60:100])
