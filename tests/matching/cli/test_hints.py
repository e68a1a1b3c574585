"""What front ends suggest about matches in no object."""

import re

import pytest

from matching.cli.arguments import make_parser as make_match_parser
from matching.cli.commands.group import make_parser as make_group_parser
from matching.grouping.reasons import REASONS
from matching.output.remedies import GROUP_HINTS, OF_PICTURES, PAGE_HINTS, PAIR_HINTS

TABLES = {"match": PAIR_HINTS, "group": GROUP_HINTS, "page": PAGE_HINTS}


def list_options(hints):
    return {option for hint in hints.values() for option in re.findall(r"--[a-z0-9-]+", hint)}


@pytest.mark.parametrize("hints", TABLES.values(), ids=list(TABLES))
def test_hints_are_given_by_steps_that_drop_matches(hints):
    assert hints.keys() <= REASONS.keys()
    assert all(hint and not hint.endswith(".") for hint in hints.values())


def test_commands_have_a_hint_for_every_step_that_may_drop_their_matches():
    assert PAIR_HINTS.keys() == REASONS.keys()
    assert GROUP_HINTS.keys() == REASONS.keys() - set(OF_PICTURES)


def test_hints_name_only_options_of_their_command():
    for hints, parser in ((PAIR_HINTS, make_match_parser()), (GROUP_HINTS, make_group_parser())):
        known = {option for action in parser._actions for option in action.option_strings}
        assert list_options(hints) <= known
    assert list_options(PAIR_HINTS) > list_options(GROUP_HINTS)


def test_the_page_names_no_option_of_a_command():
    assert list_options(PAGE_HINTS) == set()
    assert not any("Python" in hint for hint in PAGE_HINTS.values())
