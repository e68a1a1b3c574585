"""Single pictures that show things several times."""

import numpy as np

from synth.pages import crop_front, draw_stock


def test_a_product_shows_the_middle_of_its_front():
    tall, wide = np.zeros((640, 230, 3), np.uint8), np.zeros((300, 900, 3), np.uint8)
    tall[160:479] = 1
    wide[:, 342:558] = 1
    for front, shape in ((tall, (319, 230, 3)), (wide, (300, 216, 3))):
        shown = crop_front(front)
        assert shown.shape == shape and shown.all()
        assert crop_front(shown).shape == shape


def test_stock_has_as_many_copies_as_it_says():
    colours = [(250, 0, 0), (0, 250, 0), (0, 0, 250), *[(90, 0, 90)] * 3, (0, 0, 0)]
    fronts = [np.full((250, 180, 3), colour, np.uint8) for colour in colours]
    picture, copies = draw_stock(fronts, np.random.default_rng(0), most=5)
    assert len(copies) == 4 and copies[3] == 0 and all(1 <= n <= 5 for n in copies[:3])
    for k, n in enumerate(copies[:3]):
        others = [i for i in range(3) if i != k]
        shown = (picture[..., k] > 150) & (picture[..., others].max(axis=2) < 30)
        assert abs(shown.sum() / (170 * 122) - n) < 0.2 * n + 0.8  # with a third of each of two siblings
