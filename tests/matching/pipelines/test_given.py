from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import matching.output.words
from matching import InputError, MatchConfig, group_matches
from matching.grouping.objects import Groups
from matching.grouping.rejections import name_stages
from matching.output.files import summarise
from matching.pipelines import given, given_maps
from matching.pipelines.given import DEFAULT, GivenContext, run_stages
from matching.pipelines.given_maps import sort_matches
from matching.stages import leave_out
from synth.surfaces import moving_surfaces


def scene(seed=0):
    """Two surfaces of 60 and 40 points that move apart, and 60 strangers: points and labels."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, 200, (60, 2)), rng.uniform(250, 400, (40, 2))
    c, s = np.cos(0.5), np.sin(0.5)
    turned = (b - 300) @ np.array([[c, s], [-s, c]]) * 1.2 + [150, 300]
    xy0 = np.vstack([a, b, rng.uniform(0, 450, (60, 2))])
    moved = np.vstack([np.add(a, [200, 30]), turned, rng.uniform(0, 450, (60, 2))])
    xy1 = moved + rng.normal(0, 0.7, (160, 2))
    return xy0, xy1, np.repeat([0, 1, -1], [60, 40, 60])


def group_alone(xy0, xy1):
    """The groups, and a working pixel in the unit of xy1."""
    context = GivenContext(xy0, xy1)
    state = run_stages(context, leave_out(DEFAULT, "objects"))
    return state.groups, state.pixel * context.units[1].spread


def share_right(found, truth):
    """The share of matches that are in the group which has most of their object, outliers in none."""
    right = (found < 0) & (truth < 0)
    for k in range(truth.max() + 1):
        most = np.bincount(found[(truth == k) & (found >= 0)], minlength=1).argmax()
        right |= (truth == k) & (found == most)
    return right.mean()


def test_points_alone_give_the_objects():
    xy0, xy1, truth = scene()
    result = group_matches(xy0, xy1)
    assert share_right(result.cluster, truth) > 0.95
    assert len(result.objects) == 2
    assert np.array_equal(result.xy0, xy0) and np.array_equal(result.xy1, xy1)
    assert [(found.confidence, found.log_nfa <= -8) for found in result.objects] == [("sure", True)] * 2


@pytest.mark.parametrize("factor", [10, 1e-6])
def test_units_do_not_count(factor):
    xy0, xy1, _ = scene()
    sizes = np.full((2, 2), 500)
    found = group_matches(xy0, xy1, sizes=sizes)
    scaled = group_matches(xy0 * factor, xy1 * factor, sizes=sizes * factor)
    expected = found.cluster
    assert np.array_equal(scaled.cluster, expected)
    for one, other in zip(found.objects, scaled.objects, strict=True):
        assert other.motion.share == pytest.approx(one.motion.share, rel=1e-3)
        assert other.rank == pytest.approx(one.rank, rel=1e-3)
        assert other.motion.scale == pytest.approx(one.motion.scale, rel=1e-2)
        np.testing.assert_allclose(other.frame1 / factor, one.frame1, atol=8)  # half a pixel of either
    expected = group_matches(xy0, xy1).cluster
    assert np.array_equal(group_matches(xy0 * factor, xy1 * factor).cluster, expected)
    assert np.array_equal(group_matches(xy0, xy1 * factor).cluster, expected)


@pytest.mark.parametrize("degrees", [37])
def test_turns_of_a_picture_do_not_count(degrees):
    xy0, xy1, _ = scene()
    expected = group_matches(xy0, xy1).cluster
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[c, s], [-s, c]])
    assert np.array_equal(group_matches(xy0 @ turn, xy1).cluster, expected)
    assert np.array_equal(group_matches(xy0 @ turn, xy1 @ turn).cluster, expected)


def test_order_and_swapped_pictures_do_not_count():
    xy0, xy1, _ = scene()
    expected = group_matches(xy0, xy1).cluster
    assert np.array_equal(group_matches(xy1, xy0).cluster, expected)
    order = np.random.default_rng(5).permutation(len(xy0))
    assert np.array_equal(group_matches(xy0[order], xy1[order]).cluster, expected[order])


def test_of_equal_matches_with_different_frames_the_same_one_counts_in_any_order():
    rng = np.random.default_rng(1)
    places = np.repeat(rng.uniform(0, 9, (20, 2)), 3, axis=0)
    maps, scores = rng.normal(size=(60, 2, 2)), np.zeros(60)
    expected = sort_matches(places, places + 1, maps, scores).maps
    assert expected.shape == (20, 2, 2)
    for order in (np.arange(60)[::-1], rng.permutation(60)):
        found = sort_matches(places[order], places[order] + 1, maps[order], scores)
        assert np.array_equal(found.maps, expected)


def test_bad_points_are_named():
    xy0, xy1, _ = scene()
    xy0[3, 1] = np.nan
    with pytest.raises(InputError, match=r"xy0 must hold finite numbers.*, got \[.*nan\] in row 3"):
        matching.group_matches(xy0, xy1)


@pytest.mark.parametrize("bad", [1e39, -1e200, np.inf, 1j])
def test_numbers_that_cannot_be_computed_with_are_told(bad):
    xy0, xy1, _ = scene()
    with pytest.raises(InputError, match="xy1 must"):
        group_matches(xy0, np.where(np.arange(160)[:, None] == 7, bad, xy1))


def test_a_match_more_than_once_and_points_on_a_line():
    xy0, xy1, _ = scene()
    twice = group_matches(np.vstack([xy0, xy0]), np.vstack([xy1, xy1])).cluster
    assert np.array_equal(twice, np.tile(group_matches(xy0, xy1).cluster, 2))
    line = np.linspace(0, 500, 100)[:, None] * [1, 2]
    assert (group_matches(line, 1.1 * line + 5).cluster == -1).all()  # fixes no map


AXES = {
    "y up": [[1, 0], [0, -1]],
    "x to the left": [[-1, 0], [0, 1]],
    "rows and columns": [[0, 1], [1, 0]],
}


@pytest.mark.parametrize("axes", AXES.values(), ids=list(AXES))
@pytest.mark.parametrize("strangers", [60, 0])
def test_axes_of_one_picture_may_point_differently(axes, strangers):
    xy0, xy1, truth = (a[: 100 + strangers] for a in scene())
    plain = group_matches(xy0, xy1)
    assert share_right(plain.cluster, truth) > 0.95
    for result in (group_matches(xy0, xy1 @ axes + 900), group_matches(xy0 @ axes + 900, xy1)):
        assert share_right(result.cluster, truth) > 0.95
        assert len(result.objects) == 2
        assert all(o.motion.mirrored and o.transform_error < 1.5 for o in result.objects)
    swapped = group_matches(xy1 @ axes + 900, xy0).cluster
    assert np.array_equal(swapped, group_matches(xy0, xy1 @ axes + 900).cluster)


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


def test_an_object_is_described_by_at_most_3000_matches():
    rng = np.random.default_rng(0)
    xy0, xy1 = rng.uniform(0, 400, (2, 3600, 2))
    labels = np.repeat([0, 1, -1], [3100, 400, 100])
    found = given._sample(xy0, xy1, Groups(labels, np.ones(2))).labels
    assert np.bincount(found + 1).tolist() == [200, 3000, 400]
    assert (found[labels == 1] == 1).all()
    order = rng.permutation(3600)
    shuffled = given._sample(xy0[order], xy1[order], Groups(labels[order], np.ones(2))).labels
    assert np.array_equal(shuffled, found[order])


def mirrored_scene(seed=0):
    """`scene` with its second object mirrored."""
    xy0, xy1, truth = scene(seed)
    middle = np.array([150, 300])
    return xy0, np.where((truth == 1)[:, None], (xy1 - middle) * [-1, 1] + middle, xy1), truth


@pytest.mark.parametrize("axes", [np.eye(2), *AXES.values()], ids=["alike", *AXES])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_mirrored_object_among_others(axes, seed):
    xy0, xy1, truth = mirrored_scene(seed)
    found = group_matches(xy0, xy1 @ axes)
    assert share_right(found.cluster, truth) > 0.95
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
    near = group_matches(xy0, xy1, sizes=((500, 500), (500, 500)))
    assert all(o.frame1 is not None and o.motion.share > 0.05 for o in near.objects)
    far = group_matches(xy0 + 1e6, xy1 + 1e6, sizes=((500, 500), (500, 500)))
    assert np.array_equal(far.cluster, near.cluster)
    assert all(o.frame1 is None and o.motion.share is None for o in far.objects)


@pytest.mark.parametrize(("n_inside", "within"), [(60, True), (40, False)])
def test_most_points_lie_within_a_picture(n_inside, within):
    """Of whole pixels half of one belongs to a picture beyond its outermost centres."""
    xy = np.full((100, 2), [119.4, -0.4])
    xy[n_inside:, 0] = 119.6
    assert given._lie_within(xy, np.array([80.0, 120.0])) is within


@pytest.mark.parametrize(
    ("unit", "origin"),
    [
        pytest.param(1 / 96, (0, 0), id="inches"),
        pytest.param(0.31, (5e5, 4e6), id="UTM"),
        pytest.param(1e-5, (13.4, 52.5), id="degrees"),
    ],
)
def test_any_unit_gives_the_same_to_a_billionth_of_the_extent(unit, origin):
    surfaces = moving_surfaces(3)
    for xy0, xy1 in (scene()[:2], (surfaces.xy0, surfaces.xy1)):
        extent = np.ptp(xy1, axis=0).max()
        near, far = group_matches(xy0, xy1), group_matches(xy0 * unit + origin, xy1 * unit + origin)
        assert np.array_equal(far.cluster, near.cluster)
        for one, other in zip(near.objects, far.objects, strict=True):
            for name in ("outline0", "outline1"):
                taken_back = (getattr(other, name) - origin) / unit
                np.testing.assert_allclose(taken_back, getattr(one, name), rtol=0, atol=1e-9 * extent)
            centre = (other.motion.centre - origin) / unit
            np.testing.assert_allclose(centre, one.motion.centre, rtol=0, atol=1e-9 * extent)
            assert abs(other.transform_error / unit - one.transform_error) < 1e-9 * extent
            assert other.transform_kind == one.transform_kind


def test_frames_of_turned_axes_are_turned_too():
    xy0, xy1, truth = scene()
    c, s = np.cos(0.5), np.sin(0.5)
    maps = np.where((truth == 1)[:, None, None], 1.2 * np.array([[c, s], [-s, c]]).T, np.eye(2))
    flip = np.diag([1.0, -1.0])
    frames0 = np.tile(np.eye(2), (160, 1, 1))
    plain = group_matches(xy0, xy1, frames0=frames0, frames1=maps)
    turned = group_matches(xy0, xy1 @ flip, frames0=frames0, frames1=flip @ maps)
    assert share_right(plain.cluster, truth) > 0.95
    assert np.array_equal(turned.cluster, plain.cluster)


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
    near, far = group_matches(xy0, xy1), group_matches(xy0 * unit + origin, xy1 * unit + origin)
    assert np.array_equal(far.cluster, near.cluster)
    for one, other in zip(near.objects, far.objects, strict=True):
        assert other.transform_error / unit == pytest.approx(one.transform_error, abs=0.02)
        assert other.motion.scale == pytest.approx(one.motion.scale, abs=0.01)
        assert other.motion.turn == pytest.approx(one.motion.turn, abs=0.5)
        np.testing.assert_allclose((other.motion.centre - origin) / unit, one.motion.centre, atol=1)
        np.testing.assert_allclose((other.outline1 - origin).max(0) / unit, one.outline1.max(0), atol=2)
        mapped = np.column_stack([other.points0, np.ones(other.n_matches)]) @ other.transform.T
        off = np.linalg.norm(mapped[:, :2] / mapped[:, 2:] - other.points1, axis=1)
        assert np.median(off) / unit == pytest.approx(one.transform_error, abs=0.2)
        assert np.array_equal(other.points0, (xy0 * unit + origin)[far.cluster == other.id])


@pytest.mark.parametrize("stray", [1e9, -1e18, 3e38])
def test_a_stray_coordinate_does_no_harm(stray):
    xy0, xy1, truth = scene()
    xy0[155, 1] = stray
    result = group_matches(xy0, xy1)
    assert share_right(result.cluster, truth) > 0.95
    assert result.cluster[155] == -1


def test_what_is_seen_is_known_where_sizes_are():
    xy0, xy1, _ = scene()
    unknown = group_matches(xy0[:60], xy1[:60])
    [found] = unknown.objects
    assert found.motion.share is None and found.motion.share1 is None and found.frame1 is None
    assert found.rank == found.score
    assert " - " in matching.output.words.format_table(unknown)
    [found] = group_matches(xy0[:60], xy1[:60], sizes=[(4000, 4000), (4000, 4000)]).objects
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


def test_few_at_a_time_are_too_few_for_a_map():
    xy = np.random.default_rng(0).uniform(0, 300, (30, 2))
    assert group_matches(xy, xy + 9, config=MatchConfig().with_settings(max_matches=1)).objects == ()


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
        groups, unit1 = group_alone(xy0, xy1)
        assert (groups.labels == 0).mean() > 0.9
        assert 0.5 < unit1 / scale / (4 * noise) < 1.01


@pytest.mark.parametrize("n", [3000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_random_matches_have_no_accuracy_and_no_object(n):
    rng = np.random.default_rng(0)
    result = group_matches(rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)))
    assert len(result.objects) == 0
    assert (result.cluster == -1).all()


@pytest.mark.parametrize(("off", "is_measured"), [(-0.1, True), (0.1, False)])
def test_what_tells_the_accuracy_is_significant(monkeypatch, off, is_measured):
    grow, bound = given_maps.grow_objects, MatchConfig().objects.max_log_nfa

    def grow_to(*arguments, **options):
        grown = grow(*arguments, **options)
        return replace(grown, log_nfa=grown.log_nfa - grown.log_nfa.min() + bound + off)

    monkeypatch.setattr(given_maps, "grow_objects", grow_to)
    xy0 = grid(12, 10.0)
    groups, _ = group_alone(xy0, xy0 + 5)
    assert (name_stages(groups.told_stages) == "significance").all() != is_measured


def captured(monkeypatch, n, **settings):
    """The settings that n matches are grouped with."""
    taken = []

    def take(correspondences, n_listed, config, n_threads, stages):
        assert stages == given.GIVEN
        taken.append(config)
        return given.Groups(np.full(len(correspondences), -1), np.empty(0))

    monkeypatch.setattr(given, "group", take)
    xy0 = grid(60, 10.0)[:n]
    group_matches(xy0, xy0 + 5, config=MatchConfig().with_settings(**settings))
    return taken[0]


@pytest.mark.parametrize(
    ("stage", "name", "value", "bound"),
    [
        ("clustering", "min_affinity", 0.01, 1.0),
        ("objects", "gap", 1e6, 1e6),
        ("smooth_map", "reach", 1e6, 1e6),
    ],
)
def test_adapted_settings_are_cut_to_their_bounds(monkeypatch, stage, name, value, bound):
    adapted = captured(monkeypatch, 100, **{f"{stage}__{name}": value})
    assert getattr(getattr(adapted, stage), name) == bound


def test_distances_follow_how_dense_an_object_is(monkeypatch):
    """Of sparser matches a working pixel reaches further; the user's values count."""
    usual, changed = (
        captured(monkeypatch, 500, **s) for s in ({}, {"smooth_map__reach": 90.0, "gap": 100.0})
    )
    share = usual.objects.gap / MatchConfig().objects.gap
    assert usual.smooth_map.reach == pytest.approx(share * MatchConfig().smooth_map.reach)
    assert changed.smooth_map.reach == pytest.approx(share * 90.0)
    assert changed.objects.gap == pytest.approx(share * 100.0)
    xy0 = grid(22, 10.0)
    factors = []
    for step in (1, 2):
        with monkeypatch.context() as patch:
            taken = []
            rows = np.arange(22 * 22).reshape(22, 22)[::step, ::step].ravel()
            noisy = xy0[rows] + np.random.default_rng(2).normal(0, 0.5, (len(rows), 2))
            unit = group_alone(xy0[rows], noisy)[1]
            patch.setattr(given, "group", lambda *a, taken=taken: taken.append(a[2]))
            with suppress(AttributeError):
                group_matches(xy0[rows], noisy)
            factors.append(taken[0].objects.gap)
        apart = np.linalg.norm(noisy[:, None] - noisy, axis=2)
        spacing = np.median(np.sort(apart, axis=1)[:, 8]) / unit  # to the 8th neighbour, working pixels
        assert 0.85 < factors[-1] / MatchConfig().objects.gap / (spacing / 28) < 1.2
    assert 1.5 < factors[1] / factors[0] < 2.7


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


def test_time_grows_with_the_matches(monkeypatch):
    assert captured(monkeypatch, 500).graph.n_candidates == 2 * MatchConfig().clustering.n_neighbors
    assert captured(monkeypatch, 500, n_candidates=60).graph.n_candidates == 60


@pytest.mark.parametrize("n", [100, 3000])
def test_few_matches_merge_at_larger_affinities(monkeypatch, n):
    """The affinity of two halves of an object of n matches falls with n^(3/2): 5e-7 for 3,000."""
    usual = captured(monkeypatch, n).clustering.min_affinity
    assert usual == pytest.approx(5e-7 * (3000 / n) ** 1.5)
    doubled = captured(monkeypatch, n, min_affinity=2 * MatchConfig().clustering.min_affinity)
    assert doubled.clustering.min_affinity == pytest.approx(2 * usual)


def test_eight_matches_are_an_object(monkeypatch):
    assert captured(monkeypatch, 50).objects.min_matches == 8
    assert captured(monkeypatch, 50, min_matches=6).objects.min_matches == 6
    monkeypatch.undo()
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
        row = matching.output.words.format_object(found)
        assert [float(x) for x in row[4].split(",")] == pytest.approx(found.motion.centre, abs=1e-6)
        assert float(row[-1].split()[0]) > 0
