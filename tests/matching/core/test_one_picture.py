"""What one picture shows more than once."""

import numpy as np
import pytest
from planting import crops, make_groups

from matching import InputError, MatchConfig, find_repeats
from matching.core.groups import ObjectsConfig, number_rows
from matching.core.ledger import STEPS, Ledger, name_steps
from matching.core.one_picture import describe_repeats
from matching.core.proposals import Listing, Proposal
from matching.core.repeats.folding import Repeat, Repeats, direct_both_ways, find_repeats_in_groups
from matching.core.repeats.places import Placed
from matching.core.source import describe_picture
from matching.objects.transforms import apply_transform
from matching.output.words import format_repeats
from matching.pictures.images import make_picture
from synth.pages import draw_icons, draw_wallpaper

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
    assert sorted(joined_tiles(found)) == [((0, 0), (0, 2)), ((0, 0), (1, 1)), ((1, 1), (0, 2))]
    (thing,) = found.things
    assert len(thing.places) == 3
    assert not thing.periodic
    best = found.objects[0]
    row = format_repeats(found).splitlines()[1].split()
    assert row[:3] == ["0", "3", str(sum(item.n_matches for item in found.objects))]
    assert row[3:] == [f"{best.score:.2f}", best.confidence, f"{best.transform_error:.1f}", "px"]
    assert {item.thing for item in found.objects} == {0}
    for number, ends in zip(thing.objects, thing.joined, strict=True):  # the places that each object joins
        outlines = found.objects[number].outline0, found.objects[number].outline1
        for outline, place in zip(outlines, ends, strict=True):
            middles = [other.mean(axis=0) for other in thing.places]
            gaps = [np.linalg.norm(outline.mean(axis=0) - middle) for middle in middles]
            assert np.argmin(gaps) == place
    assert [thing.name_place(k) for k in range(3)] == ["0-1", "0-2", "0-3"]


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
    assert joined_tiles(found) == [((0, 0), (0, 1))]
    (item,) = found.objects
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


def list_places(found):
    """Of each thing, sorted, the tiles (column, row) in which the middles of its places lie."""
    middles = [[place.mean(axis=0) // SIDE for place in thing.places] for thing in found.things]
    return sorted(sorted((int(x), int(y)) for x, y in places) for places in middles)


def test_two_pairs_of_a_thing_are_four_places(c):
    blank = np.full_like(c["coffee"], 128)
    found = find_repeats(np.hstack([c["coffee"], c["coffee"], blank, c["coffee"], c["coffee"]]))
    assert list_places(found) == [[(0, 0), (1, 0), (3, 0), (4, 0)]]


def test_things_corner_to_corner_that_move_alike_are_apart(c):
    """The second place of the upper thing lies between the first places of both."""
    blank = np.full_like(c["coffee"], 128)
    upper = np.hstack([c["coffee"], c["coffee"], blank])
    lower = np.hstack([blank, c["rocket"], c["rocket"]])
    found = find_repeats(np.vstack([upper, lower]))
    assert list_places(found) == [[(0, 0), (1, 0)], [(1, 1), (2, 1)]]


def test_a_wall_of_tiles_has_as_many_places_as_tiles(c):
    (thing,) = find_repeats(draw_wallpaper(c["astronaut"], 3, 4, 96).picture).things
    assert len(thing.places) == 12


def test_an_icon_on_a_page_of_text_has_as_many_places_as_it_is_shown(c):
    page = draw_icons(c["astronaut"], np.random.default_rng(0), 12)
    (thing,) = (thing for thing in find_repeats(page.picture).things if not thing.periodic)
    (boxes,) = page.things
    middles = np.array([place.mean(axis=0) for place in thing.places])
    inside = [[((m >= b[:2]) & (m <= np.add(b[:2], b[2:]))).all() for b in boxes] for m in middles]
    assert np.array_equal(np.sum(inside, axis=0), np.ones(12))
    assert len(middles) == 12


def test_small_copies_above_each_other_are_no_texture(c):
    found = find_repeats(np.vstack([c["chelsea"][50:110, 50:170]] * 3))
    (thing,) = found.things
    assert len(thing.places) == 3
    assert not thing.periodic


def test_a_fine_texture_is_said_to_be_one():
    from synth.textures import Screen, texture

    found = find_repeats(texture("checks", (200, 260), np.random.default_rng(0), Screen(10.5, 0.3)))
    assert found.things
    assert all(thing.periodic for thing in found.things)
    rows = format_repeats(found).splitlines()[1:]
    assert all(row.endswith(" px  periodic texture") for row in rows)


def test_masked_places_are_not_found(c):
    picture = np.hstack([c["coffee"], c["rocket"], c["coffee"]])
    mask = np.ones(picture.shape[:2], bool)
    mask[:, :SIDE] = False
    assert find_repeats(picture, mask=mask).objects == ()
    with pytest.raises(InputError, match="mask"):
        find_repeats(picture, mask=mask[:10])


def test_views_take_two_pictures():
    with pytest.raises(InputError, match="view_synthesis must be False for one picture"):
        find_repeats(np.zeros((50, 60), np.uint8), view_synthesis=True)


def test_a_picture_without_features_has_no_repeats():
    found = find_repeats(np.zeros((50, 60), np.uint8))
    assert found.objects == found.things == ()


def test_two_places_are_joined_by_one_object():
    """The matches of a second one, which moves a little otherwise, belong to no object."""
    rng = np.random.default_rng(0)
    xy = rng.uniform(20, 110, (80, 2))
    moved = xy + np.repeat([[200.0, 0.0], [203.0, 8.0]], 40, axis=0)
    dropped_by = np.repeat([STEPS.index(""), STEPS.index("graph")], [70, 10]).astype(np.int8)
    objects = [Repeat(np.arange(40), 0.8), Repeat(np.arange(40, 70), 0.5)]
    proposals = tuple(
        Proposal(one.rows, xy[one.rows], moved[one.rows], np.zeros(len(one.rows)), one.score, np.ones(2))
        for one in objects
    )
    listing = Listing(xy, moved, np.zeros(80), dropped_by, proposals)
    placed = Placed(Repeats(objects, np.zeros(80, bool)), [])
    picture = make_picture(np.zeros((150, 350), np.uint8))  # without print, agreement can't be told
    described = describe_picture(picture)
    matches, (one,), (thing,), (rejected,) = describe_repeats(
        picture, described, listing, placed, MatchConfig()
    )
    assert (one.id, one.n_matches, one.score, one.is_doubtful) == (0, 40, 0.8, True)
    assert thing.joined == ((0, 1),)
    assert matches.labels.tolist() == [0] * 40 + [-1] * 40
    assert name_steps(matches.dropped_by).tolist() == [""] * 40 + ["places"] * 30 + ["graph"] * 10
    assert (rejected.step, rejected.n_matches) == ("places", 30)


def both_groups(xy0, xy1, scores=(0.8, 0.8)):
    """A place that moves, n matches, as two groups that are each other's reverse."""
    n = len(xy0)
    return direct_both_ways(xy0, xy1, np.tile(np.eye(2), (n, 1, 1))), make_groups(
        np.repeat([0, 1], n), scores
    )


def find_in_groups(correspondences, groups, *more, **options):
    """The repeats of n matches in both directions, the object of each match, and the ledger."""
    n = len(correspondences) // 2
    ledger = Ledger(n)
    repeats = find_repeats_in_groups(correspondences, groups, ObjectsConfig(), ledger, *more, **options)
    return repeats, number_rows(n, [one.rows for one in repeats.objects]), ledger


def list_periodic(repeats):
    return [one.is_periodic for one in repeats.objects]


def test_groups_of_either_direction_are_one_object_from_left_to_right():
    xy = np.random.default_rng(0).uniform(0, 100, (40, 2))
    correspondences, groups = both_groups(xy + np.array([300.0, 0.0]), xy)
    repeats, labels, _ = find_in_groups(correspondences, groups)
    assert labels.tolist() == [0] * 40
    assert repeats.is_reversed.all()
    assert [(one.score, one.is_periodic) for one in repeats.objects] == [(0.8, False)]


@pytest.mark.parametrize(("shift", "periodic"), [(100.0, [False] * 4), (5.0, [True])])
def test_what_is_shifted_onto_itself_is_a_row_or_a_texture(shift, periodic):
    xy = np.random.default_rng(0).uniform(0, [400, 100], (400, 2))
    correspondences, groups = both_groups(xy, xy + np.array([shift, 0.0]))
    assert list_periodic(find_in_groups(correspondences, groups)[0]) == periodic


def test_things_that_only_one_direction_tells_apart_are_apart():
    """Three boxes of a shelf, one next to the other, whose copies move by almost the same."""
    rng = np.random.default_rng(0)
    starts = [(0, 0), (95, 0), (190, 0)]
    xy = np.concatenate([rng.uniform(start, np.add(start, 90), (40, 2)) for start in starts])
    there = direct_both_ways(xy, xy + np.array([400.0, 0.0]), np.tile(np.eye(2), (120, 1, 1)))
    together, apart = np.zeros(120, int), np.repeat([1, 2, 3], 40)
    groups = make_groups(np.concatenate([together, apart]), [0.8, 0.7, 0.7, 0.7])
    _, labels, _ = find_in_groups(there, groups)
    assert sorted(np.bincount(labels).tolist()) == [40, 40, 40]
    assert all(len(np.unique(box)) == 1 for box in np.split(labels, 3))


def test_a_row_is_cut_into_its_steps():
    xy = np.random.default_rng(0).uniform(0, [400, 100], (400, 2))
    correspondences, groups = both_groups(xy, xy + np.array([100.0, 0.0]))
    _, labels, _ = find_in_groups(correspondences, groups)
    assert labels.tolist() == ((xy[:, 0] - xy[:, 0].min()) // 100).astype(int).tolist()


def test_half_a_turn_in_one_group_is_one_object_of_one_direction():
    rng = np.random.default_rng(0)
    left = rng.uniform(0, 90, (40, 2))
    right = np.array([300.0, 90.0]) - left
    turned = rng.random(40) < 0.5  # given from right to left
    xy0, xy1 = np.where(turned[:, None], right, left), np.where(turned[:, None], left, right)
    correspondences = direct_both_ways(xy0, xy1, np.tile(-np.eye(2), (40, 1, 1)))
    repeats, labels, _ = find_in_groups(correspondences, make_groups(np.zeros(80), [0.7]))
    assert labels.tolist() == [0] * 40
    assert repeats.is_reversed.tolist() == turned.tolist()


@pytest.mark.parametrize("may_mirror", [False, True])
def test_a_mirrored_object_is_found_only_where_features_are_mirrored_too(may_mirror):
    xy = np.random.default_rng(0).uniform(0, 100, (40, 2))
    correspondences, groups = both_groups(xy, xy * [-1.0, 1.0] + [400.0, 0.0])
    repeats, labels, ledger = find_in_groups(correspondences, groups, may_mirror=may_mirror)
    assert len(repeats.objects) == may_mirror
    _, rejected = ledger.close(labels, xy, xy)
    assert [group.step for group in rejected] == ([] if may_mirror else ["places"])


def test_confusable_matches_are_one_texture_and_other_shifts_of_it_are_none():
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(0, 100, (120, 2))
    xy1 = xy0 + np.repeat([[200.0, 0.0], [200.0, 2.0]], 60, axis=0)
    correspondences = direct_both_ways(xy0, xy1, np.tile(np.eye(2), (120, 1, 1)))
    groups = make_groups(np.repeat([0, 1, 2, 3], 60), [0.9, 0.8, 0.9, 0.8])
    tested = []
    repeats, labels, _ = find_in_groups(correspondences, groups, lambda rows: tested.append(rows) or True)
    assert list_periodic(repeats) == [True]
    assert labels.tolist() == [0] * 60 + [-1] * 60
    assert [sorted(rows % 120) for rows in tested] == [[*range(60)], [*range(60, 120)]]
    assert not any(list_periodic(find_in_groups(correspondences, groups)[0]))


@pytest.mark.parametrize(("score", "periodic"), [(0.5, [False] * 4), (0.49, [True])])
def test_a_row_of_too_low_a_score_is_a_texture(score, periodic):
    xy = np.random.default_rng(0).uniform(0, [400, 100], (400, 2))
    correspondences, groups = both_groups(xy, xy + np.array([100.0, 0.0]), (score, score))
    assert list_periodic(find_in_groups(correspondences, groups)[0]) == periodic


def test_rows_above_each_other_are_cut_each_for_itself():
    """A A B above each other with C C D, shifted by half a copy: their steps are not at the same places."""
    rng = np.random.default_rng(0)
    upper = rng.uniform(0, [200, 90], (200, 2))
    lower = np.concatenate([rng.uniform((x, 110), (x + 60, 200), (40, 2)) for x in (50, 150, 250, 350)])
    xy = np.concatenate([upper, lower])
    correspondences, groups = both_groups(xy, xy + np.array([100.0, 0.0]))
    repeats, labels, _ = find_in_groups(correspondences, groups)
    assert not any(list_periodic(repeats))
    assert all(np.ptp(xy[one.rows, 0]) <= 100 for one in repeats.objects)
    assert (labels >= 0).mean() > 0.9


def test_parts_of_a_group_have_scores_of_their_own():
    rng = np.random.default_rng(0)
    xy = np.concatenate([rng.uniform(0, 90, (40, 2)), rng.uniform((200, 0), (290, 90), (60, 2))])
    correspondences, groups = both_groups(xy, xy + np.array([100.0, 0.0]))
    repeats, labels, _ = find_in_groups(correspondences, groups, measure_score=lambda rows: len(rows) / 100)
    assert [one.score for one in repeats.objects] == [0.6, 0.4]
    assert labels.tolist() == [1] * 40 + [0] * 60
