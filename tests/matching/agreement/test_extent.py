"""Where an object ends: print, plain margins, and ground that goes on."""

import numpy as np
import shapely
from planting import crops

from matching._common import opencv
from matching.agreement.look import look_between

SIDE, LEFT, TOP = 160, 120, 90  # of a print in a scene, pixels
SCENE = 340, 420
CORNER = np.array([LEFT, TOP])


def lay(print_, ground):
    """A scene with a print at (LEFT, TOP), with noise."""
    scene = np.array(ground, np.float32)
    scene[TOP : TOP + SIDE, LEFT : LEFT + SIDE] = print_
    return np.clip(scene + np.random.default_rng(1).normal(0, 2, scene.shape), 0, 255).astype(np.uint8)


def make_plain(level):
    return np.full((*SCENE, 3), level, np.float32)


def look(image0, image1, xy0, xy1):
    return look_between(image0, image1, xy0, xy1).look_around(None)[0]


def list_places(low, high, n=70):
    return np.random.default_rng(0).uniform(low, high, (n, 2))


def overlap(outline, box):
    polygon, truth = shapely.Polygon(outline).buffer(0), shapely.box(*box)
    return polygon.intersection(truth).area / polygon.union(truth).area


def test_print_matched_in_its_middle_alone_reaches_its_edges():
    """On different grounds, print ends where the grounds begin."""
    front, grounds = crops()["astronaut"][:SIDE, :SIDE], (crops()["coffee"], crops()["chelsea"])
    scenes = [lay(front, opencv.resize_area(ground, *SCENE[::-1])) for ground in grounds]
    xy = list_places(28, SIDE - 28) + CORNER
    extent = look(*scenes, xy, xy)
    box = LEFT, TOP, LEFT + SIDE, TOP + SIDE
    assert overlap(opencv.convex_hull(xy), box) < 0.4
    assert overlap(extent.outline0, box) > 0.7
    assert overlap(extent.outline1, box) > 0.7


def test_card_ends_at_its_margin_where_it_is_the_whole_picture():
    card = np.full((SIDE, SIDE, 3), 245, np.uint8)
    card[30:-30, 30:-30] = crops()["astronaut"][30 : SIDE - 30, 30 : SIDE - 30]
    scene = lay(card, make_plain(90))
    xy = list_places(34, SIDE - 34)
    extent = look(card, scene, xy, xy + CORNER)
    assert overlap(extent.outline0, (0, 0, SIDE - 1, SIDE - 1)) > 0.9
    assert overlap(extent.outline1, (LEFT, TOP, LEFT + SIDE, TOP + SIDE)) > 0.9


def test_plain_ground_that_goes_on_belongs_to_nothing():
    front = crops()["astronaut"][:SIDE, :SIDE]
    scenes = [lay(front, make_plain(level)) for level in (90, 100)]
    xy = list_places(10, SIDE - 10) + CORNER
    extent = look(*scenes, xy, xy)
    assert overlap(extent.outline0, (LEFT, TOP, LEFT + SIDE, TOP + SIDE)) > 0.9


def test_outlines_are_the_same_in_swapped_pictures():
    front = crops()["astronaut"][:SIDE, :SIDE]
    scene = lay(front, make_plain(90))
    xy = list_places(10, SIDE - 10)
    one, other = look(front, scene, xy, xy + CORNER), look(scene, front, xy + CORNER, xy)
    assert np.array_equal(one.outline0, other.outline1)
    assert np.array_equal(one.outline1, other.outline0)
