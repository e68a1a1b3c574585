import numpy as np

from synth.cards import draw_deck, photograph_cards


def test_deck_has_52_different_cards_that_look_alike_upside_down():
    deck = draw_deck()
    assert len(deck) == 52
    assert len({card.tobytes() for card in deck.values()}) == 52
    turned = deck["king of hearts"][::-1, ::-1].astype(int)
    assert np.abs(turned - deck["king of hearts"]).max() <= 2


def test_photograph_shows_the_cards_within_their_corners():
    deck = draw_deck()
    photograph, quads = photograph_cards(deck, ["ace of spades", "6 of hearts"], np.random.default_rng(0))
    again, _ = photograph_cards(deck, ["ace of spades", "6 of hearts"], np.random.default_rng(0))
    assert np.array_equal(photograph, again)
    middles = np.rint([quad.mean(axis=0) for quad in quads]).astype(int)
    (ace, heart) = (photograph[y, x].astype(int) for x, y in middles)
    assert ace.max() < 80  # the large pip
    assert heart.min() > 120  # white between its pips
