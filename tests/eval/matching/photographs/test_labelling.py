from pathlib import Path

import numpy as np

from eval.matching.photographs.labelling import Corrections, correct_scenes, format_corrections
from eval.matching.photographs.shelves import Instance
from matching.labels.places import Place
from matching.labels.record import LabelledPicture


def square(x):
    return ((x, 0.0), (x + 100.0, 0.0), (x + 100.0, 100.0), (x, 100.0))


def instance(name, x, variant="exact"):
    return Instance(f"models/{name}.jpg", variant, (np.array(square(x)),))


def place(name, x):
    return Place(name, square(x), 0.7, 0.5)


def test_what_is_missing_and_what_is_wrong_is_counted():
    scene = [instance("a", 0), instance("a", 200), instance("b", 400, "promo"), instance("c", 600)]
    places = (place("a", 5), place("a", 10), place("b", 400), place("b", 800), place("c", 900))
    picture = LabelledPicture(0, "s.jpg", "", 1000, 100, places)
    (found,) = correct_scenes([picture], {Path("s.jpg"): scene}, {"s.jpg": {"c"}})
    # one a twice, one b where there is none; the other a is missing
    assert found == Corrections("s.jpg", there=2, right=1, to_drop=2, to_draw=1)
    assert format_corrections([found, Corrections("t.jpg", 2, 2, 0, 0)]).splitlines() == [
        "2 pictures with 4 things: 3 labelled correctly, 1 to draw, 2 to drop;",
        "150 corrections in 100 pictures, 200 labels by hand",
    ]
