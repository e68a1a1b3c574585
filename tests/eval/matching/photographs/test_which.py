import numpy as np

from eval.matching.photographs.shelves import Instance
from eval.matching.photographs.which import Counts, count_labels
from matching.labels.places import Place
from matching.labels.record import LabelledPicture


def square(x):
    return np.array([[x, 0.0], [x + 9, 0], [x + 9, 9], [x, 9]])


def place(name, x):
    return Place(name, tuple(map(tuple, square(x).tolist())), 0.9, 0.5)


def test_label_is_right_where_its_thing_lies_and_has_no_label_yet():
    truth = {
        "a.jpg": [Instance(name, name, (square(x),)) for name, x in (("king", 0), ("queen", 50), ("ace", 90))]
    }
    places = (place("king", 1), place("king", 0), place("king", 50), place("queen", 200))
    picture = LabelledPicture(0, "a.jpg", None, places=places)
    assert count_labels([picture], truth, {"king", "queen"}) == Counts(there=2, right=1, wrong=3, other=1)
