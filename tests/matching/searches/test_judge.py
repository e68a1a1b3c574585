"""What lies between the matches of a proposal decides whether it is an object."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import skimage.data
from planting import crops

from matching import find_repeats, match
from matching._common import opencv
from matching.agreement import look as looks
from matching.agreement.existence import Existence, Verdict
from matching.agreement.resemblance import Resemblance
from matching.grouping.ledger import IN_OBJECT, name_steps
from matching.pictures.images import make_picture_of_array
from matching.searches.judge import (
    MIN_DISTINCT,
    Judged,
    describe_judged,
    judge,
    rank,
    split_open,
)
from matching.searches.proposals import Listing, Proposal, label_matches

SIDE = 160  # pixels of half a planted picture
SCALE = 6.0


def propose(xy0, xy1, *, step=1.0, first_row=0, n_distinct=0, **more):
    """A proposal of matches (n, 2), of which so many are distinct."""
    rows = first_row + np.arange(len(xy0))
    counted = {"count_distinct": lambda: n_distinct}
    return Proposal(rows, xy0, xy1, np.zeros(len(xy0)), 0.8, np.full(2, step), **counted, **more)


def list_of(*proposals):
    """The matches of proposals, and nothing else."""
    n = sum(len(one.rows) for one in proposals)
    xy0, xy1 = (np.concatenate([getattr(one, name) for one in proposals]) for name in ("xy0", "xy1"))
    return Listing(xy0, xy1, np.zeros(n), np.full(n, IN_OBJECT, np.int8), proposals)


@pytest.fixture(scope="module")
def planted():
    """Two pictures whose left halves agree and whose right halves don't, and a proposal on each half."""
    rng = np.random.default_rng(0)
    cat, coffee, rocket = (crops()[name][:SIDE, :SIDE] for name in ("chelsea", "coffee", "rocket"))
    pictures = [make_picture_of_array(np.hstack([cat, other])) for other in (coffee, rocket)]
    left, right = rng.uniform(10, 150, (2, 60, 2)) + np.array([[[0.0, 0.0]], [[SIDE, 0.0]]])
    return pictures, list_of(propose(left, left), propose(right, right, first_row=60))


def judge_one(proposal, pictures):
    (judged,) = judge([proposal], *pictures, SCALE)
    return judged


def place_patch(middle, n=40, side=20.0, **more):
    """A proposal of a small square whose two places are the same."""
    xy = np.random.default_rng(3).uniform(-side / 2, side / 2, (n, 2)) + middle
    return propose(xy, xy, **more)


def test_object_whose_pixels_disagree_is_none_and_rejected_with_its_measure(planted):
    pictures, listing = planted
    judged = judge(listing.proposals, *pictures, SCALE)
    assert [one.verdict for one in judged] == [Verdict.OBJECT, Verdict.NONE]
    open_, (rejected,) = split_open(judged)
    assert open_ == [0]
    assert (rejected.step, rejected.reason, rejected.n_matches) == ("agreement", "no-agreement", 60)
    assert rejected.measure < rejected.bound
    assert np.array_equal(rejected.points0, listing.proposals[1].xy0)
    assert np.array_equal(rejected.points1, listing.proposals[1].xy1)
    matches = label_matches(listing, listing.proposals[:1], (), None)
    assert matches.labels.tolist() == [0] * 60 + [-1] * 60
    assert name_steps(matches.dropped_by).tolist() == [""] * 60 + ["agreement"] * 60
    (kept,) = describe_judged(matches, judged[:1], SCALE, (pictures[0].box, pictures[1].box))
    assert (kept.id, kept.confidence, kept.is_doubtful) == (0, "sure", False)
    assert kept.is_same is False  # the frames coincide, and half of them is another print
    existence = judged[0].look.existence
    assert kept.log_nfa == existence.bound - existence.significance < -4


@pytest.mark.parametrize(
    ("n_distinct", "expected"), [(0, Verdict.DOUBTFUL), (29, Verdict.DOUBTFUL), (30, Verdict.OBJECT)]
)
def test_small_patch_that_agrees_is_looked_at_unless_its_matches_are_distinct(planted, n_distinct, expected):
    pictures, _ = planted
    judged = judge_one(place_patch([40.0, 80.0], n_distinct=n_distinct), pictures)
    existence = judged.look.existence
    assert 0 <= existence.significance < existence.bound
    assert judged.verdict is expected
    assert judged.is_close


@pytest.mark.parametrize(("n_distinct", "expected"), [(29, Verdict.NONE), (30, Verdict.DOUBTFUL)])
def test_what_disagrees_is_looked_at_only_if_its_matches_are_distinct(planted, n_distinct, expected):
    """Another light may reverse the contrast."""
    pictures, listing = planted
    judged = judge_one(replace(listing.proposals[1], count_distinct=lambda: n_distinct), pictures)
    assert judged.look.existence.significance < 0
    assert judged.verdict is expected


@pytest.mark.parametrize(("n_distinct", "expected"), [(29, Verdict.NONE), (30, Verdict.DOUBTFUL)])
def test_what_has_too_few_windows_is_looked_at_only_if_its_matches_are_distinct(
    planted, n_distinct, expected
):
    _, listing = planted
    flat = make_picture_of_array(np.full((SIDE, 2 * SIDE), 90, np.uint8))
    other = make_picture_of_array(np.full((SIDE, 2 * SIDE), 91, np.uint8))
    judged = judge_one(replace(listing.proposals[0], count_distinct=lambda: n_distinct), (flat, other))
    assert math.isnan(judged.look.existence.significance)
    assert judged.verdict is expected
    if expected is Verdict.NONE:
        assert split_open([judged])[1][0].measure is None
    else:
        matches = label_matches(list_of(judged.proposal), [judged.proposal], (), None)
        (found,) = describe_judged(matches, [judged], SCALE, (flat.box, other.box))
        assert (found.is_doubtful, found.confidence, found.log_nfa) == (True, "look at it", None)
        assert found.certainty == "look at it (little print)"
        assert found.is_same is None


def test_fewer_matches_than_enough_are_not_counted(planted):
    pictures, _ = planted

    def never():
        raise AssertionError("distinct matches of too few")

    few = replace(place_patch([40.0, 80.0], MIN_DISTINCT - 1), count_distinct=never)
    assert judge_one(few, pictures).verdict is Verdict.DOUBTFUL


def test_what_nearly_agrees_from_a_steep_direction_is_looked_at():
    assert Existence(0.2, 10.0, -1.0, is_steep=True).verdict is Verdict.DOUBTFUL
    assert Existence(0.2, 10.0, -1.0).verdict is Verdict.NONE


def test_what_disagrees_from_a_steep_direction_is_none(planted):
    pictures, listing = planted
    narrow = np.array([0.2, 1.0])
    right = listing.proposals[1]
    second = opencv.resize_area(pictures[1].rgb, 2 * SIDE // 5, SIDE)
    squeezed = make_picture_of_array(second)
    judged = judge_one(replace(right, xy1=(right.xy1 + 0.5) * narrow - 0.5), (pictures[0], squeezed))
    assert judged.look.existence.significance < 0
    assert judged.verdict is Verdict.NONE


def test_equal_pixels_are_an_object_whatever_lies_between(planted):
    pictures, listing = planted
    exact = replace(listing.proposals[1], rows=np.arange(60), likeness=1.0, log_nfa=-12.0)
    judged = judge_one(exact, pictures)
    assert judged.verdict is Verdict.OBJECT
    assert judged.log_nfa == -12.0
    matches = label_matches(list_of(exact), [exact], (), None)
    (found,) = describe_judged(matches, [judged], SCALE, (pictures[0].box, pictures[1].box))
    assert (found.is_same, found.differences, found.is_doubtful) == (True, (), False)


@pytest.mark.parametrize(
    ("existence", "verdict", "n_distinct", "expected", "caution"),
    [
        (Existence(0.9, 20, 2.0, 2.0), Verdict.OBJECT, 0, Verdict.OBJECT, ""),
        (Existence(0.6, 20, 1.9, 2.0), Verdict.DOUBTFUL, 0, Verdict.DOUBTFUL, "little print"),
        (Existence(0.6, 20, 0.0, 2.0), Verdict.DOUBTFUL, 0, Verdict.DOUBTFUL, "little print"),
        (Existence(0.6, 20, 0.0, 2.0), Verdict.DOUBTFUL, 30, Verdict.OBJECT, ""),
        (Existence(0.3, 20, -0.1, 2.0), Verdict.NONE, 0, Verdict.NONE, ""),
        (Existence(0.3, 20, -0.1, 2.0, coarse=2.0), Verdict.DOUBTFUL, 0, Verdict.DOUBTFUL, "blurred"),
        (Existence(0.3, 20, -0.1, 2.0, coarse=1.9), Verdict.NONE, 0, Verdict.NONE, ""),
        (Existence(0.3, 9, -9.0, 2.0, is_steep=True), Verdict.DOUBTFUL, 30, Verdict.DOUBTFUL, "seen steeply"),
        (Existence(0.3, 20, -9.0, 2.0), Verdict.NONE, 30, Verdict.DOUBTFUL, "another light"),
        (Existence(math.nan, 0, math.nan, 2.0), Verdict.NONE, 0, Verdict.NONE, ""),
        (Existence(math.nan, 0, math.nan, 2.0), Verdict.NONE, 30, Verdict.DOUBTFUL, "little print"),
        (Resemblance(0.3, 900, 99.0), Verdict.NONE, 0, Verdict.NONE, ""),
        (Resemblance(0.9, 900, 99.0), Verdict.OBJECT, 0, Verdict.OBJECT, ""),
    ],
)
def test_verdict_follows_the_table(existence, verdict, n_distinct, expected, caution):
    assert existence.verdict is verdict
    proposal = place_patch([0.0, 0.0], MIN_DISTINCT, n_distinct=n_distinct)
    judged = Judged(proposal, SimpleNamespace(existence=existence))
    assert (judged.verdict, judged.caution) == (expected, caution)


def test_narrow_object_is_one_only_if_pixels_confirm_it():
    stones, other = skimage.data.gravel()[:160, :160], skimage.data.brick()[:160, :160]
    rng = np.random.default_rng(1)
    xy0 = np.column_stack([np.linspace(5, 155, 12), 80 + rng.normal(0, 4, 12)])
    narrow = propose(xy0, xy0 + rng.normal(0, 0.3, xy0.shape))
    for second, n_open in ((stones, 1), (other, 0)):
        judged = judge_one(narrow, (make_picture_of_array(stones), make_picture_of_array(second)))
        open_, rejected = split_open([judged])
        assert len(open_) == n_open
        assert [(group.step, group.measure < group.bound) for group in rejected] == [("agreement", True)] * (
            1 - n_open
        )


def test_altered_print_is_said_to_differ_where_it_does():
    print_ = crops()["coffee"].copy()
    altered = print_.copy()
    altered[80:130, 60:110] = crops()["rocket"][20:70, 20:70]
    (one,) = match(print_, altered).objects
    assert one.is_same is False
    (difference,) = one.differences
    low, high = difference.polygon1.min(axis=0), difference.polygon1.max(axis=0)
    assert (low > [36, 54]).all() and (high < [136, 160]).all()
    (same,) = match(print_, print_).objects
    assert same.is_same is True


def test_places_of_one_picture_that_look_the_same_are_kept():
    tile = crops()["coffee"][:120, :120]
    page = np.full((300, 500, 3), 200, np.uint8)
    page[40:160, 40:160] = page[120:240, 320:440] = tile
    (one,) = find_repeats(page).objects
    assert one.is_same is True


def test_outlines_reach_the_edges_of_agreement_but_not_over_other_objects(planted):
    _, listing = planted
    cat = crops()["chelsea"][:160, :160]
    same = make_picture_of_array(np.hstack([cat, cat]))
    both = judge(listing.proposals, same, same.negative.negative, SCALE)
    boxes = same.box, same.box
    matches = label_matches(listing, listing.proposals, (), None)
    for k, one in enumerate(describe_judged(matches, both, SCALE, boxes)):
        own = listing.proposals[k].xy0
        assert (one.outline0.min(axis=0) > own.min(axis=0) - 2).all()
        assert (one.outline0.max(axis=0) < own.max(axis=0) + 2).all()
    alone = label_matches(listing, listing.proposals[:1], (), None)
    (one,) = describe_judged(alone, both[:1], SCALE, boxes)
    assert np.ptp(one.outline0[:, 0]) > 250
    assert one.motion.share > 0.9


@pytest.mark.parametrize("is_altered", [False, True])
def test_a_look_is_taken_once(monkeypatch, is_altered):
    """A map of the hull and a wide one for the only object, and no map for what is rejected by one."""
    laid = []

    def count(*ends, **more):
        laid.append("near" if len(ends) == 3 else "wide")
        return lay_grid(*ends, **more)

    lay_grid = looks.lay_grid
    monkeypatch.setattr(looks, "lay_grid", count)
    print_ = crops()["coffee"]
    second = print_.copy()
    if is_altered:
        second[80:130, 60:110] = crops()["rocket"][20:70, 20:70]
    assert len(match(print_, second).objects) == 1
    assert laid == ["near", "wide"]


def test_only_the_map_that_is_asked_for_is_laid(planted, monkeypatch):
    pictures, listing = planted
    laid = []

    def count(*ends):
        laid.append(len(ends))
        return lay_grid(*ends)

    lay_grid = looks.lay_grid
    monkeypatch.setattr(looks, "lay_grid", count)
    judged = judge(listing.proposals, *pictures, SCALE)
    assert laid == [3, 3]
    _ = [(one.verdict, one.log_nfa, one.look.compare()) for one in judged]
    assert laid == [3, 3]
    judged[0].look.look_around(None)
    assert laid == [3, 3, 5]


def test_where_objects_end_is_measured_when_they_are_read(monkeypatch):
    laid = []

    def count(self, frames):
        laid.append(frames)
        return look_around(self, frames)

    look_around = looks.Look.look_around
    monkeypatch.setattr(looks.Look, "look_around", count)
    print_ = crops()["rocket"]
    result = match(print_, print_[5:])
    before = result.timings["objects"]
    assert (result.cluster >= 0).any()
    assert not laid
    assert len(result.objects) == len(laid) == 1
    assert len(result.things) == len(laid) == 1
    assert result.timings["objects"] > before


def weigh(xy, significance, *, bound=2.0, **more):
    """A proposal that was found so significant."""
    return Judged(propose(xy, xy, **more), SimpleNamespace(existence=Existence(0.9, 20, significance, bound)))


@pytest.fixture(scope="module")
def places():
    """20 points at one place, and at another one."""
    xy = np.random.default_rng(0).uniform(0, 50, (20, 2))
    return xy, xy + 500.0


def test_strongest_evidence_comes_first(places):
    here, there = places
    doubtful, weak, strong = weigh(here, 1.9), weigh(there, 3.0), weigh(here + 900, 9.0)
    unmeasured = weigh(here + 1800, math.nan, n_distinct=0)
    kept, superseded = rank([[doubtful, unmeasured], [weak, strong]], 10.0)
    assert kept == [strong, weak, doubtful, unmeasured]
    assert superseded == []
    exact = Judged(replace(weak.proposal, likeness=1.0, log_nfa=-2.0), weak.look)
    assert rank([[strong], [exact]], 10.0)[0] == [exact, strong]


def test_object_comes_before_what_is_doubtful_whatever_their_evidence(places):
    here, there = places
    doubtful = weigh(here, 5.9, bound=6.0)
    found = weigh(np.tile(there, (2, 1)), 1.0, bound=6.0, n_distinct=30)
    assert (doubtful.verdict, found.verdict) == (Verdict.DOUBTFUL, Verdict.OBJECT)
    assert rank([[doubtful, found]], 10.0)[0] == [found, doubtful]


@pytest.mark.parametrize(("n_shared", "is_superseded"), [(20, True), (10, True), (9, False)])
def test_what_shares_half_of_its_places_with_a_stronger_one_of_another_search_is_superseded(
    places, n_shared, is_superseded
):
    here, there = places
    strong = weigh(here, 9.0)
    weak = weigh(np.concatenate([here[:n_shared] + 3, there[n_shared:]]), 3.0)
    for searches in ([[strong], [weak]], [[weak], [strong]]):
        kept, superseded = rank(searches, 10.0)
        assert kept == ([strong] if is_superseded else [strong, weak])
        assert superseded == ([weak] if is_superseded else [])
    assert rank([[strong, weak]], 10.0) == ([strong, weak], [])  # of the same search
    assert rank([[strong], [weak]], 1.0) == ([strong, weak], [])  # out of reach


def test_reach_counts_pixels_of_the_size_at_which_either_was_found(places):
    here = 40 * places[0]  # far from each other
    strong, weak = weigh(here, 9.0), weigh(here + 12, 3.0)
    assert rank([[strong], [weak]], 10.0)[1] == []
    assert rank([[weigh(here, 9.0, step=3.0)], [weak]], 10.0)[1] == [weak]
    assert rank([[strong], [coarse := weigh(here + 12, 3.0, step=3.0)]], 10.0)[1] == [coarse]


def test_same_places_in_one_picture_alone_supersede_nothing(places):
    here, there = places
    strong, elsewhere = weigh(here, 9.0), weigh(here, 3.0)
    elsewhere = Judged(replace(elsewhere.proposal, xy1=there), elsewhere.look)
    assert rank([[strong], [elsewhere]], 10.0) == ([strong, elsewhere], [])


def test_what_nothing_stronger_has_kept_supersedes_nothing(places):
    """B shares its places with A, and C with B, which A supersedes; so C stays."""
    here, there = places
    a = weigh(here, 9.0)
    b = weigh(np.concatenate([here[:12], there[:10]]), 6.0)
    c = weigh(np.concatenate([there[:10], there[:2] + 900]), 3.0)
    assert rank([[a], [b], [c]], 10.0) == ([a, c], [b])
