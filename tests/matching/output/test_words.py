"""What is said of a result."""

from dataclasses import replace

import numpy as np
import pytest

from matching import MatchConfig, MatchResult
from matching._common.once import Later
from matching.grouping.ledger import RejectedGroup
from matching.grouping.reasons import REASONS
from matching.objects.comparison import Comparison
from matching.objects.completeness import Completeness
from matching.objects.description import add_comparison, describe_object
from matching.objects.differences import Difference
from matching.objects.things import Thing
from matching.output.remedies import list_hints
from matching.output.words import (
    OVERLAPPING,
    count_dropped,
    describe_repeats,
    describe_result,
    describe_things,
    explain_rejected,
    format_object,
    hint_at_rejected,
    list_repeats,
    may_look_harder,
)

SQUARE = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
DIFFERENCE = Difference(SQUARE, SQUARE, 0.1, 20.0, 8.0)
BOX = np.array([[-0.5, -0.5], [99.5, 99.5]])
EMPTY = MatchResult(np.empty((0, 2)), np.empty((0, 2)), np.empty(0, int), np.empty(0), ())
REJECTED = (
    RejectedGroup("significance", -2.25, -4.0, SQUARE + 100, SQUARE + 30),
    RejectedGroup("agreement", None, None, SQUARE, SQUARE + 5),
)


def test_rejected_groups_are_a_table():
    lines = explain_rejected(replace(EMPTY, rejected=REJECTED))
    assert [line.split()[:4] for line in lines[1:]] == [["0", "4", "105,", "105"], ["1", "4", "5,", "5"]]
    assert "-2.25" in lines[1]
    assert "-4" in lines[1]
    assert lines[1].endswith(REASONS["significance"].text)
    assert lines[2].endswith(REASONS["agreement"].text)
    assert explain_rejected(EMPTY) == ["no group of matches was rejected"]
    assert replace(EMPTY, rejected=REJECTED).explain() == "\n".join(lines)


@pytest.mark.parametrize(("periodic", "kind"), [(True, "periodic texture"), (False, "")])
def test_a_texture_is_called_so(periodic, kind):
    objects = tuple(
        replace(describe_object(k, SQUARE, SQUARE + 5, value, 1.0, BOX, BOX), thing=0)
        for k, value in enumerate((0.6, 0.2))
    )
    thing = Thing(0, (0, 1), (SQUARE, SQUARE + 5), periodic)
    result = replace(EMPTY, objects=objects, things=(thing,), is_single_picture=True)
    ((*_, cell),) = list_repeats(result)
    assert cell == kind
    assert describe_repeats(result) == f"thing 0: {kind or '2 places'}"
    assert describe_things(objects, "box", [thing]) == [f"box: {kind or '2 places'} (objects 0, 1)"]


def test_candidates_dropped_by_each_stage_are_counted():
    """In the order of the stages, and as many as there are."""
    stages = np.array(["significance", "", "graph", "graph", ""])
    result = replace(EMPTY, cluster=np.array([-1, 0, -1, -1, 1]), dropped_by=stages)
    assert count_dropped(result) == {"graph": 2, "significance": 1}
    lines = explain_rejected(result)
    assert "2 of 5 candidates are in objects" in lines
    assert [line.split()[:2] for line in lines[-2:]] == [["2", "graph"], ["1", "significance"]]
    assert lines[-1].endswith(REASONS["significance"].text)
    both = explain_rejected(replace(result, rejected=REJECTED))
    assert both[-len(lines) - 1 :] == [*lines[1:], "", OVERLAPPING]
    assert count_dropped(EMPTY) == {}
    (hint,) = hint_at_rejected(result, {"graph": "try something else"})
    assert hint == f"2 of 5 candidates were dropped: {REASONS['graph'].text}; try something else"


def test_simulated_views_are_suggested_unless_another_cause_is_known():
    n = MatchConfig().objects.min_matches
    result = MatchResult(*np.zeros((2, n, 2)), np.full(n, -1), np.zeros(n), (), config=MatchConfig())
    assert may_look_harder(result)
    assert may_look_harder(replace(result, rejected=REJECTED))
    assert not may_look_harder(replace(result, rejected=REJECTED[::-1]))


def test_table_reports_transform_that_fits_only_some_matches():
    found = describe_object(0, SQUARE, SQUARE, score=0.5)
    assert format_object(replace(found, inlier_share=0.9))[-1] == "0.0 px"
    assert format_object(replace(found, inlier_share=0.62))[-1] == "0.0 px (62% fit)"
    assert format_object(replace(found, inlier_share=None))[-1] == "0.0 px"


def test_alike_places_of_one_picture_are_counted():
    found = replace(describe_object(0, SQUARE, SQUARE + 5, 0.8, 1.0, BOX, BOX), thing=0)
    thing = Thing(0, (0,), (SQUARE, SQUARE + 5), joined=((0, 1),), found_alike=Later.known((1,)))
    result = replace(EMPTY, objects=(found,), things=(thing,), is_single_picture=True)
    assert describe_repeats(result) == "thing 0: 2 places, 1 alike but different"
    ((_, places, *_, cell),) = list_repeats(result)
    assert (places, cell) == ("2", "1 alike but different")


def test_places_that_differ_are_counted_in_every_line():
    same = add_comparison(describe_object(0, SQUARE, SQUARE, 0.5, 1.0, BOX, BOX), True)
    same = replace(same, completeness=Completeness(1.0, 1.0, 1.0, 0.98))
    other = replace(add_comparison(same, False, (DIFFERENCE, DIFFERENCE)), id=1)
    result = replace(EMPTY, objects=(other,))
    assert other.doubt == "differs in 2 places"
    assert repr(other).endswith(", differs in 2 places>")
    assert format_object(other)[-2].endswith("%, differs in 2 places")
    assert describe_result(result).startswith("1 object in both, differs in 2 places, ")
    assert "1 object, differs in 2 places" in repr(result)
    both = replace(EMPTY, objects=(same, other))
    assert describe_result(both).startswith("2 objects in both, 1 differs, ")
    assert describe_result(replace(EMPTY, objects=(other, other))).startswith("2 objects in both, 2 differ, ")
    assert (same.doubt, same.sameness) == ("", "the same")
    unknown = add_comparison(same, None)
    assert unknown.doubt == "can't tell if it is the same"
    assert replace(unknown, completeness=None).doubt == ""  # it is no copy anyway


@pytest.mark.parametrize(
    ("compared", "words"),
    [
        (Comparison(True, (), 5.7), "the same (nothing larger than 6 px)"),
        (Comparison(True, (), 5.7, ("in grey",)), "the same (nothing larger than 6 px), in grey"),
        (Comparison(None, (), 40.2), "alike; what is smaller than 40 px can't be told"),
        (Comparison(False, (DIFFERENCE,), 9.0, ("less sharp",)), "differs in 1 place, less sharp"),
    ],
)
def test_every_line_says_how_small_a_difference_would_have_been_found(compared, words):
    found = describe_object(0, SQUARE, SQUARE, 0.5, 1.0, BOX, BOX)
    found = replace(found, completeness=Completeness(1.0, 1.0, 1.0, 1.0), compared=Later.known(compared))
    assert found.sameness == words
    assert repr(found).endswith(f", {words}>")
    assert format_object(found)[-2] == f"100%, {words}"
    assert describe_result(replace(EMPTY, objects=(found,))).startswith(f"1 object in both, {words}, ")
    assert found.doubt == ("" if compared.is_same else words)


def test_part_is_said_to_be_one_of_picture_0():
    found = describe_object(0, SQUARE, SQUARE, 0.5, 1.0, BOX, BOX)
    shown = [
        format_object(replace(found, completeness=Completeness(value, 1.0, 1.0, 1.0)))[-2]
        for value in (0.35, 0.6)
    ]
    assert shown[0].startswith("35% of picture 0")
    assert shown[1].startswith("60%, ")


def test_largest_rejected_group_is_reported_without_objects():
    result = replace(EMPTY, rejected=REJECTED)
    (line,) = hint_at_rejected(result, list_hints(result, "group"))
    assert line.startswith("a group of 4 matches around 105, 105 was rejected: ")
    assert "(measured -2.25, bound -4); to keep it anyway, raise --max-nfa" in line
    assert hint_at_rejected(replace(result, objects=(describe_object(0, SQUARE, SQUARE, 0.5),)), {}) == []
    assert hint_at_rejected(EMPTY, {}) == []
