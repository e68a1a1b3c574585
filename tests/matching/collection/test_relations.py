"""What two pictures are to each other, by known motions."""

import math

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter
from planting import crops

from matching.collection.reports.relations import (
    Relation,
    check_made,
    find_relation,
    find_shown,
    fit_motion,
    fit_similarity,
    map_frame,
)
from matching.objects.comparison import OPPOSITES

SIZE = 640, 480


def motion(turn=0.0, scale=1.0, shift=(0.0, 0.0), mirror=False):
    """(3, 3): mirrored, turned, scaled, shifted."""
    c, s = scale * math.cos(math.radians(turn)), scale * math.sin(math.radians(turn))
    linear = np.array([[c, -s], [s, c]]) @ np.diag([-1.0 if mirror else 1.0, 1.0])
    return np.vstack([np.column_stack([linear, shift]), [0, 0, 1]])


def matches(transform, rng, size=SIZE, n=200, noise=0.5, where=(0.0, 0.0, 1.0, 1.0)):
    """n matches of a part of picture 0, given in shares of its width and height."""
    left, top, right, bottom = where
    xy0 = rng.uniform((left * size[0], top * size[1]), (right * size[0], bottom * size[1]), (n, 2))
    xy1 = np.column_stack([xy0, np.ones(n)]) @ transform.T
    return xy0, xy1[:, :2] / xy1[:, 2:] + rng.normal(0, noise, (n, 2))


def test_frame_holds_the_mapped_corners():
    assert np.allclose(map_frame(motion(90, 2, (960, 0)), SIZE), [[961, -1], [961, 1279], [1, 1279], [1, -1]])
    assert map_frame(np.array([[1, 0, 0], [0, 1, 0], [0.01, 0, -1]]), SIZE) is None


def about_the_middle(turn, scale=1.0, mirror=False, off=(0.0, 0.0)):
    """Turned within a canvas that is scaled as well."""
    made, middle = motion(turn, scale, mirror=mirror), (np.array(SIZE) - 1) / 2
    made[:2, 2] = off + middle * (scale if scale == 0.5 else 1) - made[:2, :2] @ middle
    return made


CASES = [
    ("copy", None, motion(), SIZE),
    ("copy", None, motion(shift=(3, -2)), SIZE),
    ("thumbnail", 1, motion(scale=0.3), (192, 144)),
    ("thumbnail", 0, motion(scale=3), (1920, 1440)),
    ("crop", 1, motion(shift=(-200, -100)), (300, 250)),
    ("crop", 0, motion(shift=(200, 100)), (1200, 900)),
    ("crop", 1, motion(scale=2, shift=(-500, -300)), (400, 300)),
    ("crop", 1, motion(90, shift=(300, -100)), (200, 300)),
    ("turned", None, motion(90, shift=(479, 0)), (480, 640)),
    ("turned", None, motion(180, shift=(639, 479)), SIZE),
    ("turned", None, motion(30, shift=(240, 0)), (794, 736)),
    ("turned", None, about_the_middle(30), SIZE),
    ("turned", None, about_the_middle(45), SIZE),
    ("turned", None, about_the_middle(90), SIZE),
    ("turned", None, about_the_middle(-20, 0.5), (320, 240)),
    ("mirrored", None, about_the_middle(30, mirror=True), SIZE),
    ("same thing", None, about_the_middle(30, off=(40.0, 30.0)), SIZE),
    ("mirrored", None, motion(shift=(639, 0), mirror=True), SIZE),
    ("same thing", None, motion(shift=(300, 200)), SIZE),
]


@pytest.mark.parametrize(("kind", "derived", "transform", "size1"), CASES)
def test_relation_has_expected_kind(kind, derived, transform, size1):
    rng = np.random.default_rng(0)
    xy0, xy1 = matches(transform, rng)
    inside = (xy1 > 0).all(axis=1) & (xy1 < size1).all(axis=1)
    fitted = fit_motion(xy0[inside], xy1[inside], transform, SIZE, size1)
    for told in (find_relation(known, SIZE, size1) for known in (transform, fitted)):
        assert (told.kind, told.derived) == (kind, derived)
    back = find_relation(np.linalg.inv(transform), size1, SIZE)
    reverse = find_relation(transform, SIZE, size1).reverse()
    assert (back.kind, back.derived) == (reverse.kind, reverse.derived)
    numbers = np.array([(r.share0, r.share1, abs(r.turn), r.scale) for r in (back, reverse)])
    assert np.allclose(*numbers)


def test_crop_has_expected_numbers():
    told = find_relation(motion(90, 2, (300, -100)), SIZE, (200, 300))
    assert (round(told.turn), round(told.scale, 6), told.mirrored) == (90, 2, False)
    flipped = find_relation(np.diag([1.0, -1, 1]), SIZE, SIZE)
    assert (abs(flipped.turn), flipped.mirrored) == (180, True)
    assert told.share0 == pytest.approx(200 * 300 / 4 / 640 / 480)
    assert told.share1 == pytest.approx(1)


def test_photograph_of_a_picture_is_no_copy():
    """Seen from the side, filling the other picture."""
    rng = np.random.default_rng(0)
    tilted = np.array([[1.0, 0.05, 0], [0, 1.0, 0], [2e-4, 0, 1]])
    assert fit_motion(*matches(tilted, rng), tilted, SIZE, (600, 440)) is None


def compare(left, right, transform=None, kind="copy"):
    """The relation of two pictures of one size, or of one that a map lays on the other."""
    relation = Relation(kind, None, 1.0, 1.0, 0.0, 1.0, False)
    return check_made(
        relation, np.asarray(left), np.asarray(right), np.eye(3) if transform is None else transform
    )


def test_copies_agree_and_pictures_that_share_a_part_do_not():
    made = {name: Image.fromarray(picture) for name, picture in crops(300).items()}
    cup = made["coffee"]
    assert compare(cup, cup).compared.is_same is True
    small = cup.resize((90, 90), Image.Resampling.LANCZOS)
    half = 300 / 90 / 2 - 0.5
    enlarge = np.array([[300 / 90, 0, half], [0, 300 / 90, half], [0, 0, 1]])
    assert compare(small, cup, enlarge).compared.is_same is True
    captioned = np.asarray(made["astronaut"]).copy()
    captioned[240:280] = 0
    changed = compare(made["astronaut"], captioned)
    assert changed.role == "copy of, differs in 1 place"
    assert changed.compared.is_same is False
    pasted = np.asarray(made["rocket"]).copy()
    pasted[90:220, 60:220] = np.asarray(cup)[90:220, 60:220]
    assert compare(cup, pasted).kind == "same thing"
    moved = np.array([[1.0, 0, 6], [0, 1, 0], [0, 0, 1]])  # by 6 pixels: another photograph of it
    assert compare(cup, cup, moved).kind != "copy"


def test_copies_say_in_what_they_look_other():
    """The role of picture 0 stands before the name of picture 1."""
    cup = Image.fromarray(crops(300)["coffee"])
    grey, soft = cup.convert("L").convert("RGB"), cup.filter(ImageFilter.GaussianBlur(2))
    dark = cup.point(lambda level: level // 2)
    for made, words in ((grey, "in grey"), (soft, "less sharp"), (dark, "darker")):
        assert compare(made, cup).role == f"copy of, {words}"
        assert compare(cup, made).reverse().role == f"copy of, {words}"
        assert compare(cup, made).role == f"copy of, {OPPOSITES[words]}"
    assert compare(cup, cup).verdict.startswith("the same (nothing larger than ")


def draw_ticket(*words, side=(640, 300)):
    """A ticket with a header and a picture, filled in with words."""
    page = Image.new("RGB", side, (245, 238, 224))
    draw = ImageDraw.Draw(page)
    draw.rectangle((0, 0, side[0], 55), fill=(20, 58, 120))
    draw.text((20, 12), "NORTHERN RAILWAYS", fill="white", font_size=26)
    page.paste(Image.fromarray(crops(180)["coffee"]), (440, 90))
    for k, word in enumerate(words):
        draw.text((20, 70 + 44 * k), "Field", fill=(90, 90, 90), font_size=16)
        draw.text((120, 68 + 44 * k), word, fill="black", font_size=22)
    return page


def test_tickets_of_two_passengers_are_of_one_template():
    first = draw_ticket("Anna Holm", "Harwich", "Esbjerg", "14 MAR", "12 A")
    other = draw_ticket("Piotr Zielinski", "Harwich", "Dover", "02 NOV", "31 F")
    one = draw_ticket("Anna Holm", "Harwich", "Esbjerg", "14 MAR", "31 F")
    found = compare(first, other)
    assert (found.role, found.compared.is_same) == ("same template as", False)
    assert compare(first, one).role == "copy of, differs in 1 place"
    assert compare(first, first).compared.is_same is True


def test_plain_areas_of_another_colour_differ():
    """The modules of codes are wider than a window, so that no print differs inside them."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (2, 12, 12))
    pages = [
        np.kron(code, np.ones((30, 30))).astype(np.uint8)[..., None].repeat(3, 2) * 200 for code in codes
    ]
    pages[1][:200] = pages[0][:200]
    assert compare(*pages).kind == "same template"


def test_blank_pages_with_one_logo_are_no_copies():
    """What is blank in both says nothing: only print does."""
    pages = np.full((2, 300, 220, 3), 255, np.uint8)
    for page, name, top in zip(pages, ("astronaut", "rocket"), (120, 150), strict=True):
        page[10:50, 10:50] = crops(40)["coffee"]
        page[top : top + 100, 60:160] = crops(100)[name]
    assert compare(*pages).kind == "same thing"
    blank = np.full((100, 100, 3), 255, np.uint8)
    assert compare(blank, blank).kind == "same thing"


@pytest.mark.parametrize("turned", [False, True])
def test_photograph_shows_a_print_and_a_logo_does_not(turned):
    cup, rng = crops(220)["coffee"], np.random.default_rng(0)
    scene = crops(400)["rocket"].copy()
    scene[100:320, 90:310] = cup
    logo = crops(220)["astronaut"].copy()
    logo[60:120, 60:120] = cup[60:120, 60:120]
    xy = rng.uniform(5, 214, (80, 2))
    within = rng.uniform(62, 118, (60, 2))
    shift = motion(shift=(90, 100))
    for image, xy0, xy1, transform, wanted in (
        (scene, xy, xy + np.array([90, 100]), shift, (1.0, 220**2 / 400**2)),
        (logo, within, within, np.eye(3), (0.0, 0.0)),
    ):
        ends = (
            (image, cup, xy1, xy0, np.linalg.inv(transform)) if turned else (cup, image, xy0, xy1, transform)
        )
        assert find_shown(*ends) == pytest.approx(wanted[::-1] if turned else wanted, abs=0.1)


def test_matches_of_several_motions_give_no_motion():
    rng = np.random.default_rng(0)
    xy0, xy1 = matches(motion(), rng)
    others = matches(motion(shift=(90, 60)), rng)
    both = np.vstack([xy0, others[0]]), np.vstack([xy1, others[1]])
    assert fit_motion(*both, motion(), SIZE, SIZE) is None


@pytest.mark.parametrize("turned", [False, True])
def test_crop_of_a_wallpaper_is_the_part_where_it_lies(turned):
    """Its places also match all other copies of the pattern, each by another motion."""
    rng = np.random.default_rng(0)
    xy0, xy1 = matches(motion(), rng)
    copies = [(xy0, np.add(xy1, (90 * k, 60))) for k in range(1, 4)]
    both = [np.vstack(columns) for columns in zip((xy0, xy1), *copies, strict=True)]
    true = np.linalg.inv(motion()) if turned else motion()
    found = fit_motion(*both[:: -1 if turned else 1], true, SIZE, SIZE)
    assert np.allclose(found, true, atol=0.1)


@pytest.mark.parametrize("mirror", [False, True])
def test_similarity_is_found_from_points(mirror):
    true = motion(37, 1.7, (40, -9), mirror)
    found = fit_similarity(*matches(true, np.random.default_rng(0), noise=0))
    assert np.allclose(found, true)


def test_two_matches_give_no_motion():
    xy = np.array([[1.0, 1.0], [600.0, 400.0]])
    assert fit_motion(xy, xy, motion(), SIZE, SIZE) is None


def test_relation_without_frame_has_no_numbers():
    beyond = np.array([[1, 0, 0], [0, 1, 0], [0.01, 0, -1]])
    told = find_relation(beyond, SIZE, SIZE)
    assert told.kind == "same thing"
    assert math.isnan(told.share0) and math.isnan(told.reverse().scale)
