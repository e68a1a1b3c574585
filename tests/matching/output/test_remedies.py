"""What front ends suggest about matches in no object: each hint helps where it is given."""

import re
from functools import cache

import cv2
import numpy as np
import pytest
import skimage.data
from planting import crops, object_pair

from matching import MatchConfig, group_matches, match
from matching.cli.arguments import make_parser as make_match_parser
from matching.cli.commands.group import make_parser as make_group_parser
from matching.grouping.reasons import REASONS
from matching.output.remedies import DOORS, FURTHER, HINTS, LARGER, USUAL, list_hints
from matching.output.words import hint_at_rejected

DEFAULT = MatchConfig()
STRICT = DEFAULT.with_settings(max_log_nfa=-15.0)
POINTS = "check that the points are x and y in pixels of these pictures"


def tell(result, door):
    """What the front end prints about a result."""
    return " ".join(hint_at_rejected(result, list_hints(result, door)))


def tiles(rng, photographs):
    """A picture (480, 640, 3) of squares of photographs."""
    picture = np.zeros((480, 640, 3), np.uint8)
    for y in range(0, 480, 120):
        for x in range(0, 640, 120):
            photograph = photographs[rng.integers(len(photographs))]
            size = rng.uniform(0.6, 1.4)
            photograph = cv2.resize(photograph, None, fx=size, fy=size)
            top, left = (rng.integers(0, side - 120) for side in photograph.shape[:2])
            square = np.rot90(photograph[top : top + 120, left : left + 120], rng.integers(4))
            picture[y : y + 120, x : x + 120] = square[:, : 640 - x]
    return picture


def plant(rng, picture, thing, size, turn):
    """The picture with the thing, `size` pixels long, somewhere in its middle."""
    linear = size / len(thing) * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    middle = [rng.uniform(0.3, 0.7) * 640, rng.uniform(0.3, 0.7) * 480]
    transform = np.column_stack([linear, middle - linear.sum(axis=1) * len(thing) / 2])
    shown, mask = (
        cv2.warpAffine(one, transform, (640, 480), flags=cv2.INTER_AREA)
        for one in (thing, np.ones(thing.shape[:2], np.uint8))
    )
    return np.where(mask[..., None] > 0, shown, picture)


@cache
def small_thing():
    """Two pictures of a thing that is small in the second one, among much else."""
    coffee, cat, rocket = (getattr(skimage.data, name)() for name in ("coffee", "chelsea", "rocket"))
    thing = cv2.resize(skimage.data.astronaut()[30:230, 120:320], (300, 300))
    rng = np.random.default_rng(1)
    first = plant(rng, tiles(rng, [coffee, cat]), thing, 54, 0)
    return first, plant(rng, tiles(rng, [rocket]), thing, 18, 1)


def match_small(max_matches):
    return match(*small_thing(), max_matches=max_matches)


def match_reduced(share, **settings):
    reduced = (
        cv2.resize(one, None, fx=share, fy=share, interpolation=cv2.INTER_AREA) for one in object_pair()
    )
    return match(*reduced, **settings)


def group_among_others(n, n_others, config=DEFAULT):
    """Group n matches that move alike, among others at random."""
    rng = np.random.default_rng(0)
    others, xy = rng.uniform(0, 600, (n_others, 4)), rng.uniform(0, 100, (n, 2))
    return group_matches(
        np.concatenate([others[:, :2], xy]),
        np.concatenate([others[:, 2:], xy + np.array([300, 200])]),
        config=config,
    )


@cache
def found_matches():
    """The points of an object that both pictures of a pair show."""
    best = match(*object_pair()).objects[0]
    return best.points0, best.points1


def group_found(noise=0.0, **pictures):
    xy0, xy1 = found_matches()
    return group_matches(xy0, xy1 + np.random.default_rng(0).normal(0, noise, xy1.shape), **pictures)


PICTURES = dict(zip(("image0", "image1"), object_pair(), strict=True))
OTHERS = {**PICTURES, "image1": PICTURES["image1"][:, ::-1].copy()}
CASES = {  # the door, the hint, a result that has it, and one for which it was followed
    "further": ("match", FURTHER["match"], lambda: match_small(30), lambda: match_small(6000)),
    "further on page": ("page", FURTHER["page"], lambda: match_small(30), lambda: match_small(6000)),
    "larger": ("match", LARGER, lambda: match_reduced(0.1), lambda: match_reduced(0.2)),
    "larger on page": ("page", LARGER, lambda: match_reduced(0.1), lambda: match_reduced(0.2)),
    "more": (
        "group",
        "give more matches",
        lambda: group_among_others(7, 400),
        lambda: group_among_others(15, 400),
    ),
    "bound": (
        "group",
        "raise --max-nfa",
        lambda: group_among_others(14, 100, STRICT),
        lambda: group_among_others(14, 100),
    ),
    "pictures": ("group", "give the pictures", lambda: group_found(8), lambda: group_found(8, **PICTURES)),
    "points": ("group", POINTS, lambda: group_found(**OTHERS), lambda: group_found(**PICTURES)),
}


@pytest.mark.parametrize(("door", "hint", "before", "after"), CASES.values(), ids=list(CASES))
def test_following_a_hint_finds_the_object(door, hint, before, after):
    assert hint in tell(before(), door)
    assert after().objects


@pytest.mark.parametrize(
    ("door", "hint", "result"),
    [
        ("match", FURTHER["match"], lambda: match_reduced(0.1)),  # 72 candidates, of 3000 that are allowed
        ("match", LARGER, lambda: match_reduced(0.1, max_pixels=500)),  # a larger one would be reduced, too
        ("match", "try", lambda: match(crops()["astronaut"], np.zeros((99, 99, 3), np.uint8))),
        ("match", "try", lambda: match(*object_pair(), mask1=np.zeros(object_pair()[1].shape[:2], np.uint8))),
        ("group", "--max-nfa", lambda: group_among_others(6, 400)),  # there is no group to keep
        ("group", "give", lambda: group_found(**OTHERS)),
    ],
)
def test_hint_is_not_given_where_it_does_not_help(door, hint, result):
    found = result()
    assert not found.objects
    assert hint not in tell(found, door)


def test_unrelated_pictures_are_said_to_be_unrelated():
    found = match(crops()["astronaut"], crops()["coffee"])
    assert tell(found, "match").endswith(USUAL)


def test_hints_are_about_steps_that_drop_matches():
    assert HINTS.keys() <= REASONS.keys()
    used = {hint for row in HINTS.values() for hint in row if hint}
    tried = " ".join([USUAL, *(hint for _, hint, _, _ in CASES.values())])
    assert all(
        any(word in tried for word in (hint, *re.findall(r"raise --[a-z-]+|give the pictures", hint)))
        for hint in used
    )


def test_hints_name_only_options_of_their_command():
    for door, parser in (("match", make_match_parser()), ("group", make_group_parser())):
        known = {option for action in parser._actions for option in action.option_strings}
        texts = [FURTHER.get(door, ""), *(row[DOORS.index(door)] for row in HINTS.values())]
        assert set(re.findall(r"--[a-z0-9-]+", " ".join(texts))) <= known
    assert "--" not in " ".join([FURTHER["page"], *(row[DOORS.index("page")] for row in HINTS.values())])
