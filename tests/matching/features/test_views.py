import numpy as np
import pytest
import skimage.data

from matching._common import opencv
from matching._common.threads import limit_threads
from matching.features.extraction import FeatureConfig, Features, extract_features, measure_by_kind, rotation
from matching.features.views import (
    View,
    ViewedPicture,
    extract_from_view,
    join_features,
    map_back,
    view_levels,
)

COLUMNS = ("xy", "frames", "descriptors", "kind", "bright")


@pytest.fixture(scope="module")
def grey():
    return skimage.data.camera()[64:320, 96:416]


def some_features(n, seed=0):
    rng = np.random.default_rng(seed)
    return Features(
        rng.uniform(0, 200, (n, 2)),
        rng.normal(0, 5, (n, 2, 2)),
        np.zeros((n, 128), np.float32),
        np.zeros(n, np.int8),
        np.ones(n, bool),
    )


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in COLUMNS)


@pytest.mark.parametrize("view", [View(1.0, 0.7), View(4.0, 0.0), View(8.0, 2.5)])
def test_frames_are_mapped_back_by_the_affine_map_of_the_view(view, grey):
    _, matrix = opencv.tilt(grey, view.tilt, view.angle, 0.8)
    truth = some_features(30)
    seen = Features(
        truth.xy @ matrix[:, :2].T + matrix[:, 2],
        matrix[:, :2] @ truth.frames,
        truth.descriptors,
        truth.kind,
        truth.bright,
    )
    back = map_back(seen, matrix)
    np.testing.assert_allclose(back.xy, truth.xy, atol=1e-9)
    np.testing.assert_allclose(back.frames, truth.frames, atol=1e-9)


@pytest.mark.parametrize(("tilt", "angle"), [(1.0, 0.4), (2.0, 0.0), (4.0, 1.0), (8.0, 2.8)])
def test_view_shows_the_picture_under_its_matrix(tilt, angle):
    y, x = np.mgrid[:180, :240]
    ramp = (0.5 * x + 0.6 * y).astype(np.uint8)  # linear: neither blur nor interpolation changes it
    view, matrix = opencv.tilt(ramp, tilt, angle, 0.8)
    v, u = np.mgrid[: view.shape[0], : view.shape[1]]
    at = (np.stack([u, v], axis=-1) - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T
    margin = 3 * tilt
    inside = ((at > margin) & (at < np.array([239, 179]) - margin)).all(axis=-1)
    assert inside.mean() > 0.3
    expected = at @ [0.5, 0.6]
    assert np.abs(view[inside] - expected[inside]).max() < 2.0
    assert abs(np.linalg.det(matrix[:, :2])) == pytest.approx(1 / tilt)


@pytest.mark.parametrize("angle", [0.0, np.pi / 4])
def test_squeezed_blob_gets_the_ellipse_of_the_picture(angle):
    """A Gaussian blob, four times as long as wide, is a round one in the view that squeezes it."""
    long, narrow = 32.0, 8.0
    turn = rotation(np.array([-angle]))[0]  # the view turns by +angle, and squeezes x
    shape = turn @ np.diag([long, narrow])
    y, x = np.mgrid[:400, :400].astype(float)
    offset = np.stack([x - 200, y - 200], axis=-1) @ np.linalg.inv(shape).T
    image = np.rint(40 + 180 * np.exp(-(offset**2).sum(axis=-1) / 2)).astype(np.uint8)
    found = extract_from_view(image, View(4.0, angle, ("sift",)))
    nearest = np.linalg.norm(found.xy - 200, axis=1).argmin()
    np.testing.assert_allclose(found.xy[nearest], [200, 200], atol=1.5)
    moments = found.frames[nearest] @ found.frames[nearest].T
    expected = shape @ shape.T
    np.testing.assert_allclose(moments / np.trace(moments), expected / np.trace(expected), atol=0.03)


def test_features_keep_away_from_the_border_and_from_what_is_masked(grey):
    mask = np.ones(grey.shape, bool)
    mask[:, :160] = False
    found = extract_from_view(grey, View(2.0, 0.6), mask=mask)
    assert len(found) > 30
    assert found.xy[:, 0].min() > 156  # the view's pixels are two of the picture's
    half = (
        np.linalg.norm(found.frames, axis=2) * measure_by_kind(FeatureConfig(), "border")[found.kind][:, None]
    )
    assert (found.xy - half >= -0.5).all()
    assert (found.xy + half <= np.array(grey.shape[::-1]) - 0.5).all()


def test_identity_view_has_the_features_of_the_picture(grey):
    plain = extract_features(grey)
    found = extract_from_view(grey, View(1.0, 0.0), FeatureConfig(max_features=80_000))
    rows = [np.flatnonzero((plain.xy == xy).all(axis=1)) for xy in found.xy]
    assert len(found) > 0.5 * len(plain)
    assert all(len(r) for r in rows)


def test_levels_begin_with_few_views():
    few, many = view_levels()
    assert (len(few), len(many)) == (12, 56)
    assert set(few) <= set(many)
    for tilt in (2.0, 4.0, 8.0):
        angles = [view.angle for view in many if view.tilt == tilt]
        np.testing.assert_allclose(np.diff(sorted(angles)), np.pi / (4 * tilt))
    assert {view.kinds for view in view_levels(("mser",))[1]} == {("mser",)}


def test_features_of_views_are_computed_once(grey, monkeypatch):
    views = (View(2.0, 0.3), View(4.0, 1.0), View(4.0, 2.0))
    with limit_threads(1):
        one = ViewedPicture(grey, None, FeatureConfig()).features(views)
    picture = ViewedPicture(grey, None, FeatureConfig())
    with limit_threads(3):
        assert same(picture.features(views), one)
    monkeypatch.setattr("matching.features.views.extract_from_view", None)  # can't be called any more
    assert same(join_features([picture.features(views[:1]), picture.features(views[1:])]), one)
