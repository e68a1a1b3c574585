from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from matching.labels.places import Place, choose_places, find_places, make_place, number_tracks
from matching.labels.references import Reference
from matching.labels.rivals import claim_places, settle_places
from matching.objects.completeness import Completeness
from matching.objects.description import add_comparison, describe_object


def square(name, x, y, side=100.0, *, rank=0.5, whole=True):
    corners = ((x, y), (x + side, y), (x + side, y + side), (x, y + side))
    return Place(name, corners, 0.7, rank, whole)


def test_best_of_overlapping_places_is_chosen():
    sister, own = square("sister", 5, 5, rank=0.3), square("own", 0, 0, rank=0.4)
    logo, other = square("logo", 20, 20, 20, whole=False, rank=0.9), square("own", 300, 0)
    assert choose_places([sister, own, logo, other]) == [other, own]
    inner = square("logo", 20, 20, 20, rank=0.1)  # a thing of its own on another one
    assert choose_places([own, inner]) == [own, inner]
    assert choose_places([logo, other]) == [other, logo]


def test_same_print_wins_over_another_one_that_differs():
    """Whatever their ranks are: of several cards, the one on the table has the label."""
    same, other = square("king", 0, 0, rank=0.3), square("queen", 5, 5, rank=0.4)
    assert choose_places([same, replace(other, same=False)]) == [same]
    assert choose_places([same, replace(other, same=True)]) == [replace(other, same=True)]


def test_score_says_how_sure_a_label_is():
    """In the same order as significance, with the words of objects, and low where agreement leaves doubt."""
    xy = np.random.default_rng(0).uniform(0, 100, (20, 2))
    outline = np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 9.0]])
    objects = [describe_object(0, xy, xy, 0.1, log_nfa=log_nfa) for log_nfa in (0.5, -3.9, -4, -7.9, -8, -99)]
    places = [make_place("a", outline, found) for found in objects]
    scores = [place.score for place in places]
    assert scores == sorted(scores)
    assert (scores[0], scores[2], scores[4], scores[-1]) == (0, 0.5, 0.75, 1)
    assert [place.confidence for place in places] == [found.confidence for found in objects]
    assert [place.doubt != "" for place in places] == [True, True, *[False] * 4]
    differing = add_comparison(objects[-1], False, (None, None))
    doubtful = replace(objects[-1], is_doubtful=True)
    for found, reason in ((differing, "differs in 2 places"), (doubtful, "can't confirm it")):
        place = make_place("a", outline, found)
        assert (place.score, place.confidence) == (0.49, "look at it")
        assert reason in place.doubt
    assert make_place("a", outline, differing).same is False


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
    assert part.completed.box == pytest.approx((100, 50, 300, 250), abs=0.1)
    corners = ((100.0, 100.0), (200.0, 100.0), (200.0, 200.0), (100.0, 200.0))
    (turned,) = find_places("a", [small], corners, box, (640, 480))
    assert turned.whole  # it reaches all sides of the box, which has ground beside it
    assert turned.polygon == part.polygon


def test_parts_of_a_folded_thing_are_offered_as_one():
    """The sides of a fold: each shows half of the reference, and they move a little differently."""
    rng = np.random.default_rng(0)
    box = np.array([[0.0, 0.0], [200.0, 200.0]])
    part = Completeness(0.45, 1.0, 0.5, 0.5)

    def side(left, shift, shear):
        xy0 = rng.uniform(0, 100, (150, 2)) * [1, 2] + [left, 0]
        xy1 = xy0 + shift + np.stack([0 * xy0[:, 0], shear * xy0[:, 0]], axis=1)
        return replace(describe_object(0, xy0, xy1, 0.6, box=box), completeness=part)

    folded = [side(0, (300, 0), 0.2), side(100, (310, 40), -0.2)]
    apart = side(100, (700, 300), 0.0)
    claims = claim_places(Reference("print", "print.png"), [*folded, apart], box, (1200, 900))
    joined, other = sorted(settle_places(claims, [], None), key=lambda place: place.box)
    assert joined.box == pytest.approx((300, 0, 510, 220), abs=12)
    assert joined.whole is False and joined.frame is not None
    assert other.box[0] > 780
    copies = claim_places(Reference("print", "print.png"), [folded[0], folded[0]], box, (1200, 900))
    assert len(copies) == 2  # the same part twice is no other part


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
