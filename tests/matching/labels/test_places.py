from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from matching.labels.places import Place, choose_places, find_places, number_tracks
from matching.labels.references import Reference
from matching.objects.completeness import Completeness
from matching.objects.description import describe_object


def square(name, x, y, side=100.0, *, rank=0.5, whole=True):
    corners = ((x, y), (x + side, y), (x + side, y + side), (x, y + side))
    return Place(name, corners, 0.7, "sure", rank, whole)


def test_best_of_overlapping_places_is_chosen():
    sister, own = square("sister", 5, 5, rank=0.3), square("own", 0, 0, rank=0.4)
    logo, other = square("logo", 20, 20, 20, whole=False, rank=0.9), square("own", 300, 0)
    assert choose_places([sister, own, logo, other]) == [other, own]
    inner = square("logo", 20, 20, 20, rank=0.1)  # a thing of its own on another one
    assert choose_places([own, inner]) == [own, inner]
    assert choose_places([logo, other]) == [other, logo]


def test_outline_of_reference_is_mapped_to_scene():
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(100, 200, (80, 2))
    xy1 = (xy0 - 100) @ np.array([[0.0, 2.0], [-2.0, 0.0]]) + [300, 50]  # a quarter turn, twice as large
    box = np.array([[100.0, 100.0], [200.0, 200.0]])
    whole = Completeness(0.9, 1.0, 0.95, 0.95)
    found = replace(describe_object(0, xy0, xy1, 0.6, box=box), completeness=whole)
    triangle = ((100.0, 100.0), (200.0, 100.0), (100.0, 200.0))
    (place,) = find_places("a", [found], triangle, box, (640, 480))
    assert np.allclose(place.polygon, [[300, 50], [300, 250], [100, 50]], atol=0.1)
    (framed,) = find_places("a", [found], None, box, (200, 480))
    assert framed.box == pytest.approx((100, 50, 199.5, 250), abs=0.1)  # cut at the picture's edge
    small = replace(found, completeness=Completeness(0.3, 1.0, 0.4, 0.6))
    (part,) = find_places("a", [small], None, box, (640, 480))
    assert not part.whole
    assert np.allclose(part.polygon, small.outline1, atol=0.01)


def test_things_keep_their_numbers_from_frame_to_frame():
    a, b = [square("a", 10.0 * k, 0) for k in range(9)], [square("b", 10.0 * k, 0) for k in range(9)]
    far = square("a", 600, 0)
    frames = [[a[0], b[0]], [b[1], a[1]], [far, a[2]], [], [a[4]]]
    assert number_tracks(frames) == [[1, 2], [2, 1], [3, 1], [], [1]]
    assert number_tracks([[a[0]], *[[]] * 6, [a[1]]])[-1] == [2]  # missed for too long


def test_polygon_is_the_mask_of_a_reference(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)).save(path)
    picture = Reference("a", str(path), ((10.0, 10.0), (40.0, 10.0), (40.0, 30.0), (10.0, 30.0))).read()
    assert np.array_equal(picture.box, [[9.5, 9.5], [40.5, 30.5]])
