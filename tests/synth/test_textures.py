import numpy as np
import pytest

from synth.photographs import read_shipped
from synth.textures import KINDS, Screen, random_screen, texture

SIZE = (200, 260)
SCREEN = Screen(8.0, 0.3)


def drawn(kind, seed, k=0):
    photograph = read_shipped().models[k] if kind == "halftone" else None
    rng = np.random.default_rng(seed)
    return texture(kind, SIZE, rng, random_screen(rng), photograph)


@pytest.mark.parametrize("kind", KINDS)
def test_a_texture_depends_on_its_random_numbers_alone(kind):
    a, b, c = drawn(kind, 5), drawn(kind, 5), drawn(kind, 6)
    assert a.shape == (*SIZE, 3) and a.dtype == np.uint8
    assert np.array_equal(a, b) and not np.array_equal(a, c)
    assert a.std(axis=(0, 1)).min() > 10


@pytest.mark.parametrize("kind", ["dots", "hexagons", "mesh", "checks", "weave"])
@pytest.mark.parametrize("seed", range(3))
def test_periodic_textures_repeat(kind, seed):
    grey = drawn(kind, seed)[..., 1].astype(float)
    spectrum = np.abs(np.fft.rfft2((grey - grey.mean()) * np.outer(*map(np.hanning, SIZE)))) ** 2
    strongest = np.sort(spectrum.ravel())[::-1]
    assert strongest[:60].sum() > 0.5 * strongest.sum()  # a few waves make most of it


def test_a_halftone_is_dark_where_its_photograph_is():
    photograph = np.zeros((100, 100, 3), np.uint8)
    photograph[:, 50:] = 255
    print_ = texture("halftone", SIZE, np.random.default_rng(0), SCREEN, photograph)[..., 0].astype(float)
    assert print_[:, :120].max() < print_[:, 140:].min()
    photograph[:] = 128
    print_ = texture("halftone", SIZE, np.random.default_rng(0), SCREEN, photograph)[..., 0].astype(float)
    assert 0.35 < np.mean(print_ > (print_.min() + print_.max()) / 2) < 0.65  # dots over half of the area


def test_bad_kinds():
    with pytest.raises(ValueError, match="kind must be one of halftone, dots, hexagons"):
        texture("stripes", SIZE, np.random.default_rng(0), SCREEN)
    with pytest.raises(ValueError, match='kind "halftone" must have a photograph to print, got None'):
        texture("halftone", SIZE, np.random.default_rng(0), SCREEN)
