"""What one picture shows more than once."""

import numpy as np
import pytest
from planting import crops

from matching import InputError, MatchConfig, find_repeats
from matching.grouping import Groups
from matching.grouping.objects import ObjectsConfig
from matching.grouping.repeats import direct_both_ways, find_overlap, fold
from matching.objects.transforms import apply_transform
from matching.output.words import format_repeats

SIDE = 220


@pytest.fixture(scope="module")
def c():
    return crops()


def joined_tiles(found):
    """(first tile, second tile) of each object, a tile being (row, column)."""

    def tile(xy):
        return tuple(int(n) for n in np.median(xy, axis=0)[::-1] // SIDE)

    own = [found.cluster == item.id for item in found.objects]
    return [(tile(found.xy0[rows]), tile(found.xy1[rows])) for rows in own]


def test_a_thing_three_times_is_one_thing_with_three_places(c):
    row0 = np.hstack([c["coffee"], c["rocket"], c["coffee"]])
    row1 = np.hstack([c["chelsea"], c["coffee"], c["astronaut"]])
    found = find_repeats(np.vstack([row0, row1]))
    tiles = joined_tiles(found)
    (first,) = {one for one, _ in tiles}
    assert {first, *(other for _, other in tiles)} == {(0, 0), (0, 2), (1, 1)}
    assert len(tiles) == 2
    (thing,) = found.things
    assert len(thing.places) == 3
    assert not thing.periodic
    best = found.objects[0]
    row = format_repeats(found).splitlines()[1].split()
    assert row[:2] == ["0", "3"]
    assert row[3:] == [f"{best.score:.2f}", best.confidence, f"{best.transform_error:.1f}", "px"]
    assert {item.thing for item in found.objects} == {0}


def test_a_candidate_is_never_a_feature_with_its_surroundings(c):
    found = find_repeats(c["coffee"])
    assert len(found.xy0) > 100
    assert np.linalg.norm(found.xy1 - found.xy0, axis=1).min() >= 25
    pairs = {tuple(sorted(map(tuple, ends))) for ends in np.stack([found.xy0, found.xy1], axis=1).tolist()}
    assert len(pairs) == len(found.xy0)
    assert found.objects == ()


@pytest.mark.parametrize("mirrored", [False, True], ids=["half a turn", "mirrored"])
def test_a_motion_that_is_its_own_inverse_joins_two_places_once(c, mirrored):
    other = c["coffee"][:, ::-1] if mirrored else c["coffee"][::-1, ::-1]
    picture = np.hstack([c["coffee"], other])
    found = find_repeats(picture, MatchConfig(mirrored=mirrored))
    assert set(joined_tiles(found)) == {((0, 0), (0, 1))}
    assert len(found.objects) <= 2  # parts with a wide blank gap between them may be two
    item = found.objects[0]
    assert item.motion.mirrored is mirrored
    ends = np.array([[40.0, 50.0]])
    truth = [2 * SIDE - 1 - 40, 50 if mirrored else SIDE - 1 - 50]
    assert np.abs(apply_transform(item.transform, ends) - truth).max() < 4


def test_a_row_of_four_is_four_places(c):
    found = find_repeats(np.hstack([c["coffee"]] * 4))
    (thing,) = found.things
    assert len(thing.places) == 4
    pairs = joined_tiles(found)
    assert len(set(pairs)) == len(pairs)
    assert all(first != second for first, second in pairs)


@pytest.mark.parametrize("quarters", [0, 1])
def test_small_copies_above_each_other_are_no_texture(c, quarters):
    """Nor beside each other: the same, turned."""
    found = find_repeats(np.rot90(np.vstack([c["chelsea"][50:110, 50:170]] * 3), quarters).copy())
    (thing,) = found.things
    assert len(thing.places) == 3
    assert not thing.periodic


def test_a_fine_texture_is_said_to_be_one():
    from synth.textures import Screen, texture

    found = find_repeats(texture("checks", (200, 260), np.random.default_rng(0), Screen(10.5, 0.3)))
    assert found.things
    assert all(thing.periodic for thing in found.things)
    head, *rows = format_repeats(found).splitlines()
    assert head.split() == ["thing", "places", "matches", "score", "how", "sure", "error"]
    for row, thing in zip(rows, found.things, strict=True):
        number, places, _, score, *_ = row.split()
        assert (number, places) == (str(thing.number), "-")
        assert score == f"{max(found.objects[k].score for k in thing.objects):.2f}"
        assert row.endswith(" px  periodic texture")


def test_masked_places_are_not_found(c):
    picture = np.hstack([c["coffee"], c["rocket"], c["coffee"]])
    mask = np.ones(picture.shape[:2], bool)
    mask[:, :SIDE] = False
    assert find_repeats(picture, mask=mask).objects == ()
    with pytest.raises(InputError, match="mask"):
        find_repeats(picture, mask=mask[:10])


def test_views_take_two_pictures():
    with pytest.raises(InputError, match="view_synthesis must be off for one picture"):
        find_repeats(np.zeros((50, 60), np.uint8), view_synthesis=True)


def test_a_picture_without_features_has_no_repeats():
    found = find_repeats(np.zeros((50, 60), np.uint8))
    assert found.objects == found.things == ()


def both_groups(xy0, xy1, scores=(0.8, 0.8)):
    """A place that moves, n matches, as two groups that are each other's reverse."""
    n = len(xy0)
    labels = np.repeat([0, 1], n)
    return direct_both_ways(xy0, xy1, np.tile(np.eye(2), (n, 1, 1))), Groups(labels, np.array(scores))


def test_groups_of_either_direction_are_one_object_from_left_to_right():
    xy = np.random.default_rng(0).uniform(0, 100, (40, 2))
    (joined,) = fold(*both_groups(xy + np.array([300.0, 0.0]), xy), ObjectsConfig())
    assert sorted(joined.members) == [*range(40, 80)]
    assert joined.score == 0.8


def test_half_a_turn_in_one_group_is_one_object_of_one_direction():
    rng = np.random.default_rng(0)
    left = rng.uniform(0, 90, (40, 2))
    right = np.array([300.0, 90.0]) - left
    turned = rng.random(40) < 0.5  # given from right to left
    xy0, xy1 = np.where(turned[:, None], right, left), np.where(turned[:, None], left, right)
    correspondences = direct_both_ways(xy0, xy1, np.tile(-np.eye(2), (40, 1, 1)))
    (joined,) = fold(correspondences, Groups(np.zeros(80, int), np.array([0.7])), ObjectsConfig())
    assert sorted(joined.members % 40) == [*range(40)]
    assert (joined.members >= 40).tolist() == turned[joined.members % 40].tolist()


def test_of_two_places_above_each_other_the_upper_one_comes_first():
    xy = np.random.default_rng(0).uniform(0, 100, (40, 2))
    (joined,) = fold(*both_groups(xy + np.array([0.0, 300.0]), xy), ObjectsConfig())
    assert (joined.members >= 40).all()


def test_groups_of_too_few_matches_are_no_objects():
    xy = np.random.default_rng(0).uniform(0, 100, (11, 2))
    assert not list(fold(*both_groups(xy + np.array([300.0, 0.0]), xy), ObjectsConfig()))


@pytest.mark.parametrize(("shift", "overlap"), [(100.0, True), (5.0, True), (400.0, False), (395.0, False)])
def test_places_overlap_where_enough_matches_lie_in_both(shift, overlap):
    xy = np.random.default_rng(0).uniform(0, [400, 100], (400, 2))
    assert find_overlap(xy, xy + np.array([shift, 0.0]), 12) is overlap
