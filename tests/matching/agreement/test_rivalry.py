"""Which of several alike pictures explains a place, on drawn cards."""

import numpy as np
import pytest

from matching.agreement.rivalry import cut_square, explain
from matching.objects.frames import list_corners
from matching.pictures.images import make_picture
from synth.cards import draw_deck, photograph_cards

DECK = {name: make_picture(card, name) for name, card in draw_deck().items()}
SQUARES = {name: cut_square(picture, list_corners(picture.box)) for name, picture in DECK.items()}
ON_TABLE = ["8 of spades", "king of hearts", "7 of hearts", "10 of clubs"]


@pytest.fixture(scope="module")
def table():
    """A photograph of ON_TABLE, and the corners of its cards."""
    cards = {name: picture.rgb for name, picture in DECK.items()}
    photograph, quads = photograph_cards(cards, ON_TABLE, np.random.default_rng(3))
    return photograph, dict(zip(ON_TABLE, quads, strict=True))


def find_best(names, place):
    return min(names, key=lambda name: explain(SQUARES[name], place).cost)


@pytest.mark.parametrize(
    ("name", "rivals"),
    [
        ("8 of spades", ["8 of clubs", "8 of hearts", "7 of spades", "6 of spades"]),
        ("king of hearts", ["king of diamonds", "jack of hearts", "queen of hearts"]),
        ("7 of hearts", ["7 of diamonds", "8 of hearts", "6 of hearts"]),
    ],
)
def test_card_explains_its_place_better_than_cards_of_its_rank_or_suit(table, name, rivals):
    photograph, quads = table
    for moved in (quads[name], quads[name] + np.array([2.0, -1.5])):
        place = cut_square(make_picture(photograph, "table"), moved)
        assert find_best([*rivals, name], place) == name
        fit = explain(SQUARES[name], place)
        assert fit.unexplained < 0.01
        assert max(fit.compare(explain(SQUARES[rival], place)) for rival in rivals) < 0.3


def test_shadow_and_glare_speak_for_no_card(table):
    photograph, quads = table
    low, high = quads["8 of spades"].min(axis=0), quads["8 of spades"].max(axis=0)
    x, y = np.meshgrid(*(np.arange(n) for n in photograph.shape[1::-1]))
    shadow = np.where(x < (low[0] + high[0]) / 2, 0.4, 1.0)[..., None]
    glare = 180 * np.exp(-((x - low[0] - 60) ** 2 + (y - low[1] - 80) ** 2) / 3000)[..., None]
    for lit in (photograph * shadow, np.minimum(photograph + glare, 255)):
        place = cut_square(make_picture(lit.astype(np.uint8), "lit"), quads["8 of spades"])
        assert find_best(["8 of clubs", "8 of hearts", "7 of spades", "8 of spades"], place) == "8 of spades"


def test_another_card_is_better_somewhere_if_the_one_that_is_shown_is_missing(table):
    photograph, quads = table
    place = cut_square(make_picture(photograph, "table"), quads["king of hearts"])
    jack, queen = (explain(SQUARES[f"{rank} of hearts"], place) for rank in ("jack", "queen"))
    assert jack.compare(queen) > 0.3
    assert queen.compare(jack) > 0.3


def test_cards_are_alike_whatever_their_colours_and_which_end_is_up():
    seven = SQUARES["7 of spades"]
    for name in ("7 of diamonds", "8 of clubs"):
        assert explain(seven.coarse, SQUARES[name].coarse).alikeness > 0.5
    assert explain(SQUARES["king of hearts"].coarse, seven.coarse).alikeness < 0.4
    queen = SQUARES["queen of hearts"]
    assert explain(queen.turned.coarse, queen.coarse).alikeness > 0.9


def test_place_outside_the_picture_is_explained_by_nothing():
    square = SQUARES["7 of spades"]
    outside = cut_square(DECK["7 of spades"], list_corners(DECK["7 of spades"].box) + 1000)
    fit = explain(square, outside)
    assert (fit.cost, fit.alikeness, fit.compare(fit)) == (np.inf, 0, 0)
