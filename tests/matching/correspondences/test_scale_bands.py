import numpy as np
import pytest
from planting import record

from matching.correspondences.candidates import CandidateConfig
from matching.correspondences.scale_bands import HALF_BAND, match_by_scale
from matching.features.extraction import DESCRIPTOR_NORM, Features


def features(rng, n, size):
    h = rng.exponential(size=(n, 128))
    descriptors = np.rint(DESCRIPTOR_NORM * np.sqrt(h / h.sum(axis=1, keepdims=True))).astype(np.float32)
    return record(
        Features, n, xy=rng.uniform(0, 1000, (n, 2)), frames=np.eye(2) * size[:, None, None],
        descriptors=descriptors, kind=rng.integers(0, 2, n).astype(np.int8), bright=rng.random(n) < 0.5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    return [features(rng, n, np.exp2(rng.uniform(0, 4, n))) for n in (60, 80)]


def literal_pairs(features0, features1, middle):
    """The pairs of a band by the definition, as (row0, row1): the nearest in each octave, then the scale."""
    size0, size1 = (np.log2(np.sqrt(np.linalg.det(f.frames))) for f in (features0, features1))
    pairs = set()
    for i in range(len(features0)):
        alike = (features1.kind == features0.kind[i]) & (features1.bright == features0.bright[i])
        for octave in range(5):
            rows = np.flatnonzero(alike & (np.floor(size1) == octave))
            squared = ((features1.descriptors[rows] - features0.descriptors[i]) ** 2).sum(axis=1)
            near = rows[np.argsort(squared, kind="stable")[:5]]
            pairs |= {(i, int(j)) for j in near if abs(size1[j] - size0[i] - middle) <= HALF_BAND}
    return pairs


def test_bands_hold_the_nearest_of_each_octave_at_their_scale(pair):
    config = CandidateConfig(max_distance=2, duplicate_radius=0, max_matches=10_000)
    bands = list(match_by_scale(*pair, (-2.0, 1.0), config))
    assert len(bands) == 7
    for n, (best, reserve) in enumerate(bands):
        expected = literal_pairs(*pair, -2 + n * HALF_BAND)
        assert len(expected) > 20
        assert len(best) == len(expected)
        assert set(zip(best.row0.tolist(), best.row1.tolist(), strict=True)) == expected
        assert len(reserve) == 0


def test_reserve_of_a_band_continues_its_best(pair):
    config = CandidateConfig(max_distance=2, duplicate_radius=0, max_matches=20)
    (best, reserve), (all_of_it, _) = (
        next(iter(match_by_scale(*pair, (-1.0, -1.0), settings)))
        for settings in (config, CandidateConfig(max_distance=2, duplicate_radius=0))
    )
    for kind in (0, 1):
        ranked = np.sort(all_of_it.score[all_of_it.kind == kind])
        assert np.array_equal(best.score[best.kind == kind], ranked[:10])
        assert np.array_equal(reserve.score[reserve.kind == kind], ranked[10:20])


def test_pictures_without_features_have_empty_bands(pair):
    for a, b in ((pair[0][:0], pair[1]), (pair[0], pair[1][:0])):
        assert [len(best) for best, _ in match_by_scale(a, b, (0.0, 0.5))] == [0, 0]
