"""Pieces of screens, which have few features."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from matching import match
from matching.core.pixels.copies import find_pixel_copies
from matching.pictures.images import make_picture

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
