import math

import cv2
import numpy as np
import pytest
import skimage.data
from planting import similarity
from scipy.spatial import cKDTree
from skimage.transform import AffineTransform, warp

from matching._common.threads import limit_threads
from matching.features import _feature_kernels
from matching.features.built_in.mser import mser_ellipses
from matching.features.extraction import (
    DESCRIPTOR_NORM,
    FeatureConfig,
    Features,
    extract_features,
    mirrored_features,
    negative_features,
    rotation,
)
from matching.features.stable_regions import find_stable_regions
from matching.features.windows import build_pyramid, describe, find_orientations, make_weights
from matching.pictures.images import make_picture_of_array
from matching.settings import REGIONS


def grey_photograph(name):
    return make_picture_of_array(getattr(skimage.data, name)()).grey


def drawn_ellipse(centre, axes, angle, shape=(200, 240), dark=60, light=200, fine=8):
    """A bright ellipse, each pixel the mean over its area: (h, w) uint8."""
    at = [(np.arange(n * fine) + 0.5) / fine - 0.5 for n in shape]
    y, x = np.meshgrid(*at, indexing="ij")
    u, v = similarity(-angle) @ np.stack([x.ravel() - centre[0], y.ravel() - centre[1]])
    inside = (u / axes[0]) ** 2 + (v / axes[1]) ** 2 < 1
    share = inside.reshape(shape[0], fine, shape[1], fine).mean(axis=(1, 3))
    return np.rint(dark + (light - dark) * share).astype(np.uint8)


def opencv_moments(grey, bright, delta, min_area, max_area, max_variation):
    """Mean and central second moments (n, 5) of the regions that OpenCV finds."""
    detector = cv2.MSER.create(delta, min_area, max_area, max_variation, 0.0)
    detector.setPass2Only(True)
    regions = detector.detectRegions(grey if bright else 255 - grey)[0]
    xy = [region.T.astype(float) for region in regions]
    return np.array(
        [[x.mean(), y.mean(), x.var(), np.mean((x - x.mean()) * (y - y.mean())), y.var()] for x, y in xy]
    )


@pytest.mark.parametrize("bright", [False, True])
@pytest.mark.parametrize("settings", [(3, 30, 5000, 0.4), (1, 5, 300, 0.25), (20, 100, 2000, 0.5)])
@pytest.mark.parametrize("kind", ["photograph", "noise", "few levels"])
def test_regions_equal_those_of_opencv(kind, settings, bright):
    if kind == "photograph":
        grey = np.ascontiguousarray(grey_photograph("camera")[:300, 100:350])
    else:
        noise = cv2.GaussianBlur(np.random.default_rng(0).normal(size=(90, 130)), (0, 0), 1.5)
        grey = np.clip(128 + 400 * noise, 0, 255).astype(np.uint8)
        grey = grey // 64 * 64 if kind == "few levels" else grey
    found = find_stable_regions(grey, bright, *settings)
    expected = opencv_moments(grey, bright, *settings)
    assert len(found) == len(expected)
    if len(found):
        gap, nearest = cKDTree(expected).query(found)
        assert gap.max() < 1e-6
        assert len(np.unique(nearest)) == len(found)


def test_regions_come_after_those_within_them():
    y, x = np.mgrid[:60, :60]
    grey = np.select([(x - 30) ** 2 + (y - 30) ** 2 < r**2 for r in (8, 16, 24)], [10, 60, 110], 200).astype(
        np.uint8
    )
    found = find_stable_regions(grey, False, 3, 30, 3000, 0.4)
    assert (np.diff(found[:, 2]) > 0).all()
    assert len(found) >= 3


@pytest.mark.parametrize("invert", [False, True], ids=["bright", "dark"])
@pytest.mark.parametrize(
    ("axes", "angle"), [((40, 40), 0.0), ((45, 20), 0.0), ((50, 18), 0.6), ((30, 22), -1.2)]
)
def test_ellipses_equal_a_drawn_ellipse(axes, angle, invert):
    centre = (120.3, 98.6)
    grey = drawn_ellipse(centre, axes, angle)
    if invert:
        grey = 255 - grey
    config = FeatureConfig(mser_max_area=0.5)
    assert len(mser_ellipses(grey, config, bright=invert)[0]) == 0
    xy, frames = mser_ellipses(grey, config, bright=not invert)
    assert len(xy) >= 1
    assert np.abs(xy - centre).max() < 0.5
    for frame in frames:
        assert np.allclose(frame, frame.T)  # upright: no rotation yet
        values, vectors = np.linalg.eigh(frame)
        assert np.allclose(values[::-1], axes, rtol=0.05)
        if axes[0] != axes[1]:
            direction = math.atan2(vectors[1, 1], vectors[0, 1])
            assert abs(math.sin(direction - angle)) < 0.02


def test_thin_and_empty_images_have_no_regions():
    for shape in ((1, 1), (2, 300), (3, 300), (1, 40), (300, 300)):
        features = extract_features(np.zeros(shape, np.uint8))
        assert len(features) == 0
        assert features.descriptors.shape == (0, 128)
        assert features.frames.shape == (0, 2, 2)


def test_key_points_know_whether_they_are_bright():
    grey = np.full((200, 400), 120.0)
    y, x = np.mgrid[:200, :400]
    grey += 80 * np.exp(-((x - 100) ** 2 + (y - 100) ** 2) / 128)
    grey -= 80 * np.exp(-((x - 300) ** 2 + (y - 100) ** 2) / 128)
    features = extract_features(np.rint(grey).astype(np.uint8), FeatureConfig(regions=("sift",)))
    left = features.xy[:, 0] < 200
    centre = np.abs(features.xy - np.where(left, 100, 300)[:, None] * [1, 0] - [0, 100]).max(axis=1) < 3
    assert left[centre].any()
    assert not left[centre].all()
    assert (features.bright[centre] == left[centre]).all()


def test_a_list_of_regions_is_kept_as_a_tuple():
    assert FeatureConfig(regions=["sift"]) == FeatureConfig(regions=("sift",))
    assert hash(FeatureConfig(regions=["sift"])) == hash(FeatureConfig(regions=("sift",)))


def test_pyramid_halves_the_size_at_every_second_level():
    grey = grey_photograph("camera")[:200, :300]
    pyramid = build_pyramid(grey)
    offset, height, width, step = pyramid.levels.T
    assert np.allclose(pyramid.blur[1:] / pyramid.blur[:-1], math.sqrt(2))
    assert np.array_equal(step, 2.0 ** (np.arange(len(step)) // 2))
    assert np.array_equal(np.append(offset[1:], len(pyramid.pixels)), offset + height * width)
    means = [
        pyramid.pixels[int(o) : int(o + h * w)].mean() for o, h, w in zip(offset, height, width, strict=True)
    ]
    assert np.allclose(means[:6], grey.mean(), atol=3)


def similarity_of(name, angle, scale):
    """A photograph and its copy turned and scaled about the middle, and the map (2, 3) between the pixels."""
    grey = grey_photograph(name)[:400, :400]
    centre = np.array([199.5, 199.5])
    linear = similarity(angle, scale)
    matrix = np.eye(3)
    matrix[:2, :2], matrix[:2, 2] = linear, centre - linear @ centre
    turned = warp(grey.astype(float), AffineTransform(matrix).inverse, order=3, mode="edge")
    return grey, np.clip(np.rint(turned), 0, 255).astype(np.uint8), matrix[:2]


@pytest.mark.parametrize(("angle", "scale"), [(0.0, 1.0), (0.5, 1.0), (-2.0, 1.0), (0.0, 1.4), (1.0, 0.75)])
def test_descriptors_follow_the_frame(angle, scale):
    grey, turned, matrix = similarity_of("astronaut", angle, scale)
    rng = np.random.default_rng(2)
    xy = rng.uniform(120, 280, (200, 2))
    windows = rng.uniform(14, 30, (200, 1, 1)) * rotation(rng.uniform(0, 2 * np.pi, 200))
    here = describe(build_pyramid(grey), xy, windows)
    there = describe(build_pyramid(turned), xy @ matrix[:, :2].T + matrix[:, 2], matrix[:, :2] @ windows)
    distance = np.linalg.norm(here - there, axis=1) / DESCRIPTOR_NORM
    stranger = np.linalg.norm(here - np.roll(there, 1, axis=0), axis=1) / DESCRIPTOR_NORM
    assert np.median(distance) < 0.25
    assert np.median(stranger) > 2.5 * np.median(distance)


def test_orientations_follow_the_image():
    angle = 0.8
    grey, turned, matrix = similarity_of("astronaut", angle, 1.0)
    rng = np.random.default_rng(3)
    xy = rng.uniform(120, 280, (200, 2))
    upright = np.repeat(20 * np.eye(2)[None], 200, axis=0)
    here = find_orientations(build_pyramid(grey), xy, upright, 1)[:, 0]
    there = find_orientations(build_pyramid(turned), xy @ matrix[:, :2].T + matrix[:, 2], upright, 1)[:, 0]
    turn = np.angle(np.exp(1j * (there - here - angle)))
    assert np.mean(np.abs(turn) < 0.2) > 0.75  # a window may have two directions of nearly equal strength


def test_orientation_of_a_ramp_is_its_gradient():
    y, x = np.mgrid[:120, :120]
    for angle in (0.0, 0.9, 2.5, -1.3):
        ramp = np.rint(128 + (np.cos(angle) * (x - 60) + np.sin(angle) * (y - 60))).astype(np.uint8)
        found = find_orientations(build_pyramid(ramp), np.array([[60.0, 60.0]]), 20 * np.eye(2)[None], 2)
        assert abs(np.angle(np.exp(1j * (found[0, 0] - angle)))) < 0.05


def test_flat_windows_have_a_descriptor_of_zeros_and_no_orientation():
    pyramid = build_pyramid(np.full((80, 80), 77, np.uint8))
    window = 10 * np.eye(2)[None]
    assert not describe(pyramid, np.array([[40.0, 40.0]]), window).any()
    assert np.isnan(find_orientations(pyramid, np.array([[40.0, 40.0]]), window, 2)).all()


@pytest.fixture(scope="module")
def camera():
    grey = grey_photograph("camera")[60:320, 60:360]
    return grey, extract_features(grey)


def test_features_have_documented_shapes_and_ranges(camera):
    grey, features = camera
    n = len(features)
    assert features.xy.shape == (n, 2)
    assert features.frames.shape == (n, 2, 2)
    assert features.descriptors.shape == (n, 128)
    assert features.descriptors.dtype == np.float32
    assert set(np.unique(features.kind)) == {0, 1}
    assert (features.xy >= -0.5).all()
    assert (features.xy <= np.array(grey.shape)[::-1] - 0.5).all()
    assert (np.linalg.det(features.frames) > 0).all()
    assert np.array_equal(features.descriptors, np.rint(features.descriptors))
    assert np.abs(np.linalg.norm(features.descriptors, axis=1) - DESCRIPTOR_NORM).max() < 10
    assert (features.descriptors.astype(np.int64) ** 2).sum(axis=1).max() < 2**24  # exact in float32


def test_kinds_can_be_extracted_alone(camera):
    grey, both = camera
    for k, kind in enumerate(REGIONS):
        alone = extract_features(grey, FeatureConfig(regions=(kind,)))
        same = both[both.kind == k]
        assert isinstance(same, Features)
        assert np.array_equal(alone.descriptors, same.descriptors)
        assert np.array_equal(alone.xy, same.xy)


def test_features_do_not_depend_on_the_number_of_threads(camera):
    grey, _ = camera
    with limit_threads(1):
        alone = extract_features(grey)
    with limit_threads(4):
        four = extract_features(grey)
    for name in ("xy", "frames", "descriptors", "kind"):
        assert getattr(alone, name).tobytes() == getattr(four, name).tobytes()


def test_masked_places_have_no_features(camera):
    grey, everywhere = camera
    mask = np.zeros(grey.shape, bool)
    mask[:, :150] = True
    features = extract_features(grey, mask=mask)
    assert 0 < len(features) < len(everywhere)
    assert features.xy[:, 0].max() <= 149.5
    assert len(extract_features(grey, mask=np.zeros(grey.shape, bool))) == 0


def test_gradients_equal_differences_of_a_patch():
    patch = np.random.default_rng(0).normal(size=(22, 22)).astype(np.float32)
    patch[:4, :4] = 1.0  # flat
    patch[10:13, 5:8] = [[0, 0, 0], [3, 0, 1], [0, 0, 0]]  # straight to the left
    weight, filled = make_weights(0.7), np.zeros((2, 440), np.float32)
    _feature_kernels._gradients.py_func(patch.ravel(), weight, *filled)  # parts of kernels have no wrapper
    (weight, across), (magnitude, _), (direction, _) = (
        np.split(rows.reshape(20, 22), [20], axis=1) for rows in (weight, *filled)
    )
    assert (across == 0).all()
    profile = np.exp(-(np.linspace(-0.95, 0.95, 20) ** 2) / (2 * 0.7**2))
    assert np.allclose(weight, np.outer(profile, profile), rtol=1e-6)
    x, y = patch[1:-1, 2:] - patch[1:-1, :-2], patch[2:, 1:-1] - patch[:-2, 1:-1]
    assert np.allclose(magnitude, np.hypot(x, y) * weight, rtol=1e-6)
    assert np.abs(direction - np.arctan2(y, x) * 4 / np.pi).max() < 4e-6
    assert magnitude[0, 0] == direction[0, 0] == 0
    assert direction[10, 5] == 4


def test_mirrored_features_equal_those_of_the_mirrored_picture(camera):
    grey = np.ascontiguousarray(grey_photograph("camera")[:200, 100:300])
    features = extract_features(grey, FeatureConfig(regions=("sift",)))[:300]
    mirrored, flip = mirrored_features(features), np.diag([-1.0, 1.0])
    assert (np.linalg.det(mirrored.frames) < 0).all()
    xy = features.xy * [-1, 1] + [grey.shape[1] - 1, 0]
    pyramid = build_pyramid(np.ascontiguousarray(grey[:, ::-1]))
    seen = describe(pyramid, xy, flip @ mirrored.frames * FeatureConfig().sift_window)
    distance = [np.linalg.norm(seen - d.descriptors, axis=1) / DESCRIPTOR_NORM for d in (mirrored, features)]
    assert np.median(distance[0]) < 0.02
    assert np.median(distance[1]) > 0.3
    assert np.array_equal(mirrored_features(mirrored).descriptors, features.descriptors)


def test_negative_features_equal_those_of_the_negative_picture():
    grey = np.ascontiguousarray(grey_photograph("camera")[:200, 100:300])
    features, negative = extract_features(grey), negative_features(extract_features(255 - grey))
    order = [
        np.lexsort((*f.frames.reshape(-1, 4).round(3).T, *f.xy.round(3).T, f.bright))
        for f in (features, negative)
    ]
    one, other = features[order[0]], negative[order[1]]
    assert np.array_equal(one.bright, other.bright)
    np.testing.assert_allclose(one.xy, other.xy, atol=2e-3)
    np.testing.assert_allclose(one.frames, other.frames, atol=2e-3)
    assert np.linalg.norm(one.descriptors - other.descriptors, axis=1).max() < 0.02 * DESCRIPTOR_NORM
