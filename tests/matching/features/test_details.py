import numpy as np
import pytest
import skimage.data
from scipy.spatial import cKDTree

from matching._common import opencv
from matching.features import details
from matching.features.extraction import FeatureConfig, extract_features, measure_by_kind
from matching.settings import REGIONS

SIZE = 512  # of the picture, and half of it the working size


@pytest.fixture(scope="module")
def picture():
    return np.ascontiguousarray(skimage.data.camera())


@pytest.fixture(scope="module")
def coarse(picture):
    return extract_features(opencv.resize_area(picture, SIZE // 2, SIZE // 2))


def describe(picture, coarse, mask=None, **more):
    return details.extract_details(picture, mask, coarse, np.array([2.0, 2.0]), **more)


def sizes(features):
    return np.sqrt(np.abs(np.linalg.det(features.frames)))


@pytest.mark.parametrize(
    ("regions", "tiled"), [(("mser", "sift"), (1,)), (("sift",), (1,)), (("mser",), (0,))]
)
def test_small_features_come_from_tiles_and_others_from_the_working_size(picture, coarse, regions, tiled):
    coarse, config = coarse[np.isin(coarse.kind, [REGIONS.index(r) for r in regions])], FeatureConfig(regions)
    found = describe(picture, coarse, config=config)
    # the faintest key points are left out in tiles, and second directions
    whole = extract_features(picture, FeatureConfig(sift_contrast=details.MIN_CONTRAST, sift_orientations=1))
    whole = whole[np.isin(whole.kind, tiled)]
    coarsest = measure_by_kind(config, "coarsest")
    min_radius = 2 * np.where(np.isin(np.arange(len(REGIONS)), tiled), coarsest[: len(REGIONS)], 0)
    is_small = sizes(found) < min_radius[found.kind]
    expected = whole[sizes(whole) < min_radius[whole.kind]]
    assert np.array_equal(np.sort(found.xy[is_small], axis=0), np.sort(expected.xy, axis=0))
    large = coarse[2 * sizes(coarse) >= min_radius[coarse.kind]]
    assert np.allclose(found.xy[~is_small], 2 * large.xy + 0.5, rtol=0, atol=1e-9)
    assert np.array_equal(found.descriptors[~is_small], large.descriptors)


def test_tiling_hardly_changes_the_features(picture, coarse, monkeypatch):
    config = FeatureConfig(max_features=10**6)  # no tile has more than it may have
    whole = describe(picture, coarse, config=config)
    monkeypatch.setattr(details, "TILE_SIZE", 200)
    cut = describe(picture, coarse, config=config)
    assert len(cut) == pytest.approx(len(whole), rel=0.02)
    # MSERs depend on what is around them: a few differ
    apart, _ = cKDTree(whole.xy).query(cut.xy)
    assert (apart < 1e-3).mean() > 0.98
    at_cut = (np.abs(cut.xy % (SIZE / 3) - SIZE / 6) > SIZE / 6 - 20).any(axis=1)
    assert (apart[at_cut] < 1e-3).mean() > 0.97


def test_details_respect_the_mask_and_max_features(picture, coarse, monkeypatch):
    mask = np.zeros(picture.shape, bool)
    mask[:, :300] = True
    few = describe(picture, coarse[:0], mask)
    assert 100 < len(few) < len(describe(picture, coarse[:0]))
    assert few.xy[:, 0].max() < 300
    config = FeatureConfig(max_features=50)  # of the working picture, which is half as wide and high
    assert len(describe(picture, coarse[:0], config=config)) == 4 * 50
    monkeypatch.setattr(details, "TILE_SIZE", SIZE // 2)
    assert len(describe(picture, coarse[:0], config=config)) == 4 * 50
