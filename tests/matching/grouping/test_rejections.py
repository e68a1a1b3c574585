"""What grouping tells of the groups that are no objects."""

from dataclasses import replace

import numpy as np
import pytest
from planting import similarity

from matching.config import MatchConfig
from matching.correspondences.correspondences import Correspondences
from matching.grouping import group
from matching.grouping.rejections import MOST, REASONS, Dropped, choose_dropped

CONFIG = MatchConfig(objects=replace(MatchConfig().objects, evidence=0.0))


def moving(n, middle, matrix, rng, spread=60.0):
    """Matches of an object around a place."""
    xy0 = rng.uniform(-spread, spread, (n, 2)) + middle
    xy1 = (xy0 - middle) @ matrix.T + np.array(middle) + 40 + rng.normal(0, 0.4, (n, 2))
    return Correspondences(xy0, xy1, np.tile(matrix, (n, 1, 1)))


def scene(*parts):
    """The parts, then false matches."""
    rng = np.random.default_rng(0)
    noise = Correspondences(
        rng.uniform(0, 900, (300, 2)),
        rng.uniform(0, 900, (300, 2)),
        np.array([similarity(a, 1.0) for a in rng.uniform(-3, 3, 300)]),
    )
    parts = [*parts, noise]
    return Correspondences(*(np.concatenate([getattr(p, n) for p in parts]) for n in ("xy0", "xy1", "maps")))


def test_a_small_cluster_is_named_with_its_size():
    rng = np.random.default_rng(1)
    c = scene(moving(80, (200, 200), np.eye(2), rng), moving(11, (700, 700), similarity(0.5), rng))
    found = group(c, len(c), CONFIG)
    assert len(found.scores) == 1
    (small,) = [item for item in found.rejected if item.stage == "clusters" and item.members.min() >= 80]
    assert (small.measure, small.bound) == (len(small.members), 12)
    assert set(small.members) <= set(range(80, 91))
    located = small.locate(c.xy0, c.xy1)
    assert located.n_matches == len(small.members)
    assert np.array_equal(located.points0, c.xy0[small.members])
    assert located.reason == REASONS["clusters"]


def test_what_is_not_significant_is_named_with_its_number():
    rng = np.random.default_rng(2)
    c = scene(moving(60, (300, 300), np.eye(2), rng))
    strict = replace(CONFIG, objects=replace(CONFIG.objects, max_log_nfa=-900.0))
    found = group(c, len(c), strict)
    assert len(found.scores) == 0
    (item,) = [item for item in found.rejected if item.stage == "significance"]
    assert item.bound == -900
    assert -20 <= item.measure < -4
    assert len(item.members) > 50


def test_each_group_is_listed_once_and_objects_are_not():
    labels = np.full(100, -1)
    labels[:10] = 0
    dropped = [
        Dropped("clusters", np.arange(20, 28), 8, 12),
        Dropped("largest gap", np.arange(20, 40), 0.1, 0.5),
        Dropped("suppression", np.arange(4, 12)),  # most of it is in the object
        Dropped("clusters", np.arange(60, 66), 6, 12),
    ]
    chosen = choose_dropped(dropped, labels)
    assert [item.stage for item in chosen] == ["largest gap", "clusters"]
    assert chosen[1].members[0] == 60
    assert (labels >= 0).sum() == 10  # as they were
    many = [Dropped("clusters", np.arange(k, k + 1)) for k in range(20, 20 + MOST + 5)]
    assert len(choose_dropped(many, labels)) == MOST


@pytest.mark.parametrize("stage", REASONS)
def test_reasons_are_sentences_without_an_end(stage):
    assert REASONS[stage][0].islower()
    assert not REASONS[stage].endswith(".")
