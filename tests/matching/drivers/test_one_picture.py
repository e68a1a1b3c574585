"""What one picture shows more than once."""

import cv2
import numpy as np
import pytest
import skimage.data
from planting import crops

from matching import InputError, find_repeats
from matching.drivers.one_picture import join_places, split_group
from matching.grouping.groups import ObjectsConfig
from matching.objects.transforms import apply_transform
from matching.output.words import format_repeats
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
    found = find_repeats(picture)
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


def test_matches_are_split_where_they_lie_far_apart():
    rng = np.random.default_rng(0)
    first = np.concatenate([rng.uniform((0, y), (90, y + 90), (40, 2)) for y in (0, 500)])
    parts = split_group(first, first + np.array([100.0, 0.0]), ObjectsConfig())
    assert [(rows // 40).tolist() for rows in parts] == [[0] * 40, [1] * 40]


def test_a_row_is_cut_into_its_steps():
    copy = np.append(np.random.default_rng(0).uniform(2, 98, (99, 2)), [[0.0, 0.0]], axis=0)
    xy = np.concatenate([copy + np.array([100.0 * k, 0.0]) for k in range(4)])
    parts = split_group(xy, xy + np.array([100.0, 0.0]), ObjectsConfig())
    assert [np.unique(rows // 100).tolist() for rows in parts] == [[0], [1], [2], [3]]


def test_two_things_with_a_place_in_common_are_one():
    """And two places are joined by one object, which leads from left to right."""
    rng = np.random.default_rng(0)
    xy = np.concatenate([rng.uniform((x, 0), (x + 90, 90), (30, 2)) for x in (300, 0, 600)])
    rows = np.arange(90).reshape(3, 30)
    places, joins = join_places(xy, [rows[[0, 1]], rows[[0, 2]], rows[[1, 0]][:, ::2]], ObjectsConfig())
    assert [np.unique(one).tolist() for one in places] == [*rows.tolist()]
    assert sorted(one.places for one in joins) == [(0, 2), (1, 0)]
    assert [one.rows.shape for one in joins] == [(2, 30), (2, 30)]


def test_a_thing_at_many_places_is_joined_with_its_first_place():
    rng = np.random.default_rng(0)
    thing = rng.uniform(0, 90, (30, 2))
    xy = np.concatenate([thing + np.array([200.0 * k, 0.0]) for k in range(8)])
    _, joins = join_places(xy, [np.arange(240).reshape(8, 30)], ObjectsConfig())
    assert [one.places for one in joins] == [(0, k) for k in range(1, 8)]


def test_a_pair_of_features_is_listed_once(c):
    found = find_repeats(np.hstack([c["coffee"], c["rocket"], c["coffee"]]))
    ends = np.sort(np.stack([found.xy0, found.xy1]), axis=0).transpose(1, 0, 2).reshape(-1, 4)
    in_object = {*map(tuple, ends[found.cluster >= 0].tolist())}
    assert in_object and in_object.isdisjoint(map(tuple, ends[found.cluster < 0].tolist()))


def test_faint_panels_are_found(c):
    """A tenth of the contrast of the photograph, on white."""
    panel = (c["chelsea"] * 0.1 + 200).astype(np.uint8)
    figure = np.full((300, 640, 3), 255, np.uint8)
    figure[20:240, 20:240], figure[60:280, 380:600] = panel, panel
    (thing,) = find_repeats(figure).things
    assert len(thing.places) == 2


def join_panels(first, second):
    """A figure with two panels (h, w) on white, each with the same letters and scale bar."""
    picture = np.full((240, 440, 3), 255, np.uint8)
    for x, panel in ((20, first), (240, second)):
        picture[30:210, x : x + 180] = panel[..., None]
        cv2.rectangle(picture, (x + 120, 194), (x + 170, 199), (255, 255, 255), -1)
        cv2.putText(picture, "50 um", (x + 124, 188), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (255, 255, 255), 1)
        cv2.putText(picture, "Panel", (x, 24), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 2)
    return picture


def test_parts_of_one_sample_and_their_scale_bars_are_not_repeats():
    cells = skimage.data.cell()
    assert find_repeats(join_panels(cells[40:220, 20:200], cells[300:480, 300:480])).objects == ()


@pytest.mark.parametrize("quality", [0, 85])
def test_a_smooth_panel_is_found_turned_over_by_its_pixels(quality):
    panel = skimage.data.cell()[300:480, 200:380]
    picture = join_panels(panel, panel[::-1])
    if quality:
        picture = cv2.imdecode(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], 1)
    (found,) = find_repeats(picture).objects
    assert found.motion.mirrored
    assert np.abs(apply_transform(found.transform, np.array([[100.0, 100.0]])) - [320, 139]).max() < 3


def draw_lanes(rng, n=5):
    """Lanes (180, 90) of a blot, each with three bands."""
    y, x = np.indices((180, 90), float)
    lanes = []
    for _ in range(n):
        lane = np.full((180, 90), 200.0)
        for row in (40, 90, 140):
            u, v = x - 45, y - row - rng.normal(0, 0.03) * (x - 45)
            ends = 1 / (1 + np.exp((np.abs(u) - rng.uniform(18, 27)) / 3))
            lane -= rng.uniform(50, 150) * ends * np.exp(-0.5 * (v / rng.uniform(3, 6)) ** 2)
        lanes.append(lane.round().astype(np.uint8))
    return lanes


def test_a_lane_shown_again_is_found_among_alike_ones():
    lanes = draw_lanes(np.random.default_rng(1))
    assert find_repeats(np.hstack(lanes)).objects == ()
    again = find_repeats(np.hstack([*lanes, lanes[1][:, ::-1]]))
    assert [len(thing.places) for thing in again.things] == [2]
    assert sorted(round(place[:, 0].mean() // 90) for place in again.things[0].places) == [1, 5]
