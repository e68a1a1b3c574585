import numpy as np
import pytest
import shapely
from planting import similarity
from scipy.spatial import Delaunay

from matching._common import opencv
from matching.objects.confidence import (
    DOUBTFUL,
    LIKELY,
    LIKELY_LOG_NFA,
    SURE,
    SURE_LOG_NFA,
    SURE_PIXELS_LOG_NFA,
    confidence,
    measure_certainty,
)
from matching.objects.description import (
    MatchedObject,
    _union,
    add_things,
    describe_object,
    draw_outlines,
)
from matching.objects.things import Thing
from matching.objects.transforms import (
    apply_transform,
    fit_transform,
    is_sound,
    measure_covariance,
    refine_transform,
)

SQUARE = np.array([[0, 0], [200, 0], [200, 200], [0, 200]], float)
SHIFT = np.array([10.0, 20.0])
HOMOGRAPHY = np.array([[1.1, 0.2, 30], [-0.15, 0.9, 60], [8e-4, -4e-4, 1]])


def points(n=300, seed=0):
    return np.random.default_rng(seed).uniform(0, 200, (n, 2))


def corner_error(transform, truth):
    return np.linalg.norm(apply_transform(transform, SQUARE) - apply_transform(truth, SQUARE), axis=1).max()


def affine(linear, shift):
    return np.vstack([np.column_stack([linear, shift]), [0, 0, 1]])


def with_outliers(xy1, share, seed=1):
    rng = np.random.default_rng(seed)
    wrong = rng.choice(len(xy1), round(share * len(xy1)), replace=False)
    xy1 = xy1.copy()
    xy1[wrong] += rng.uniform(30, 90, (len(wrong), 2))
    return xy1


def test_apply_transform_divides_by_the_third_coordinate():
    t = np.array([[2.0, 0, 1], [0, 2, 3], [0, 0, 2]])
    assert np.allclose(apply_transform(t, np.array([[4.0, 6.0]])), [[4.5, 7.5]])


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_planted_homography_is_found(share):
    xy0 = points()
    xy1 = apply_transform(HOMOGRAPHY, xy0) + np.random.default_rng(2).normal(0, 0.3, xy0.shape)
    transform, kind = fit_transform(xy0, with_outliers(xy1, share))
    assert kind == "homography"
    assert transform[2, 2] == 1
    assert corner_error(transform, HOMOGRAPHY) < 2


def test_homography_of_all_points_is_more_accurate_than_opencv():
    """Where some points are far less accurate than others, as those of real pictures are."""
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        xy0 = rng.uniform(0, 300, (60, 2))
        xy1 = with_outliers(apply_transform(HOMOGRAPHY, xy0) + rng.standard_t(2, xy0.shape) / 2, 0.1)
        theirs = opencv.fit_homography(xy0, xy1, 3.0)
        errors.append([corner_error(h, HOMOGRAPHY) for h in (fit_transform(xy0, xy1)[0], theirs)])
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 0.85 * theirs


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_planted_affine_map_is_found(share):
    truth = affine(similarity(0.6, 1.3), [70, -20])
    xy0 = points()
    xy1 = apply_transform(truth, xy0) + np.random.default_rng(3).normal(0, 0.3, xy0.shape)
    transform, _ = fit_transform(xy0, with_outliers(xy1, share))
    assert transform.shape == (3, 3)
    assert corner_error(transform, truth) < 2


@pytest.mark.parametrize(
    "xy0",
    [
        np.array([[3.0, 4]]),
        np.array([[3.0, 4], [50, 60]]),
        np.array([[3.0, 4], [50, 60], [40, 80]]),
        np.array([[3.0, 4]] * 6),
        np.column_stack([np.arange(3.0), 2 * np.arange(3.0)]),
        np.column_stack([np.arange(20.0), np.zeros(20)]),
        np.column_stack([10 * np.arange(12.0), 5 + 20 * np.arange(12.0)]),
    ],
    ids=["one", "two", "three", "coincident", "three in line", "in line", "in a slanted line"],
)
def test_degenerate_objects_are_described(xy0):
    found = describe_object(0, xy0, xy0 + SHIFT, score=12.5)
    assert isinstance(found, MatchedObject)
    assert found.n_matches == len(xy0)
    assert found.transform.shape == (3, 3)
    assert np.isfinite(found.transform).all()
    assert np.isfinite(found.transform_error)
    assert np.allclose(apply_transform(found.transform, xy0), xy0 + SHIFT, atol=0.01)
    for outline in (found.outline0, found.outline1):
        assert outline.ndim == 2
        assert outline.shape[1] == 2
        assert len(outline) >= 1
        assert np.isfinite(outline).all()


def test_object_describes_its_matches():
    xy0 = points()
    xy1 = xy0 + SHIFT
    xy1[::2] += [0, 3]
    found = describe_object(4, xy0, xy1, score=31)
    assert (found.id, found.n_matches, found.score) == (4, 300, 31.0)
    assert found.points0 is xy0 and found.points1 is xy1
    mapped = apply_transform(found.transform, xy0)
    assert found.transform_error == pytest.approx(np.median(np.linalg.norm(mapped - xy1, axis=1)))
    assert found.inlier_share == 1.0


def test_object_has_share_of_matches_that_the_transform_fits():
    """Of a thing of which the smaller half is elsewhere, the median error alone tells nothing."""
    xy0 = points()
    xy1 = xy0 + SHIFT
    xy1[:120] += [0, 40]
    found = describe_object(0, xy0, xy1, score=0.8, tolerance=6.0)
    assert found.transform_error < 0.1
    assert found.inlier_share == pytest.approx(0.6)
    assert describe_object(0, xy0, xy1, score=0.8, tolerance=1000.0).inlier_share == 1.0


@pytest.mark.parametrize("linear", [np.eye(2), similarity(2.0, 0.5), [[1.4, 0.6], [0, 0.8]]])
def test_outlines_hold_the_matches(linear):
    xy0 = points(600)
    xy1 = xy0 @ np.array(linear).T + [500, 300]
    for outline, xy in zip(draw_outlines(xy0, xy1), (xy0, xy1), strict=True):
        shape = shapely.Polygon(outline).buffer(0.03 * np.ptp(xy, axis=0).max())
        assert shapely.intersects_xy(shape, *xy.T).mean() > 0.9
        assert (outline >= xy.min(axis=0) - 3).all()
        assert (outline <= xy.max(axis=0) + 3).all()


def test_outlines_follow_a_concave_object():
    # an L: a convex hull would hold a third of the square that shows nothing
    xy0 = points(4000)
    xy0 = xy0[~((xy0 > 80).all(axis=1))]
    truth = 200**2 - 120**2
    for outline in draw_outlines(xy0, xy0 + 50):
        assert shapely.Polygon(outline).area == pytest.approx(truth, rel=0.1)


def test_points_far_from_the_others_do_not_stretch_the_outline():
    xy0 = np.vstack([points(1000), [[900.0, 900.0]]])
    outline0, outline1 = draw_outlines(xy0, xy0)
    assert outline0.max() < 300
    assert outline1.max() < 300


@pytest.mark.parametrize("seed", range(6))
def test_outlines_do_not_cross_themselves(seed):
    rng = np.random.default_rng(seed)
    clumps = rng.uniform(0, 200, (9, 2))  # matches in clumps leave holes and bays between them
    xy0 = (clumps[rng.integers(0, 9, 150)] + rng.normal(0, 14, (150, 2))).clip(0, 220)
    for outline in draw_outlines(xy0, xy0 @ similarity(0.4, 1.7).T):
        assert shapely.Polygon(outline).is_valid


def test_a_hole_without_matches_belongs_to_the_object():
    xy0 = points(3000)
    ring = xy0[np.linalg.norm(xy0 - 100, axis=1) > 50]
    for outline in draw_outlines(ring, ring):
        assert shapely.Polygon(outline).area > 0.9 * 200**2


@pytest.mark.parametrize("sign", [1, -1])
def test_a_horizon_across_the_object_is_not_sound(sign):
    square = np.array([[0.0, 0], [100, 0], [100, 100], [0, 100]])
    behind = sign * np.array([[1.0, 0, 0], [0, 1, 0], [-0.02, 0, 1]])
    before = sign * np.array([[1.0, 0, 0], [0, 1, 0], [0.01, 0, 1]])
    assert is_sound(before, square)
    assert not is_sound(behind, square)
    depths = (np.array([[1.0, 0, 0], [0, 1, 0], [sign * (1 / r - 1) / 100, 0, sign]]) for r in (0.22, 0.18))
    assert [is_sound(transform, square) for transform in depths] == [True, False]  # far from it: a fifth


@pytest.mark.parametrize(("n", "kind"), [(7, "affine"), (8, "homography")])
def test_eight_points_fix_a_homography(n, kind):
    xy0 = np.random.default_rng(3).uniform(0, 100, (n, 2))
    transform = np.array([[1.0, 0.1, 5], [0.1, 1.2, 3], [0.006, 0.001, 1]])
    assert fit_transform(xy0, apply_transform(transform, xy0))[1] == kind


@pytest.mark.parametrize("squeeze", [[0.0, 0.0], [1.0, 0.0], [1.0, 1e-9]], ids=["point", "line", "thin"])
def test_outlines_may_have_no_area_in_one_image(squeeze):
    xy = np.random.default_rng(0).uniform(0, 100, (40, 2))
    outline0, outline1 = draw_outlines(xy, xy * squeeze)
    assert len(outline0) >= 3
    assert len(outline1) >= 1
    assert outline1.max() <= 100
    found = describe_object(0, xy, xy * squeeze, 0.5, 6.0, *np.array([[[0, 0], [100, 100]]] * 2, float))
    assert found.n_matches == 40


def test_outlines_may_have_small_triangles_without_area():
    """Two key points of one image, matched with the same key point of the other one."""
    xy0 = np.array([[0, 0], [2, 0], [0, 20], [100, 0], [0, 100], [100, 100]], float)
    xy1 = xy0.copy()
    xy1[1] = xy1[0]
    outline0, outline1 = draw_outlines(xy0, xy1)  # the convex hulls
    assert {*map(tuple, outline0)} == {*map(tuple, outline1)} == {(0, 0), (100, 0), (0, 100), (100, 100)}


@pytest.mark.parametrize("noise", [0.0, 4.0, 60.0], ids=["flat", "folded", "crumpled"])
def test_union_of_a_mesh_equals_union_of_its_triangles(noise):
    rng = np.random.default_rng(0)
    xy = rng.uniform(0, 300, (400, 2))
    triangles = Delaunay(xy).simplices
    moved = xy + rng.normal(0, noise, xy.shape)
    whole = shapely.union_all(shapely.polygons(moved[triangles]))
    assert shapely.symmetric_difference(_union(moved, triangles), whole).area < 1e-6


@pytest.mark.parametrize("seed", [298, 526, 530])
def test_union_of_a_folded_mesh_equals_union_of_its_triangles(seed):
    """Whose triangles, merged along their sides alone, make a polygon that is not valid."""
    rng = np.random.default_rng(seed)
    n, noise = int(rng.integers(5, 120)), rng.choice([2, 5, 10, 25, 80])
    xy = rng.uniform(0, 300, (n, 2))
    moved = xy + rng.normal(0, noise, xy.shape)
    triangles = Delaunay(xy).simplices
    triangles = triangles[rng.random(len(triangles)) < 0.7]
    whole = shapely.union_all(shapely.polygons(moved[triangles]))
    assert shapely.symmetric_difference(_union(moved, triangles), whole).area < 1e-6


def test_objects_get_the_numbers_of_their_things():
    found = [describe_object(k, points(5), points(5), 1) for k in range(3)]
    things = [Thing(0, (0, 2), ()), Thing(1, (1,), ())]
    assert [item.thing for item in add_things(found, things)] == [0, 1, 0]


def test_confidence_begins_at_its_bounds():
    assert confidence(SURE_LOG_NFA) == SURE
    assert confidence(SURE_LOG_NFA + 0.01) == confidence(LIKELY_LOG_NFA) == LIKELY
    assert confidence(LIKELY_LOG_NFA + 0.01) == DOUBTFUL
    assert confidence(None) is None


def test_confidence_by_pixels_begins_at_its_bounds():
    assert confidence(SURE_PIXELS_LOG_NFA, is_doubtful=False) == SURE
    assert confidence(SURE_PIXELS_LOG_NFA + 0.01, is_doubtful=False) == LIKELY
    for log_nfa in (0.0, 3.0, None):  # an object with enough distinct matches
        assert confidence(log_nfa, is_doubtful=False) == LIKELY
    for log_nfa in (-50.0, 0.0, None):
        assert confidence(log_nfa, is_doubtful=True) == DOUBTFUL


def test_certainty_halves_what_is_missing_from_bound_to_bound():
    points = [measure_certainty(k * LIKELY_LOG_NFA) for k in range(4)]
    assert points == [0, 0.5, 0.75, 0.875]
    pixels = [measure_certainty(k * SURE_PIXELS_LOG_NFA, is_doubtful=False) for k in range(3)]
    assert pixels == [0.5, 0.75, 0.875]
    doubtful = [measure_certainty(log_nfa, is_doubtful=True) for log_nfa in (3.0, -1.0, -1000.0)]
    assert doubtful == sorted(doubtful)
    assert doubtful[-1] < 0.5


@pytest.mark.parametrize("unit", [1.0, 1e-3, 500.0])
def test_outlines_of_swapped_pictures_and_in_other_units_are_the_same(unit):
    rng = np.random.default_rng(3)
    xy0 = rng.uniform(0, 300, (80, 2))
    xy1 = xy0 @ similarity(0.4, 0.7).T + rng.normal(0, 1, (80, 2))
    first, second = draw_outlines(xy0 * unit, xy1 * unit)
    swapped = draw_outlines(xy1 * unit, xy0 * unit)
    assert np.array_equal(first, swapped[1])
    assert np.array_equal(second, swapped[0])
    assert np.allclose(first / unit, draw_outlines(xy0, xy1)[0])


@pytest.mark.parametrize("unit", [1e-3, 500.0])
def test_a_transform_does_not_depend_on_the_unit(unit):
    rng = np.random.default_rng(4)
    xy0 = rng.uniform(0, 300, (80, 2))
    steep = np.array([[1.1, 0.1, 20], [-0.2, 0.9, 5], [5e-4, 1e-4, 1]])
    xy1 = apply_transform(steep, xy0) + rng.normal(0, 0.5, (80, 2))
    (found, kind), (scaled, kind_scaled) = (fit_transform(xy0 * u, xy1 * u, 5 * u) for u in (1.0, unit))
    assert kind == kind_scaled == "homography"
    assert np.allclose(apply_transform(scaled, xy0 * unit) / unit, apply_transform(found, xy0), atol=1e-3)


@pytest.mark.parametrize("kind", ["affine", "homography"])
def test_covariance_of_a_transform_is_that_of_repeated_fits(kind):
    """Of 200 robust fits to noisy points."""
    rng = np.random.default_rng(0)
    true = np.array([[1.1, -0.2, 30], [0.3, 0.9, -20], [0, 0, 1]])
    true[2, :2] = (2e-4, -1e-4) if kind == "homography" else 0
    x = rng.uniform(0, 600, (150, 2))
    errors, variances = [], []
    for _ in range(200):
        y = apply_transform(true, x) + rng.normal(0, 0.5, x.shape)
        fitted = refine_transform(true, kind, x, y)
        errors.append((fitted - true).ravel()[:8])
        variances.append(np.diag(measure_covariance(fitted, kind, x, y)))
    free = slice(0, 6 if kind == "affine" else 8)
    ratio = np.mean(np.square(errors), axis=0)[free] / np.mean(variances, axis=0)[free]
    assert 0.6 < ratio.min() < ratio.max() < 1.3


def test_covariance_of_an_affine_map_counts_a_perspective_that_is_there():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 600, (150, 2))
    true = np.array([[1.0, 0, 0], [0, 1, 0], [4e-5, 0, 1]])
    y = apply_transform(true, x) + rng.normal(0, 0.5, x.shape)
    fitted = refine_transform(np.eye(3), "affine", x, y)
    covariance, corner = measure_covariance(fitted, "affine", x, y), np.array([[600.0, 600.0]])
    error = (apply_transform(fitted, corner) - apply_transform(true, corner))[0]
    derivative = np.zeros((2, 8))
    derivative[0, :3] = derivative[1, 3:6] = [600, 600, 1]
    derivative[:, 6:] = -np.outer(apply_transform(fitted, corner)[0], corner[0])
    deviation = np.sqrt(np.diag(derivative @ covariance @ derivative.T))
    assert (np.abs(error) > 1).all() and (np.abs(error) < 2 * deviation).all()


def test_covariance_counts_repeated_places_once():
    x = np.random.default_rng(0).uniform(0, 300, (40, 2))
    y = x + np.random.default_rng(1).normal(0, 0.4, x.shape)
    once = measure_covariance(np.eye(3), "affine", x, y)
    assert np.allclose(measure_covariance(np.eye(3), "affine", np.tile(x, (5, 1)), np.tile(y, (5, 1))), once)
