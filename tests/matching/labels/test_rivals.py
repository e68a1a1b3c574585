"""Alike references: which of them a place shows, on drawn cards."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from matching.collection import FeatureCache
from matching.labels import Reference, label_pictures
from matching.labels.rivals import OTHER, claim_places, settle_places
from matching.objects.completeness import Completeness
from matching.objects.description import describe_object
from matching.pictures.images import make_picture
from synth.cards import draw_deck, photograph_cards

DECK = draw_deck()
ON_TABLE = ["8 of spades", "king of hearts", "7 of hearts", "10 of clubs", "queen of clubs", "3 of diamonds"]
RIVALS = [
    "8 of clubs",
    "8 of hearts",
    "king of clubs",
    "7 of diamonds",
    "10 of spades",
    "queen of spades",
    "3 of hearts",
    "jack of hearts",
    "queen of hearts",
]
BOX = np.array([[-0.5, -0.5], [239.5, 335.5]])


@pytest.fixture(scope="module")
def table():
    """A photograph of ON_TABLE, and the corners of its cards."""
    photograph, quads = photograph_cards(DECK, ON_TABLE, np.random.default_rng(3))
    return make_picture(photograph, "table"), quads


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    """A reference for each card on the table, and for one or two that are alike."""
    folder = tmp_path_factory.mktemp("deck")
    for name in (*ON_TABLE, *RIVALS):
        Image.fromarray(DECK[name]).save(folder / f"{name}.png")
    return {name: Reference(name, str(folder / f"{name}.png")) for name in (*ON_TABLE, *RIVALS)}


def claim(reference, quad, score=0.5):
    """The claim that a card lies at a place, as matches of two cards with much in common would make it."""
    xy = np.random.default_rng(0).uniform(0, 200, (30, 2))
    found = describe_object(0, xy, xy, score, box=BOX, log_nfa=-12.0)
    found = replace(found, frame1=quad, completeness=Completeness(0.9, 1.0, 0.9, 0.9))
    (made,) = claim_places(reference, [found], BOX, (1920, 1440))
    return made


@pytest.mark.parametrize(
    "claimed", [["8 of clubs"], ["8 of clubs", "8 of spades"], ["7 of hearts", "8 of clubs"]]
)
def test_card_on_the_table_has_the_place_that_others_claim(table, references, claimed):
    """Whether its own matches found it or not."""
    claims = [claim(references[name], table[1][0]) for name in claimed]
    (place,) = settle_places(claims, list(references.values()), table[0])
    assert (place.name, place.same, place.whole) == ("8 of spades", None, True)


def test_card_keeps_what_its_own_matches_say(table, references):
    first = claim(references["8 of clubs"], table[1][0], score=0.9)
    its = claim(references["8 of spades"], table[1][0])
    its = replace(its, place=replace(its.place, same=True, score=0.625))
    assert settle_places([first, its], list(references.values()), table[0]) == [its.place]


def test_card_that_lies_upside_down_to_the_one_found_is_laid_so(table, references):
    found = claim(references["8 of hearts"], np.roll(table[1][2], 2, axis=0))
    (place,) = settle_places([found], list(references.values()), table[0])
    assert place.name == "7 of hearts"
    assert np.allclose(place.polygon, np.round(table[1][2], 2))


def test_place_is_marked_if_rivals_explain_some_of_it_better(table, references):
    others = [references[f"{name} of hearts"] for name in ("jack", "queen")]
    (place,) = settle_places([claim(others[0], table[1][1])], others, table[0])
    assert place.same is False
    assert place.score < 0.5
    assert OTHER in place.doubt


def test_place_is_marked_if_more_of_it_is_unexplained_than_is_usual_in_the_picture(table, references):
    names = ["8 of clubs", *ON_TABLE[1:]]
    claims = [claim(references[name], quad) for name, quad in zip(names, table[1], strict=True)]
    kept = [reference for name, reference in references.items() if name != "8 of spades"]
    places = settle_places(claims, kept, table[0])
    assert [place.name for place in places if place.same is False] == ["8 of clubs"]
    assert {place.name for place in places if place.same is not False} == set(ON_TABLE[1:])


@pytest.mark.parametrize("names", [["8 of clubs"], ["8 of clubs", "king of hearts"]])
def test_place_stays_as_it_is_without_alike_references(table, references, names):
    found = claim(references["8 of clubs"], table[1][0])
    assert settle_places([found], [references[name] for name in names], table[0]) == [found.place]


def test_references_of_one_class_are_no_rivals(table, references):
    both = [replace(references[f"8 of {suit}"], name="8") for suit in ("clubs", "hearts")]
    found = claim(both[0], table[1][0])
    assert settle_places([found], both, table[0]) == [found.place]


def test_run_names_the_card_and_leaves_out_what_differs_unless_the_user_accepts_it(tmp_path):
    for folder in ("photos", "cache"):
        (tmp_path / folder).mkdir()
    photograph, _ = photograph_cards(DECK, ["queen of spades"], np.random.default_rng(1))
    Image.fromarray(photograph[:480, :480]).save(tmp_path / "photos" / "table.png")
    wanted = []
    for name in ("queen of spades", "queen of clubs"):
        Image.fromarray(DECK[name]).save(tmp_path / f"{name}.png")
        wanted.append(Reference(name, str(tmp_path / f"{name}.png")))
    cache = FeatureCache(tmp_path / "cache", 10**8)
    labels = label_pictures(wanted, tmp_path / "photos", tmp_path / "labels", cache=cache, jobs=1)
    (picture,) = labels.pictures
    assert [place.name for place in picture.places] == ["queen of spades"]
    differing = replace(picture, places=(replace(picture.places[0], same=False),))
    labels.record.pictures[picture.name] = differing
    assert not labels.pictures[0].places
    assert labels.left_out["different"] == 1
    labels.record.add_verdict(differing, 0, verdict=True)
    assert labels.pictures[0].places == differing.places
    assert labels.left_out["different"] == 0
