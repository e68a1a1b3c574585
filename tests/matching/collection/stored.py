"""Rows for a database, without pictures."""

import numpy as np

from matching.api import MatchResult
from matching.collection.records import ImageRecord
from matching.objects.description import describe_object


def result():
    rng = np.random.default_rng(1)
    cluster = np.repeat([0, -1, 1], [30, 10, 20])
    xy0 = rng.uniform(0, 1, (60, 2)) * 100
    xy1 = xy0 + 1 / 3
    objects = tuple(describe_object(k, xy0[cluster == k], xy1[cluster == k], 50.1 - k) for k in (0, 1))
    return MatchResult(xy0, xy1, cluster, rng.uniform(size=60), objects, {"candidates": 0.25})


def fill(store):
    numbers = store.add_images(["/a", "/b", "/c"])
    store.add_pairs([(0, 1), (0, 2), (1, 2)])
    for number in numbers[:2]:
        store.record_image(ImageRecord(number, "5" * 64, 100, 90, 1000))
    store.record_image(ImageRecord(2, None, error="/c: no such file"))
    return store
