"""Things on a table: the pictures show what the truth says."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

from synth.tabletop import Pose, Thing, tabletop


def print_of(seed, h=120, w=160):
    """A smooth random picture (h, w, 3)."""
    noise = np.random.default_rng(seed).normal(0, 1, (h, w, 3))
    smooth = gaussian_filter(noise, (4, 4, 0))
    return np.clip(128 + 60 * smooth / smooth.std(), 0, 255).astype(np.uint8)


def scene(bend=0.0, turn=0.0, **settings):
    things = [
        Thing(print_of(1), Pose((130, 120)), Pose((125.5, 118.0), turn, 1.1), bend),
        Thing(print_of(2), Pose((320, 150), 10.0), Pose((330, 160), -20.0), shape="ellipse"),
    ]
    return things, tabletop(things, 3, shape=(270, 440), **settings)


@pytest.mark.parametrize("bend", [0.0, 6.0])
def test_every_pixel_shows_the_place_that_the_truth_names(bend):
    things, found = scene(bend, turn=15.0)
    for image, owner, place in (
        (found.image0, found.owner0, found.place0),
        (found.image1, found.owner1, found.place1),
    ):
        assert set(np.unique(owner)) == {-1, 0, 1}
        np.testing.assert_array_equal(np.isnan(place[..., 0]), owner < 0)
        for number, thing in enumerate(things):
            on = owner == number
            x, y = place[on].T
            expected = map_coordinates(thing.picture[..., 1].astype(float), (y, x), order=3, mode="nearest")
            assert np.abs(image[on][:, 1] - expected).mean() < 4  # the grain alone: 2


def test_a_rigid_thing_moves_by_its_poses_and_a_bent_one_does_not():
    for bend, least, most in ((0.0, 0.0, 1e-9), (6.0, 1.0, 20.0)):
        things, found = scene(bend)
        on = found.owner1 == 0
        y, x = np.nonzero(on)
        matrix = things[0].pose1.matrix(things[0].picture.shape)
        back = np.linalg.solve(matrix[:, :2], np.stack([x, y]) - matrix[:, 2:]).T
        off = np.linalg.norm(back - found.place1[on], axis=1)
        assert least <= off.mean() <= most


def test_true_correspondences_are_told_from_false_ones():
    things, found = scene(turn=10.0)
    own = np.array([[40.0, 40.0], [80.0, 60.0], [100.0, 80.0]])
    xy0, xy1 = (
        own @ m[:, :2].T + m[:, 2]
        for m in (pose.matrix((120, 160)) for pose in (things[0].pose0, things[0].pose1))
    )
    assert found.find_true(xy0, xy1).tolist() == [0, 0, 0]
    assert found.find_true(xy0, xy1 + np.array([2.0, 0.0])).tolist() == [0, 0, 0]
    assert found.find_true(xy0, xy1 + np.array([4.0, 0.0])).tolist() == [-1, -1, -1]
    assert found.find_true(xy0, xy1[::-1])[[0, 2]].tolist() == [-1, -1]
    assert found.find_true(np.full((1, 2), 5.0), np.full((1, 2), 5.0)).tolist() == [-1]  # the table
    assert found.find_true(np.full((1, 2), -50.0), np.full((1, 2), 1e4)).tolist() == [-1]


def test_later_things_lie_on_top_and_cast_shadows():
    below = Thing(np.full((100, 100, 3), 200, np.uint8), Pose((80, 80)), Pose((80, 80)))
    above = Thing(np.full((40, 40, 3), 60, np.uint8), Pose((80, 80)), Pose((90, 80)))
    found = tabletop([below, above], shape=(160, 160))
    assert found.owner0[80, 80] == found.owner1[80, 90] == 1
    assert found.owner0[80, 40] == 0
    beside, far = found.image0[80, 102:106].mean(), found.image0[40:60, 40:60].mean()
    assert beside < far - 8


def test_the_same_seed_gives_the_same_pixels_and_a_ground_does_not_move():
    _, one = scene(4.0)
    _, same = scene(4.0)
    np.testing.assert_array_equal(one.image1, same.image1)
    ground = print_of(9, 270, 440)
    _, on_ground = scene(4.0, ground=ground)
    table = (on_ground.owner1 < 0) & (np.indices((270, 440))[1] > 410)
    assert np.abs(on_ground.image1[table].astype(float) - ground[table]).mean() < 4


@pytest.mark.parametrize(
    ("change", "settings", "word"),
    [
        ({"shape": "star"}, {}, "shape of thing 0"),
        ({"bend": -1.0}, {}, "bend of thing 0 .* got bend -1.0, scales"),
        ({}, {"ground": np.zeros((10, 10, 3), np.uint8)}, "ground must be"),
    ],
)
def test_what_cannot_be_laid_on_a_table(change, settings, word):
    thing = Thing(print_of(1), Pose((50, 50)), Pose((50, 50)), **change)
    with pytest.raises(ValueError, match=word):
        tabletop([thing], shape=(200, 200), **settings)
