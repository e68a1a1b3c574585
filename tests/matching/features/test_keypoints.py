import cv2
import numpy as np
import pytest
from scipy.ndimage import correlate1d, maximum_filter, minimum_filter
from scipy.spatial import cKDTree
from skimage.data import camera

from matching._common.threads import limit_threads
from matching.features.extraction import rotation
from matching.features.keypoints import (
    MAX_EDGE_RATIO,
    N_LAYERS,
    _differences,
    dog_keypoints,
    find_extrema,
    octave_extrema,
)


def blobs(shape, centres, sigmas, heights):
    """Gaussian blobs on grey, (h, w) uint8."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    image = np.full(shape, 110.0)
    for (cx, cy), sigma, height in zip(centres, sigmas, heights, strict=True):
        image += height * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * sigma**2))
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def rows_of_blobs(rng, min_sigma, max_sigma):
    """Bright and dark blobs 50 px apart: the picture, centres (n, 2), sigmas (n,) and heights (n,)."""
    x, y = np.meshgrid(np.arange(40, 460, 50), np.arange(40, 460, 50))
    centres = np.stack([x.ravel(), y.ravel()], axis=1) + rng.uniform(-0.5, 0.5, (x.size, 2))
    sigmas = np.exp(rng.uniform(*np.log([min_sigma, max_sigma]), len(centres)))
    heights = rng.choice([-90.0, 90.0], len(centres))
    return blobs((480, 480), centres, sigmas, heights), centres, sigmas, heights


@pytest.mark.parametrize(("min_sigma", "max_sigma"), [(1.5, 2.5), (2.0, 4.0), (4.0, 8.0)])
def test_blobs_are_found_at_their_place_and_scale(min_sigma, max_sigma):
    grey, centres, sigmas, heights = rows_of_blobs(np.random.default_rng(1), min_sigma, max_sigma)
    found = dog_keypoints(grey)
    near = cKDTree(found.xy).query_ball_point(centres, 2.0)
    best = np.array([max(rows, key=lambda r: abs(found.response[r])) for rows in near])
    errors = found.xy[best] - centres
    assert np.abs(errors).max() < 0.1 * max_sigma
    assert np.abs(errors.mean(axis=0)).max() < 0.03  # no bias, of a half or a quarter pixel
    assert np.array_equal(found.response[best] < 0, heights > 0)
    # The difference of two Gaussians, k = 2^(1/3) apart, is largest for a blob of sqrt(k) times the sigma of
    # the first; the camera's blur is in the blob already.
    ratio = found.sigma[best] * 2 ** (1 / 6) / sigmas
    assert np.median(ratio) == pytest.approx(1.0, abs=0.06)
    assert ratio.std() < 0.06


def half_pixels(image):
    """An image (h, w) at every half pixel, (2h - 1, 2w - 1): Lagrange's formula for six."""
    taps = np.array([3, -25, 150, 150, -25, 3]) / 256
    for axis in (0, 1):
        between = correlate1d(image, taps, axis=axis, origin=-1)  # of pixels -2 .. 3
        shape = list(image.shape)
        shape[axis] = 2 * shape[axis] - 1
        finer = np.empty(shape)
        np.moveaxis(finer, axis, 0)[::2] = np.moveaxis(image, axis, 0)
        np.moveaxis(finer, axis, 0)[1::2] = np.moveaxis(between, axis, 0)[:-1]
        image = finer
    return image


def extrema_by_definition(dog, min_response):
    """Layer and half pixels y, x (n, 3) of the extrema of the doubled differences that are no edges."""
    fine = np.stack([half_pixels(layer.astype(float)) for layer in dog])
    highest, lowest = maximum_filter(fine, 3) == fine, minimum_filter(fine, 3) == fine
    at = np.argwhere((highest & (fine > min_response)) | (lowest & (fine < -min_response)))
    height, width = fine.shape[1:]
    inner = (
        (at[:, 0] > 0) & (at[:, 0] < len(dog) - 1) & (at[:, 1:] >= 8).all(axis=1)
        & (at[:, 1] < height - 7) & (at[:, 2] < width - 7)
    )  # fmt: skip
    s, y, x = at[inner].T
    xx = fine[s, y, x + 1] + fine[s, y, x - 1] - 2 * fine[s, y, x]
    yy = fine[s, y + 1, x] + fine[s, y - 1, x] - 2 * fine[s, y, x]
    xy = (fine[s, y + 1, x + 1] - fine[s, y + 1, x - 1] - fine[s, y - 1, x + 1] + fine[s, y - 1, x - 1]) / 4
    round_ = (xx + yy) ** 2 * MAX_EDGE_RATIO < (MAX_EDGE_RATIO + 1) ** 2 * (xx * yy - xy**2)
    return at[inner][round_]


def test_extrema_equal_those_of_the_doubled_image():
    min_response = np.float32(0.04 * 255 / N_LAYERS)
    image = cv2.GaussianBlur(camera()[100:300, 150:400].astype(np.float32), (0, 0), 0.62)
    dog, _ = _differences(image)
    found = octave_extrema(dog, min_response)
    expected = extrema_by_definition(dog, min_response)
    assert len(expected) > 140
    expected = cKDTree(expected[:, [2, 1, 0]] / [2, 2, 1])
    gap = cKDTree(found[:, :3]).query(expected.data)[0]
    assert (gap < 1.0).mean() > 0.85  # others are far from the vertex, or are no extrema among the pixels
    # Other extrema reach the smallest response only at the vertex, between the half pixels.
    clear = np.abs(found[:, 3]) > 1.2 * min_response
    assert (expected.query(found[clear, :3], distance_upper_bound=1.0)[0] < 1.0).all()


def test_octave_ends_at_twice_its_first_blur():
    impulse = np.zeros((61, 61), np.float32)
    impulse[30, 30] = 1.0
    image = cv2.GaussianBlur(impulse, (0, 0), 0.8)
    dog, doubled = _differences(image)
    assert dog.shape == (N_LAYERS + 2, 61, 61)
    assert np.allclose(image + dog[:N_LAYERS].sum(axis=0), doubled, atol=1e-7)
    x = np.arange(61) - 30
    assert (doubled.sum(axis=0) * x**2).sum() == pytest.approx(1.6**2, rel=0.02)


def detect_both(grey):
    """Centres (n, 2) and scales (n,) of our key points and of OpenCV's, each place and scale once."""
    found = dog_keypoints(grey)
    rows = np.array([(*k.pt, k.size / 2) for k in cv2.SIFT_create().detect(grey)])
    rows = np.unique(rows, axis=0)  # one for each orientation
    # OpenCV doubles the image without moving the pixel grid, so all key points lie a quarter of a pixel too
    # far right and down.
    return (found.xy, found.sigma), (rows[:, :2] - 0.25, rows[:, 2])


def turned_copy(grey, angle, scale, rng):
    """A picture turned (radians) and scaled about its middle, with noise; and the map (2, 3) to it."""
    linear = scale * rotation(angle)
    middle = (np.array(grey.shape[::-1]) - 1) / 2
    matrix = np.column_stack([linear, middle - linear @ middle])
    copy = cv2.warpAffine(grey, matrix, grey.shape[::-1], flags=cv2.INTER_CUBIC)
    return np.clip(np.rint(copy + rng.normal(0, 2.0, grey.shape)), 0, 255).astype(np.uint8), matrix


def found_again(key_points, copys, matrix, shape):
    """Whether each key point whose place lies in the copy has one of about the same scale there."""
    (xy, sigma), (xy_copy, sigma_copy) = key_points, copys
    there, sigma = xy @ matrix[:, :2].T + matrix[:, 2], sigma * np.sqrt(np.linalg.det(matrix[:, :2]))
    inside = ((there > 20) & (there < np.array(shape[::-1]) - 20)).all(axis=1)
    there, sigma = there[inside], sigma[inside, None]
    near = cKDTree(xy_copy).query(there, 8)[1]
    gap = np.linalg.norm(xy_copy[near] - there[:, None], axis=2)
    is_alike = np.abs(np.log2(sigma_copy[near] / sigma)) < 0.5
    return (is_alike & (gap <= 1.5 * np.maximum(sigma, 1))).any(axis=1)


@pytest.mark.parametrize(("angle", "scale"), [(0.4, 1.0), (-1.3, 0.85), (0.9, 1.15)])
def test_key_points_are_found_again_as_often_as_opencvs(angle, scale):
    copy, matrix = turned_copy(camera(), angle, scale, np.random.default_rng(5))
    pairs = zip(detect_both(camera()), detect_both(copy), strict=True)
    ours, opencvs = (found_again(*pair, matrix, copy.shape) for pair in pairs)
    assert ours.sum() > opencvs.sum()
    assert ours.mean() > 0.95 * opencvs.mean()


def test_edges_have_no_key_points():
    x = np.arange(200)
    step = np.tile(np.where(x < 99, 40, 200).astype(np.uint8), (200, 1))
    assert len(dog_keypoints(step).xy) == 0


@pytest.mark.parametrize("shape", [(1, 1), (3, 300), (8, 8), (9, 9), (9, 400), (40, 30)])
@pytest.mark.parametrize("value", [0, 255])
def test_flat_and_small_pictures_have_no_key_points(shape, value):
    found = dog_keypoints(np.full(shape, value, np.uint8))
    assert found.xy.shape == (0, 2)
    assert len(found.sigma) == len(found.response) == 0


def test_extrema_among_pixels_equal_the_definition():
    rng = np.random.default_rng(3)
    dog = rng.normal(size=(3, 200, 300)).astype(np.float32)
    for sign in (1, -1):
        layer = dog[1] * sign
        high = (maximum_filter(layer, 3) == layer) & (layer > 0.5)
        highest_beside = np.maximum(*(maximum_filter(sign * dog[k], 3) for k in (0, 2)))
        high &= layer * np.float32(1.5) >= highest_beside
        expected = np.argwhere(high)
        expected = expected[((expected >= 4) & (expected < [196, 296])).all(axis=1)]
        found = find_extrema(dog, 1, np.float32(0.5), np.float32(1.5))
        found = found[dog[1][tuple(found.T)] * sign > 0]
        assert len(found) > 1100
        assert np.array_equal(found, expected)


def test_key_points_do_not_depend_on_the_number_of_threads():
    with limit_threads(1):
        one = dog_keypoints(camera())
    with limit_threads(3):
        three = dog_keypoints(camera())
    for name in ("xy", "sigma", "response"):
        assert np.array_equal(getattr(one, name), getattr(three, name))
