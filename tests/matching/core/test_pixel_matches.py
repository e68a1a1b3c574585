import numpy as np

from matching.core.groups import FEW_MATCHES
from matching.core.pixel_matches import choose_rows


def test_objects_come_first_and_larger_ones_are_cut():
    labels = np.repeat([0, 1, -1], [40, 10, 30])
    score = np.tile(np.linspace(0, 1, 10), 8)
    rows = choose_rows(labels, score, np.zeros(80, bool), 30)
    assert np.bincount(labels[rows] + 1).tolist() == [0, 20, 10]
    assert score[rows][labels[rows] == 0].max() < score[:40].max()
    assert np.bincount(labels[choose_rows(labels, score, np.zeros(80, bool), 60)] + 1).tolist() == [
        10,
        40,
        10,
    ]


def test_an_object_keeps_as_many_matches_as_the_smallest_object_has():
    labels = np.repeat([0, 1, -1], [40, 10, 30])
    for most in (1, 3, 15):
        rows = choose_rows(labels, np.zeros(80), np.zeros(80, bool), most)
        assert np.bincount(labels[rows] + 1).tolist() == [0, FEW_MATCHES, FEW_MATCHES]
