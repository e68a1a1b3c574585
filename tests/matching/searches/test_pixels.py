"""What has few features, or only such as repeat, and is found by its pixels."""

import io
import math

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from matching import match
from matching.pictures.images import make_picture
from matching.searches.pixels.copies import find_pixel_copies
from matching.searches.pixels.frames import Frame, find_whole_frame
from matching.searches.pixels.parts import find_equal_parts

BUTTONS = (40, 40), (300, 40), (40, 200)  # x, y
SIZE = 86, 28


def draw(words, places=BUTTONS):
    """Draw a screen of 440 x 300 pixels with equal buttons, and a line of text."""
    image = Image.new("RGB", (440, 300), (240, 240, 240))
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    pen.line([(0, 150), (439, 150)], fill=(60, 60, 60))
    pen.text((200, 240), "a line of text", fill=(20, 20, 20), font=font)
    for x, y in places:
        pen.rectangle([x, y, x + SIZE[0] - 1, y + SIZE[1] - 1], fill=(40, 110, 220), outline=(20, 50, 90))
        pen.text((x + 18, y + 6), words, fill=(255, 255, 255), font=font)
    return image


def cut(image, x, y, width=SIZE[0], height=SIZE[1]):
    return np.asarray(image)[y : y + height, x : x + width].copy()


def list_corners(result, picture=1):
    places = [(one.points0, one.points1)[picture].min(axis=0) for one in result.objects]
    return sorted(np.rint(place).astype(int).tolist() for place in places)


def test_button_is_found_at_each_place_that_shows_it():
    screen = draw("Open")
    button = cut(screen, *BUTTONS[0])
    found = match(button, np.asarray(screen))
    corners = [one.frame1[0] + 0.5 for one in found.objects]
    assert sorted(np.rint(corner).astype(int).tolist() for corner in corners) == sorted(map(list, BUTTONS))
    assert all(one.confidence == "sure" and one.is_same for one in found.objects)
    assert len(found.things) == 1
    swapped = match(np.asarray(screen), button)
    assert np.array_equal(swapped.xy0, found.xy1) and np.array_equal(swapped.cluster, found.cluster)


@pytest.mark.parametrize("factor", [1.25, 1.5, 2, 0.8, 0.5])
def test_piece_is_found_on_a_screen_at_another_scale(factor):
    screen = draw("Open", BUTTONS[:1])
    scaled = screen.resize([round(n * factor) for n in screen.size], Image.Resampling.LANCZOS)
    (found,) = match(cut(screen, 198, 238, 96, 22), np.asarray(scaled)).objects
    assert np.abs((found.frame1[0] + 0.5) / factor - (198, 238)).max() < 1.5
    assert found.motion.scale == pytest.approx(factor, abs=0.02)


def test_button_with_another_word_is_not_found():
    assert not match(cut(draw("Open"), *BUTTONS[0]), np.asarray(draw("Close"))).objects


@pytest.mark.parametrize(
    ("place", "size"), [((100, 130), (60, 40)), ((100, 100), (60, 30))], ids=["edge", "blank"]
)
def test_piece_that_could_be_anywhere_is_not_found(place, size):
    screen = draw("Open")
    pictures = make_picture(cut(screen, *place, *size)), make_picture(np.asarray(screen))
    assert find_pixel_copies(*pictures) is None


def draw_bars(seed=1, rows=9):
    """Draw a page of rows of bars, which are all alike but for their lengths."""
    rng = np.random.default_rng(seed)
    page = np.full((44 + 38 * rows + 20, 640, 3), 255, np.uint8)
    page[:34] = 0, 102, 255
    for k in range(rows):
        y, x = 44 + 38 * k, 280 + int(rng.integers(0, 12)) * 25
        page[y - 6 : y + 13] = 236, 244, 240
        page[y + 4 : y + 14, 48:66] = 130
        page[y + 4 : y + 14, 72:x] = 30
        page[y + 22 : y + 30, 72:252] = 130
    return page


def compress(rgb, quality=95):
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer))


def board():
    """Draw a chessboard."""
    cells = np.indices((8, 8)).sum(axis=0) % 2 * 255
    return np.repeat(np.kron(cells, np.ones((25, 25)))[..., None], 3, axis=2).astype(np.uint8)


def find_parts(first, second):
    """The shift, and the box in picture 0, of each equal part."""
    found = find_equal_parts(make_picture(first), make_picture(second))
    return [
        (tuple((one.xy1 - one.xy0)[0].tolist()), one.xy0.min(axis=0), one.xy0.max(axis=0), one.likeness)
        for one in (found.proposals if found else ())
    ]


@pytest.mark.parametrize(
    ("first", "second", "shift"),
    [
        (draw_bars(), draw_bars(), (0, 0)),
        (draw_bars(), compress(draw_bars()), (0, 0)),
        (draw_bars()[100:300, 30:600], draw_bars(), (30, 100)),
        (draw_bars()[5:, 3:], draw_bars()[:-4, :-2], (3, 5)),
        (board(), compress(board()), (0, 0)),
    ],
    ids=["itself", "jpeg", "part", "shifted", "board"],
)
def test_what_repeats_is_found_by_equal_pixels(first, second, shift):
    ((found, low, high, share),) = find_parts(first, second)
    assert found == shift
    assert (high - low > 0.8 * np.array(first.shape[1::-1]) - 80).all()
    assert share == 1


def test_both_parts_of_a_page_with_rows_inserted_are_found():
    page = draw_bars(rows=12)
    longer = np.vstack([page[:230], np.full((57, 640, 3), 255, np.uint8), page[230:]])
    parts = find_parts(page, longer)
    assert sorted(part[0] for part in parts) == [(0, 0), (0, 57)]
    above, below = sorted(parts)
    assert above[2][1] < 235 < below[1][1] + 15


def test_pages_of_one_layout_share_only_what_is_equal():
    ((shift, _, high, share),) = find_parts(draw_bars(1), draw_bars(2))
    assert (shift, share) == ((0, 0), 1)
    assert high[0] < 280  # where the bars begin to differ
    assert find_parts(draw("Open", BUTTONS), draw_bars()) == []


def test_page_and_itself_are_the_same_by_every_search():
    (found,) = match(draw_bars(), draw_bars()).objects
    assert found.is_same
    assert found.confidence == "sure"
    np.testing.assert_allclose(found.transform, np.eye(3), atol=1e-3)


def icon(size=48, colours=((200, 30, 40), (250, 220, 60))):
    """Draw an icon with a transparent ground (h, w, 4)."""
    image = Image.new("RGBA", (4 * size, 4 * size))
    pen = ImageDraw.Draw(image)
    pen.ellipse([8, 8, 4 * size - 8, 4 * size - 8], fill=colours[0])
    pen.rectangle([1.4 * size, 1.2 * size, 2.2 * size, 3 * size], fill=colours[-1])
    return image.resize((size, size), Image.Resampling.LANCZOS)


@pytest.mark.parametrize("colours", [((200, 30, 40), (250, 220, 60)), ((30, 60, 200),)], ids=["two", "one"])
def test_icon_is_found_on_busy_ground_whatever_lies_behind_it(colours):
    ground, places = Image.fromarray(skimage.data.coffee()), [(40, 60), (300, 200), (470, 320)]
    for place in places:
        ground.paste(icon(colours=colours), place, icon(colours=colours))
    found = find_pixel_copies(
        make_picture(np.asarray(icon(colours=colours))), make_picture(np.asarray(ground))
    )
    shifts = sorted(tuple((one.xy1 - one.xy0)[0].tolist()) for one in found.proposals)
    assert shifts == sorted(places)
    plain = make_picture(skimage.data.coffee())
    assert find_pixel_copies(make_picture(np.asarray(icon(colours=colours))), plain) is None


def test_piece_of_a_long_page_is_found():
    pages = [np.asarray(draw(f"Page{k}")) for k in range(20)]
    found = find_pixel_copies(make_picture(cut(pages[13], 40, 40)), make_picture(np.vstack(pages)))
    assert sorted(tuple((one.xy1 - one.xy0)[0].tolist()) for one in found.proposals) == [
        (x, y + 13 * 300) for x, y in sorted(BUTTONS)
    ]


def frame(rgb):
    return Frame(make_picture(np.ascontiguousarray(rgb)))


def turn(rgb, degrees, scale=1.0):
    """Turn a picture on a ground of one colour, and blur it a little."""
    image = Image.fromarray(rgb).filter(ImageFilter.GaussianBlur(0.6))
    image = image.resize([round(scale * n) for n in image.size]).rotate(
        degrees, expand=True, fillcolor=(90, 90, 90)
    )
    return np.asarray(image)


@pytest.mark.parametrize(("degrees", "scale"), [(0, 1.0), (7, 0.9), (-12, 1.15), (15, 1.0)])
def test_whole_frame_is_registered_without_features(degrees, scale):
    picture = skimage.data.coffee()
    turned = turn(picture, degrees, scale)
    (found,) = find_whole_frame(frame(picture), frame(turned)).proposals
    centre, middle = (np.array(rgb.shape[1::-1]) / 2 - 0.5 for rgb in (picture, turned))
    angle = math.radians(degrees)
    linear = scale * np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    expected = (found.xy0 - centre) @ linear.T + middle
    assert np.abs(found.xy1 - expected).max() < 1
    assert found.negative is None
    assert 0.6 < found.likeness < 1


def test_frames_of_strangers_or_far_turned_are_not_registered():
    coffee, other = skimage.data.coffee(), skimage.data.chelsea()
    assert find_whole_frame(frame(coffee), frame(other)) is None
    assert find_whole_frame(frame(coffee), frame(turn(coffee, 40))) is None


def test_pages_of_other_rows_in_the_same_places_are_not_the_same_frame():
    assert find_whole_frame(frame(draw_bars(1)), frame(draw_bars(2))) is None


def test_boards_of_a_few_straight_lines_are_registered_where_they_are():
    rng = np.random.default_rng(0)
    board = np.zeros((640, 640, 3), np.uint8)
    for x in (60, 170, 330, 480, 590):
        board[:, x : x + int(rng.integers(20, 60))] = 255
    for y in (110, 300, 470):
        board[y : y + 30, 60:480] = 255
    spoiled = board.copy()
    spoiled[200:216, 330:350] = 0
    (found,) = find_whole_frame(frame(board), frame(spoiled)).proposals
    assert np.abs(found.xy1 - found.xy0).max() < 0.5


def test_negative_of_a_whole_frame_is_said_to_be_one():
    page = draw_bars()
    (found,) = find_whole_frame(frame(page), frame(255 - page)).proposals
    assert found.negative == 1
    assert np.abs(found.xy1 - found.xy0).max() < 1


def draw_page(n_lines, notice=0, changed=False):
    """Draw a page of text of 640 pixels, with a notice of so many pixels below its title."""
    image = Image.new("RGB", (640, 120 + 34 * n_lines + notice), "white")
    pen, fonts = ImageDraw.Draw(image), [ImageFont.load_default(size) for size in (34, 20)]
    pen.text((40, 25), "How to fold a boat", "black", fonts[0])
    for k in range(n_lines):
        last = "cut off" if changed and k == 8 else "press"
        pen.text((40, 90 + 34 * k + notice), f"{k}. Fold along line {7 * k}, then {last}.", "black", fonts[1])
    if notice:
        pen.text((60, 92), "Nothing of this was known before", "black", fonts[1])
    return np.asarray(image)


def test_blocks_of_two_versions_of_a_page_and_what_is_new():
    result = match(draw_page(12), draw_page(12, notice=60, changed=True))
    assert sorted(found.motion.words for found in result.objects) == [
        "same size",
        "same size, moved by 0, 60",
    ]
    (moved,) = (found for found in result.objects if found.motion.shift[1])
    np.testing.assert_allclose(moved.transform, [[1, 0, 0], [0, 1, 60], [0, 0, 1]], atol=1e-6)
    changed = [one.polygon0.mean(axis=0) for one in moved.differences]
    assert changed
    assert all(abs(y - (90 + 34 * 8 + 10)) < 15 for _, y in changed)  # and not where the other block lies
    assert result.only0 == ()
    middles = sorted(y for _, y in (new.mean(axis=0) for new in result.only1))
    assert middles[0] == pytest.approx(104, abs=16)  # the notice, and then at most the longer line
    assert all(y == pytest.approx(90 + 34 * 8 + 70, abs=16) for y in middles[1:])
    back = match(draw_page(12, notice=60, changed=True), draw_page(12))
    assert (len(back.only0), len(back.only1)) == (len(result.only1), 0)


def test_nothing_is_gone_or_new_where_the_frames_are_not_one_thing():
    page = draw_page(12)
    assert match(page, page).only == ((), ())
    part = match(page[80:300, :400], page)
    assert part.objects
    assert part.only == ((), ())
    photograph = skimage.data.coffee()
    assert match(photograph, photograph[50:]).only == ((), ())


def test_shadow_belongs_to_the_frame_of_a_screenshot():
    rgb = np.random.default_rng(0).integers(0, 255, (120, 160, 3)).astype(np.uint8)
    alpha = np.zeros((120, 160), np.uint8)
    alpha[1:119, 1:159], alpha[10:110, 10:150] = 20, 255
    picture = make_picture(np.dstack([rgb, alpha]))
    assert picture.mask.sum() == 100 * 140
    assert picture.box.tolist() == [[0.5, 0.5], [158.5, 118.5]]
