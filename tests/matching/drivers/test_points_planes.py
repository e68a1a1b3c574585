import numpy as np
import pytest
from planting import make_groups

from matching import group_matches
from matching.drivers.points import planes as planes_of_scenes
from matching.drivers.points.energy import propose, search, settle
from matching.drivers.points.planes import NOISES, Planes
from matching.drivers.points.scene import find_places, regroup
from matching.grouping.groups import label_groups
from matching.grouping.ledger import Ledger, name_steps
from matching.objects.transforms import apply_transform
from synth.rooms import match_planes

LEFT = np.array([[1.1, 0.05, 10], [0.02, 1.0, 5], [3e-4, 0, 1]])
RIGHT = np.array([[0.8, 0.0, 70], [-0.04, 0.95, 17], [-2e-4, 0, 1]])


def find_planes(xy0, xy1):
    places = find_places(xy0, xy1)
    if places is None:
        return np.full(len(xy0), -1)
    labels = planes_of_scenes.find_planes(places, np.zeros(len(places.xy)), places.row)[0]
    return labels[places.row]


def split_into_planes(xy0, xy1, groups, ledger):
    return regroup(xy0, xy1, np.zeros(len(xy0)), groups, planes_of_scenes.find_planes, "planes", ledger)


def corner(seed=0, noise=0.5, n=60, outliers=0):
    """Matches on two planes that meet at x = 200: points and planes, -1 for outliers."""
    rng = np.random.default_rng(seed)
    xy0 = rng.uniform((0, 0), (400, 300), (2 * n + outliers, 2))
    truth = (xy0[:, 0] > 200).astype(np.int64)
    xy1 = np.where(truth[:, None] == 0, apply_transform(LEFT, xy0), apply_transform(RIGHT, xy0))
    xy1 += rng.normal(0, noise, xy1.shape)
    truth[2 * n :] = -1
    xy1[2 * n :] = rng.uniform((0, 0), (400, 300), (outliers, 2))
    return xy0, xy1, truth


def plane_share(found, truth):
    """The share of matches that are in the plane with most matches of theirs, or are outliers in both."""
    right = (truth < 0) & (found < 0)
    for k in np.unique(truth[truth >= 0]):
        counts = np.bincount(found[(truth == k) & (found >= 0)], minlength=1)
        right |= (truth == k) & (found == counts.argmax())
    return right.mean()


def scene_of_corner(outliers=60):
    xy0, xy1, truth = corner(outliers=outliers)
    order = np.lexsort(np.hstack([xy0, xy1]).T[::-1])
    return Planes.from_places(np.hstack([xy0, xy1])[order] / 400, 0.75), truth[order]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("outliers", [0, 100])
def test_corner_has_two_planes(seed, outliers):
    xy0, xy1, truth = corner(seed, outliers=outliers)
    found = find_planes(xy0, xy1)
    assert found.max() == 1
    assert plane_share(found, truth) > 0.93
    assert np.array_equal(find_planes(xy1, xy0), found)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_unit_of_points_does_not_matter(factor):
    xy0, xy1, _ = corner(outliers=40)
    assert np.array_equal(find_planes(xy0 * factor, xy1 * factor), find_planes(xy0, xy1))


@pytest.mark.parametrize("seed", range(2))
def test_flat_thing_is_one_plane(seed):
    rng = np.random.default_rng(seed)
    xy0 = rng.uniform((0, 0), (600, 400), (400, 2))
    xy1 = apply_transform(LEFT, xy0) + rng.normal(0, 0.5, xy0.shape)
    assert (find_planes(xy0, xy1) == 0).mean() > 0.99
    assert (find_planes(xy0[:12], xy1[:12]) == 0).all()


@pytest.mark.parametrize("n", [100, 1000, 3000])
def test_random_matches_have_no_plane(n):
    xy0, xy1 = np.random.default_rng(n).uniform(0, 600, (2, n, 2))
    assert (find_planes(xy0, xy1) == -1).all()


def test_many_matches_have_the_planes_of_a_sample():
    xy0, xy1, truth = corner(n=2000, outliers=1000)
    found = find_planes(xy0, xy1)
    assert found.max() == 1
    assert plane_share(found, truth) > 0.97


def test_exact_matches_are_found():
    xy0, xy1, truth = corner(noise=0.0)
    assert plane_share(find_planes(xy0, xy1), truth) > 0.98


@pytest.mark.parametrize(
    "points",
    [
        np.empty((0, 2)),
        np.ones((40, 2)),
        np.linspace(0, 1, 40)[:, None] * [1, 2],
        np.repeat(np.eye(2), 20, axis=0),
        np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2),
        np.random.default_rng(0).normal(size=(40, 2)) * np.logspace(-9, 6, 40)[:, None],
    ],
    ids=["none", "one place", "line", "two places", "grid", "far points"],
)
def test_degenerate_points_are_labelled(points):
    others = np.random.default_rng(1).uniform(0, 1, points.shape)
    for xy1 in (points, points[::-1], others):
        found = find_planes(points, xy1)
        assert found.shape == (len(points),)
        assert found.min(initial=-1) >= -1


@pytest.mark.parametrize("slope", [1e9, 1e80])
def test_a_fit_from_a_very_steep_plane_is_numbers(slope):
    xy0, xy1, _ = corner()
    plane = np.array([[[slope, slope, 0], [slope, slope, 0], [0, 0, 1]]])
    fitted = Planes.from_places(np.hstack([xy0, xy1]), 1.0).fit([np.arange(len(xy0))], plane, 0.01, 1)
    assert np.isfinite(fitted).all()


def test_repeated_matches_are_in_the_same_plane_and_change_nothing():
    xy0, xy1, _ = corner(outliers=40)
    once = find_planes(xy0, xy1)
    rows = np.repeat(np.arange(len(xy0)), np.random.default_rng(0).integers(1, 4, len(xy0)))
    sample = np.random.default_rng(1).permutation(rows)
    repeated = find_planes(xy0[sample], xy1[sample])
    assert plane_share(repeated, once[sample]) > 0.99
    assert all(len(set(repeated[sample == k])) == 1 for k in range(len(xy0)))


def test_error_counts_noise_in_both_pictures():
    shrink = np.diag([0.1, 0.1, 1.0])
    there, back = np.array([[10.0, 0.0, 2.0, 0.0]] * 2), np.array([[2.0, 0.0, 10.0, 0.0]] * 2)
    error = Planes.from_places(there, 1.0).measure(shrink[None])[0]
    np.testing.assert_allclose(error, [[1 / 1.01] * 2])  # off by 1, of variance 1 + 0.1^2
    grow = np.linalg.inv(shrink)[None]
    np.testing.assert_allclose(Planes.from_places(back, 1.0).measure(grow)[0], error)
    horizon = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 2.0]])
    xy = np.array([[1.0, 1.0], [0.5, 0.0], [3.0, 1.0], [2.0, 1.0]])
    beyond = np.isinf(Planes.from_places(np.hstack([xy, xy]), 1.0).measure(horizon[None])[0, 0])
    assert beyond.tolist() == [False, False, True, True]


@pytest.mark.parametrize("tilt", [3e-4, 0.01])
def test_fit_has_least_error(tilt):
    """Also of matches whose depths differ by a factor of five, which weighs algebraic errors alike."""
    rng = np.random.default_rng(5)
    plane = np.array([[1.1, 0.05, 10], [0.02, 1.0, 5], [tilt, 0, 1]])
    xy0 = rng.uniform((0, 0), (400, 300), (60, 2))
    xy1 = apply_transform(plane, xy0) + rng.normal(0, 0.5, (60, 2))
    scene = Planes.from_places(np.hstack([xy0 + rng.normal(0, 0.5, (60, 2)), xy1]), 1e5)
    fitted = scene.fit([np.arange(60)], np.eye(3)[None], np.inf, 5)
    least = scene.measure(fitted)[0].sum()
    assert least < scene.measure(plane[None])[0].sum()
    assert 0.6 < least / (0.25 * (2 * 60 - 8)) < 1.4  # as large as the noise
    fitted = fitted / fitted[0, 2, 2]
    for step in np.eye(9)[:8].reshape(8, 3, 3) * np.array([[1e-2, 1e-2, 1.0]] * 2 + [[3e-5, 3e-5, 0]]):
        for sign in (-1, 1):
            assert scene.measure(fitted + sign * step)[0].sum() > least


def test_matches_that_are_likelier_right_by_their_scores_cost_less():
    xy0, xy1, _ = corner(outliers=20)
    plain = Planes.from_places(np.hstack([xy0, xy1]) / 400, 0.75)
    odds = np.random.default_rng(0).normal(size=len(xy0))
    scene, plane = Planes.from_places(np.hstack([xy0, xy1]) / 400, 0.75, odds), np.eye(3)[None]
    cheaper = plain.measure_costs(plane, 0.01) - scene.measure_costs(plane, 0.01)
    np.testing.assert_allclose(cheaper, [odds, np.zeros(len(odds))])


def test_energy_counts_matches_edges_and_planes():
    scene, truth = scene_of_corner()
    planes = scene.fit([np.flatnonzero(truth == p) for p in (0, 1)], np.tile(np.eye(3), (2, 1, 1)), 0.01, 5)
    costs, labels = scene.measure_costs(planes, 0.001), np.where(truth < 0, 2, truth)
    pairs = {
        (min(i, j), max(i, j))
        for i in range(len(labels))
        for j in scene.neighbours[scene.starts[i] : scene.starts[i + 1]].tolist()
    }
    expected = sum(costs[label, i] for i, label in enumerate(labels)) + scene.price(planes, 0.001).sum()
    expected += Planes.EDGE_PRICE * sum(labels[i] != labels[j] for i, j in pairs)
    assert scene.sum_energy(planes, costs, labels, 0.001) == pytest.approx(expected)
    assert scene.sum_energy(planes, costs, np.full(len(labels), 2), 0.001) == 0


@pytest.mark.parametrize("seed", range(4))
def test_energy_never_rises_by_moves(seed):
    scene, _ = scene_of_corner()
    rng = np.random.default_rng(seed)
    pool, noise = propose(scene, np.arange(len(scene.odds))), 0.001
    planes = pool[rng.permutation(len(pool))[:6]]
    costs = scene.measure_costs(planes, noise)
    labels = rng.integers(0, 7, len(scene.odds))
    labels = np.where(costs[labels, np.arange(len(labels))] < 10, labels, 6)
    energy = scene.sum_energy(planes, costs, labels, noise)
    chosen = scene.choose(costs, labels, Planes.EDGE_PRICE)
    after = scene.sum_energy(planes, costs, chosen, noise) - scene.price(planes[:1], noise)[0] * (
        len(np.unique(chosen[chosen < 6])) - len(np.unique(labels[labels < 6]))
    )
    assert after <= energy
    settled, labels, lower = settle(scene, planes, labels, noise)
    assert lower <= scene.sum_energy(planes, costs, chosen, noise)
    costs = scene.measure_costs(settled, noise)
    assert lower == pytest.approx(scene.sum_energy(settled, costs, labels, noise))
    assert settle(scene, settled, labels, noise)[2] <= lower


@pytest.mark.parametrize("noise", NOISES)
def test_search_finds_planes_from_any_noise(noise):
    scene, truth = scene_of_corner()
    pool = propose(scene, np.arange(len(scene.odds)))
    nothing = pool[:0], np.zeros(len(scene.odds), np.int64)
    energy, planes, labels, noise = search(scene, pool, scene.measure(pool), *nothing, noise)
    assert len(planes) == 2
    assert energy < 0
    costs = scene.measure_costs(planes, noise)
    assert energy == pytest.approx(scene.sum_energy(planes, costs, labels, noise))
    assert plane_share(np.where(labels == 2, -1, labels), truth) > 0.95


def test_planes_have_scores_of_objects_in_any_order_of_rows():
    xy0, xy1, _ = corner(outliers=30)
    n = len(xy0)
    label = np.repeat([0, -1], [n - 60, 60])
    groups, ledger = make_groups(label, [0.7]), Ledger(n)
    planes = split_into_planes(xy0, xy1, groups, ledger)
    assert [plane.score for plane in planes] == [0.7, 0.7]
    assert len(planes[0].rows) >= len(planes[1].rows)
    labels = label_groups(n, planes)
    assert (labels[-60:-30] >= 0).any()  # matches of the planes that are in no object join
    steps = name_steps(ledger.close(labels, xy0, xy1)[0])
    assert set(steps[(label == 0) & (labels < 0)]) <= {"planes"}
    order = np.random.default_rng(3).permutation(n)
    again = split_into_planes(xy0[order], xy1[order], make_groups(label[order], [0.7]), Ledger(n))
    assert {frozenset(order[plane.rows]) for plane in again} == {frozenset(plane.rows) for plane in planes}
    assert split_into_planes(xy0, xy1, [], Ledger(n)) == []


def test_plane_outside_all_objects_has_the_lowest_score():
    xy0, xy1, truth = corner()
    groups = make_groups(np.where((truth == 0) & (xy0[:, 0] < 150), 0, -1), [0.7])
    planes = split_into_planes(xy0, xy1, groups, Ledger(len(xy0)))
    assert [plane.score for plane in planes] == [0.7, 0.7]


def test_planes_of_a_room_are_found_on_request():
    given = match_planes(9)
    whole, planes = (group_matches(given.xy0, given.xy1, planes=split) for split in (False, True))
    assert len(whole.objects) == 1
    assert len(planes.objects) >= 5
    assert sum(o.transform_kind == "homography" for o in planes.objects) >= 4
    for k in range(len(planes.objects)):
        members = given.label[planes.cluster == k]
        assert np.bincount(members[members >= 0]).max() > 0.6 * len(members)
