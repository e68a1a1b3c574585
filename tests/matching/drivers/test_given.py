from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import matching.output.words
from matching import InputError, MatchConfig, group_matches
from matching.drivers.given import GivenMatches, adapt, group_given
from matching.drivers.points.maps import choose_local_maps, measure_points, sort_matches
from matching.drivers.points.trust import choose_best, measure_odds, measure_trust
from matching.grouping.clusters import Clustering
from matching.grouping.groups import label_groups
from matching.grouping.ledger import Ledger, name_steps
from matching.grouping.methods import GIVEN
from matching.output.files import summarise
from synth.surfaces import moving_surfaces


def scene(seed=0):
    """Two surfaces of 30 and 20 points that move apart, and 30 strangers: points and labels."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, 200, (30, 2)), rng.uniform(250, 400, (20, 2))
    c, s = np.cos(0.5), np.sin(0.5)
    turned = (b - 300) @ np.array([[c, s], [-s, c]]) * 1.2 + [150, 300]
    xy0 = np.vstack([a, b, rng.uniform(0, 450, (30, 2))])
    moved = np.vstack([np.add(a, [200, 30]), turned, rng.uniform(0, 450, (30, 2))])
    xy1 = moved + rng.normal(0, 0.7, (80, 2))
    return xy0, xy1, np.repeat([0, 1, -1], [30, 20, 30])


@cache
def group_scene(n=80, size=None):
    """The result for the first n matches of `scene`; size: of both sides of both pictures, pixels."""
    xy0, xy1, _ = scene()
    return group_matches(xy0[:n], xy1[:n], sizes=size and np.full((2, 2), size))


def give(xy0, xy1):
    return GivenMatches(xy0, xy1, None, (None, None), np.zeros(len(xy0)))


def group_alone(xy0, xy1, method=GIVEN):
    """The group of each match, and a working pixel in the unit of xy1."""
    given = give(xy0, xy1)
    groups, pixel = group_given(given, MatchConfig(), "auto", Ledger(len(xy0)), method=method)
    return label_groups(len(xy0), groups), pixel * given.units[1].spread


def share_right(found, truth):
    """The share of matches that are in the group which has most of their object, outliers in none."""
    right = (found < 0) & (truth < 0)
    for k in range(truth.max() + 1):
        most = np.bincount(found[(truth == k) & (found >= 0)], minlength=1).argmax()
        right |= (truth == k) & (found == most)
    return right.mean()


def test_points_alone_give_the_objects():
    xy0, xy1, truth = scene()
    result = group_scene()
    assert share_right(result.cluster, truth) > 0.95
    assert len(result.objects) == 2
    assert np.array_equal(result.xy0, xy0) and np.array_equal(result.xy1, xy1)
    assert [(found.confidence, found.log_nfa <= -8) for found in result.objects] == [("sure", True)] * 2


@pytest.mark.parametrize("factor", [10, 1e-6])
def test_units_do_not_count(factor):
    xy0, xy1, _ = scene()
    sizes = np.full((2, 2), 500)
    found = group_scene(size=500)
    scaled = group_matches(xy0 * factor, xy1 * factor, sizes=sizes * factor)
    expected = found.cluster
    assert np.array_equal(scaled.cluster, expected)
    for one, other in zip(found.objects, scaled.objects, strict=True):
        assert other.motion.share == pytest.approx(one.motion.share, rel=1e-3)
        assert other.rank == pytest.approx(one.rank, rel=1e-3)
        assert other.motion.scale == pytest.approx(one.motion.scale, rel=1e-2)
        np.testing.assert_allclose(other.frame1 / factor, one.frame1, atol=8)  # half a pixel of either
    expected = group_scene().cluster
    assert np.array_equal(group_matches(xy0 * factor, xy1 * factor).cluster, expected)
    assert np.array_equal(group_matches(xy0, xy1 * factor).cluster, expected)


def test_turns_of_a_picture_do_not_count():
    xy0, xy1, _ = scene()
    expected = group_scene().cluster
    c, s = np.cos(np.radians(37)), np.sin(np.radians(37))
    turn = np.array([[c, s], [-s, c]])
    assert np.array_equal(group_matches(xy0 @ turn, xy1).cluster, expected)
    both = group_matches(xy0 @ turn, xy1 @ turn).cluster
    assert np.mean(both == expected) > 0.99  # the epipolar lines of flat things are arbitrary


def test_order_and_swapped_pictures_do_not_count():
    xy0, xy1, _ = scene()
    expected = group_scene().cluster
    assert np.array_equal(group_matches(xy1, xy0).cluster, expected)
    order = np.random.default_rng(5).permutation(len(xy0))
    assert np.array_equal(group_matches(xy0[order], xy1[order]).cluster, expected[order])


@pytest.mark.parametrize("bad", [1e39, -1e200, np.nan, 1j])
def test_numbers_that_cannot_be_computed_with_are_named(bad):
    xy0, xy1, _ = scene()
    message = "xy1 must be an array of numbers" if bad == 1j else "xy1 must hold finite numbers.* in row 7"
    with pytest.raises(InputError, match=message):
        group_matches(xy0, np.where(np.arange(80)[:, None] == 7, bad, xy1))


def test_a_match_more_than_once_and_points_on_a_line():
    xy0, xy1, _ = scene()
    twice = group_matches(np.vstack([xy0, xy0]), np.vstack([xy1, xy1])).cluster
    assert np.array_equal(twice, np.tile(group_scene().cluster, 2))
    line = np.linspace(0, 500, 100)[:, None] * [1, 2]
    assert (group_matches(line, 1.1 * line + 5).cluster == -1).all()  # fixes no map


AXES = {
    "y up": [[1, 0], [0, -1]],
    "x to the left": [[-1, 0], [0, 1]],
    "rows and columns": [[0, 1], [1, 0]],
}


@pytest.mark.parametrize("axes", AXES.values(), ids=list(AXES))
@pytest.mark.parametrize("strangers", [30, 0])
def test_axes_of_one_picture_may_point_differently(axes, strangers):
    xy0, xy1, truth = (a[: 50 + strangers] for a in scene())
    assert share_right(group_scene(50 + strangers).cluster, truth) > 0.95
    turned = [group_matches(xy0, xy1 @ axes + 900), group_matches(xy0 @ axes + 900, xy1)]
    for result in turned:
        assert share_right(result.cluster, truth) > 0.95
        assert len(result.objects) == 2
        assert all(o.motion.mirrored and o.transform_error < 1.5 for o in result.objects)
    swapped = group_matches(xy1 @ axes + 900, xy0).cluster
    assert np.array_equal(swapped, turned[0].cluster)


def test_objects_of_very_many_matches_are_described_by_some_of_them():
    rng = np.random.default_rng(2)
    xy0 = rng.uniform(0, 400, (8000, 2))
    xy1 = xy0 @ [[0.9, 0.1], [-0.1, 0.9]] + 50 + rng.normal(0, 0.5, xy0.shape)
    result = group_matches(xy0, xy1)
    [found] = result.objects
    assert found.n_matches == len(found.points0) == (result.cluster == 0).sum() > 7900
    least, greatest = found.outline0.min(axis=0), found.outline0.max(axis=0)
    assert least.max() < 10 and greatest.min() > 390
    assert found.transform_error < 1 and found.motion.scale == pytest.approx(0.906, abs=0.01)
    order = rng.permutation(8000)
    [other] = group_matches(xy0[order], xy1[order]).objects
    np.testing.assert_allclose(other.outline0, found.outline0, rtol=0, atol=1e-9)


def mirrored_scene(seed=0):
    """`scene` with its second object mirrored."""
    xy0, xy1, truth = scene(seed)
    middle = np.array([150, 300])
    return xy0, np.where((truth == 1)[:, None], (xy1 - middle) * [-1, 1] + middle, xy1), truth


@pytest.mark.parametrize("axes", [np.eye(2), *AXES.values()], ids=["alike", *AXES])
def test_a_mirrored_object_among_others(axes):
    xy0, xy1, truth = mirrored_scene()
    found = group_matches(xy0, xy1 @ axes)
    assert share_right(found.cluster, truth) > 0.94
    told = {truth[found.cluster == o.id].max(): o.motion.mirrored for o in found.objects}
    assert told == ({0: False, 1: True} if np.linalg.det(axes) > 0 else {0: True, 1: False})
    swapped = group_matches(xy1 @ axes, xy0)
    assert np.array_equal(swapped.cluster, found.cluster)


def test_mirrored_maps_are_tried_only_where_asked_for():
    xy0, xy1, truth = mirrored_scene(1)
    shares = {m: share_right(group_matches(xy0, xy1, mirrored=m).cluster, truth) for m in (False, True)}
    assert shares == {False: 0.75, True: 0.625}  # one of the two objects
    with pytest.raises(InputError, match='mirrored must be True, False or "auto", got 1'):
        group_matches(xy0, xy1, mirrored=1)


def test_shares_of_pictures_that_lie_elsewhere_are_not_known():
    xy0, xy1, _ = scene()
    near = group_scene(size=400)
    assert all(o.frame1 is not None and o.motion.share > 0.05 for o in near.objects)
    far = group_matches(xy0 + 1e6, xy1 + 1e6, sizes=((400, 400), (400, 400)))
    assert np.mean(far.cluster == near.cluster) > 0.99  # the epipolar lines of flat things are arbitrary
    assert all(o.frame1 is None and o.motion.share is None for o in far.objects)


def test_frames_of_turned_axes_are_turned_too():
    xy0, xy1, truth = scene()
    c, s = np.cos(0.5), np.sin(0.5)
    maps = np.where((truth == 1)[:, None, None], 1.2 * np.array([[c, s], [-s, c]]).T, np.eye(2))
    flip = np.diag([1.0, -1.0])
    frames0 = np.tile(np.eye(2), (80, 1, 1))
    plain = group_matches(xy0, xy1, frames0=frames0, frames1=maps)
    turned = group_matches(xy0, xy1 @ flip, frames0=frames0, frames1=flip @ maps)
    assert share_right(plain.cluster, truth) > 0.95
    assert np.mean(turned.cluster == plain.cluster) > 0.99  # the epipolar lines of flat things are arbitrary


@pytest.mark.parametrize(
    ("unit", "origin"),
    [
        (1e-3, (5e5, 4649776)),
        (1, (1.7e9, 1.7e9)),
        (1e-7, (13.4, 52.5)),
        (1e6, (0, 0)),
    ],
)
def test_points_far_from_the_origin(unit, origin):
    xy0, xy1, _ = scene()
    near, far = group_scene(), group_matches(xy0 * unit + origin, xy1 * unit + origin)
    assert np.mean(far.cluster == near.cluster) > 0.99  # the epipolar lines of flat things are arbitrary
    for one, other in zip(near.objects, far.objects, strict=True):
        assert other.transform_error / unit == pytest.approx(one.transform_error, abs=0.02)
        if other.n_matches == one.n_matches:  # one match at an end moves the outline
            np.testing.assert_allclose((other.motion.centre - origin) / unit, one.motion.centre, atol=1)
        mapped = np.column_stack([other.points0, np.ones(other.n_matches)]) @ other.transform.T
        off = np.linalg.norm(mapped[:, :2] / mapped[:, 2:] - other.points1, axis=1)
        assert np.median(off) / unit == pytest.approx(one.transform_error, abs=0.2)
        assert np.array_equal(other.points0, (xy0 * unit + origin)[far.cluster == other.id])


@pytest.mark.parametrize("stray", [1e9, -1e18, 3e38])
def test_a_stray_coordinate_does_no_harm(stray):
    xy0, xy1, truth = scene()
    xy0[75, 1] = stray
    result = group_matches(xy0, xy1)
    assert share_right(result.cluster, truth) > 0.95
    assert result.cluster[75] == -1


def test_what_is_seen_is_known_where_sizes_are():
    xy0, xy1, _ = scene()
    unknown = group_matches(xy0[:30], xy1[:30])
    [found] = unknown.objects
    assert found.motion.share is None and found.motion.share1 is None and found.frame1 is None
    assert found.rank == found.score
    assert " - " in matching.output.words.format_table(unknown)
    [found] = group_matches(xy0[:30], xy1[:30], sizes=[(4000, 4000), (4000, 4000)]).objects
    assert found.motion.share < 0.01
    np.testing.assert_allclose(found.frame1[0], [199.5, 29.5], atol=30)


def test_no_matches():
    assert group_matches(np.empty((0, 2)), np.empty((0, 2))).objects == ()


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("n", "n_outliers"), [(12, 0), (30, 0), (30, 15)])
def test_few_accurate_matches_are_found(n, n_outliers, noise):
    """They may lie hundreds of times as far apart as they are accurate."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        xy0, xy1 = rng.uniform(0, 300, (2, n + n_outliers, 2))
        xy1[:n] = xy0[:n] + 9 + rng.normal(0, noise, (n, 2))
        (found,) = group_matches(xy0, xy1).objects
        assert found.n_matches >= 0.8 * n


@pytest.mark.parametrize(("least", "n_objects"), [(4, 1), (12, 1), (14, 1), (15, 0), (100, 0)])
def test_another_least_number_of_matches_is_kept(least, n_objects):
    xy = np.random.default_rng(0).uniform(0, 300, (14, 2))
    found = group_matches(xy, xy + 9, config=MatchConfig().with_settings(min_matches=least))
    assert len(found.objects) == n_objects


def grid(n, step, seed=0):
    """n x n points about a step apart."""
    at = np.stack(np.meshgrid(*[np.arange(n) * step] * 2), axis=2).reshape(-1, 2)
    return at + np.random.default_rng(seed).uniform(-0.2, 0.2, at.shape) * step


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_unit_is_how_accurate_points_are(scale):
    """Four deviations of the points, of those that are tried, the largest that is not larger: from the least
    to the greatest of a grid that spreads over 76.
    """
    xy0 = grid(20, 10.0)
    for noise in (0.08, 0.3, 1.2, 2.4):
        xy1 = (xy0 + np.random.default_rng(1).normal(0, noise, xy0.shape)) * scale + 70
        labels, unit1 = group_alone(xy0, xy1)
        assert (labels == 0).mean() > 0.9
        assert 0.5 < unit1 / scale / (4 * noise) < 1.01


@pytest.mark.parametrize("step", [1, 2])
def test_the_spacing_is_the_distance_to_the_8th_neighbour(step):
    rows = np.arange(22 * 22).reshape(22, 22)[::step, ::step].ravel()
    xy0 = grid(22, 10.0)[rows]
    xy1 = xy0 + np.random.default_rng(2).normal(0, 0.5, xy0.shape)
    units = give(xy0, xy1).units
    local = (unit.round_to_single(xy) for unit, xy in zip(units, (xy0, xy1), strict=True))
    matches, sample = sort_matches(*local, None, np.zeros(len(xy0))), np.arange(len(xy0))
    matches, maps = choose_local_maps(matches, sample, 0.3, "auto")
    _, spacing = measure_points(matches, maps, sample, -2.0)
    found = spacing * units[1].spread
    apart = np.linalg.norm(xy1[:, None] - xy1, axis=2)
    assert 0.85 < found / np.median(np.sort(apart, axis=1)[:, 8]) < 1.2


@pytest.mark.parametrize("n", [3000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_random_matches_have_no_accuracy_and_no_object(n):
    rng = np.random.default_rng(0)
    result = group_matches(rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)))
    assert len(result.objects) == 0
    assert (result.cluster == -1).all()


@pytest.mark.slow
def test_the_best_supported_of_long_lists_are_clustered():
    """Among ten times as many outliers all objects are found."""
    truth = moving_surfaces(0, n_objects=3, matches=(150, 300), outliers=0.9)
    assert len(truth.label) > 2 * MatchConfig().candidates.max_matches
    found = group_matches(truth.xy0, truth.xy1).cluster
    assert found.max() == truth.label.max()
    assert share_right(found, truth.label) > 0.99


@pytest.mark.slow
def test_where_pictures_are_swapped_or_rows_shuffled_the_same_are_clustered():
    truth = moving_surfaces(1, n_objects=3, matches=(1500, 3000))
    order = np.random.default_rng(0).permutation(len(truth.label))
    found = group_matches(truth.xy0, truth.xy1).cluster
    assert np.array_equal(group_matches(truth.xy0[order], truth.xy1[order]).cluster, found[order])
    assert np.array_equal(group_matches(truth.xy1, truth.xy0).cluster, found)


def test_settings_are_adapted_to_the_number_of_matches_and_their_spacing_and_cut_to_their_bounds():
    """The affinity of two halves of an object of n matches falls with n^(3/2)."""
    plain, large = MatchConfig(), MatchConfig().with_settings(min_affinity=0.01, gap=1e6, min_matches=6)
    adapted, cut = (adapt(config, 750, 56.0) for config in (plain, large))
    assert adapted.clustering.min_affinity == pytest.approx(8 * plain.clustering.min_affinity)
    assert adapted.smooth_map.reach == pytest.approx(2 * plain.smooth_map.reach)
    assert (adapted.objects.gap, adapted.objects.min_matches) == (2 * plain.objects.gap, 8)
    assert adapted.merging.part_gap == 2 * plain.merging.part_gap
    assert (cut.objects.gap, cut.objects.min_matches) == (1e6, 6)
    assert adapt(large, 100, 56.0).clustering.min_affinity == 1.0


def test_eight_matches_are_an_object():
    large, few = grid(10, 12.0), 400 + grid(5, 12.0)
    for n, expected in ((12, 2), (7, 1)):
        xy0 = np.vstack([large, few[:n]])
        xy1 = xy0 + np.where(np.arange(len(xy0)) < 100, 0, 200)[:, None]
        result = group_matches(xy0, xy1)
        assert len(result.objects) == expected, n
        assert len(set(result.cluster[100:])) == 1
        assert (result.cluster[100:] >= 0).all() == (n == 12)


def test_small_units_are_told_with_their_digits():
    """Degrees of longitude and latitude: 5e-5 of them are an object."""
    xy0, xy1, _ = scene()
    result = group_matches(xy0 * 1e-7 + (13.4, 52.5), xy1 * 1e-7 + (13.4, 52.5))
    told = summarise([], result)["objects"]
    for found, entry in zip(result.objects, told, strict=True):
        for name in ("outline0", "outline1"):
            np.testing.assert_allclose(entry[name], getattr(found, name), rtol=0, atol=1e-8)
        np.testing.assert_allclose(entry["motion"]["centre"], found.motion.centre, rtol=0, atol=1e-8)
        assert entry["transform_error"] == pytest.approx(found.transform_error, rel=0.05)


def test_another_clustering_can_be_put_in():
    xy0, xy1, truth = scene()
    n_clustered = []

    def find_nothing(correspondences, graph, config):
        n_clustered.append(len(graph.rows))
        return Clustering(np.full(len(graph.rows), -1))

    labels, _ = group_alone(xy0, xy1, replace(GIVEN, cluster=find_nothing))
    assert (labels == -1).all()
    assert len(n_clustered) == 1 and n_clustered[0] > 25
    assert share_right(group_alone(xy0, xy1)[0], truth) > 0.95


def test_equal_matches_have_the_same_step():
    xy0, xy1, _ = scene()
    once, twice = group_scene(), group_matches(np.tile(xy0, (2, 1)), np.tile(xy1, (2, 1)))
    assert {"graph"} <= set(once.dropped_by)
    assert np.array_equal(twice.dropped_by, np.tile(once.dropped_by, 2))


def test_matches_near_others_that_have_no_accuracy_reach_the_test_of_significance():
    rng = np.random.default_rng(0)
    xy0, xy1 = rng.uniform(0, 1000, (2, 60, 2))
    xy0[-1] = 1e9
    ledger = Ledger(60)
    assert group_given(give(xy0, xy1), MatchConfig(), "auto", ledger)[0] == []
    steps, rejected = ledger.close(np.full(60, -1), xy0, xy1)
    assert name_steps(steps).tolist() == ["significance"] * 59 + ["stray"]
    assert rejected == ()


def test_similarities_are_distances_the_other_way_round():
    xy0, xy1, truth = scene()
    distance = np.random.default_rng(0).uniform(0, 0.5, len(xy0)) + 0.5 * (truth < 0)
    as_distances = group_matches(xy0, xy1, score=distance)
    as_similarities = group_matches(xy0, xy1, score=1 - distance, score_is_similarity=True)
    np.testing.assert_allclose(as_similarities.score, distance)
    np.testing.assert_array_equal(as_similarities.cluster, as_distances.cluster)


def test_scores_that_tell_strangers_keep_them_out():
    rng = np.random.default_rng(0)
    xy0, xy1, truth = scene()
    near = rng.uniform(0, 200, (12, 2))  # strangers that lie a few pixels off the map of the first object
    others = rng.uniform(0, 450, (2, 60, 2))
    xy0 = np.vstack([xy0, near, others[0]])
    xy1 = np.vstack([xy1, np.add(near, [200, 30]) + rng.uniform(10, 20, (12, 2)), others[1]])
    telling = np.append(truth < 0, np.ones(72)) + rng.random(152)
    found = [group_matches(xy0, xy1, score=score, planes=True) for score in (None, telling, np.ones(152))]
    kept = [result.cluster >= 0 for result in found]
    assert kept[1][:50].all()
    assert np.count_nonzero(kept[1][50:]) <= np.count_nonzero(kept[0][50:]) + 1
    np.testing.assert_array_equal(found[2].cluster, found[0].cluster)


def test_of_too_many_matches_the_best_are_taken():
    score = np.random.default_rng(0).permutation(50).astype(float)
    assert choose_best(score, np.arange(50), 20).tolist() == np.flatnonzero(score < 20).tolist()
    drawn = choose_best(np.zeros(50), np.arange(50), 20)
    assert len(set(drawn.tolist())) == 20 and drawn.tolist() != list(range(20))


def test_trust_is_the_share_in_objects_and_falls_with_the_score():
    rng = np.random.default_rng(0)
    score = rng.random(2000)
    trust = measure_trust(score, rng.random(2000) < 0.9 - 0.8 * score)
    assert (np.diff(trust[np.argsort(score)]) <= 0).all()
    np.testing.assert_allclose(trust, 0.9 - 0.8 * score, atol=0.12)
    np.testing.assert_allclose(measure_trust(np.ones(40), np.arange(40) < 10), 0.25)
    np.testing.assert_array_equal(measure_odds(np.full(5, 0.25)), 0)
