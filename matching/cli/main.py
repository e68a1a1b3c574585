"""The command `gdl-match`: two pictures, or a subcommand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from matching.cli.exits import end_on_interrupt, exit_status
from matching.cli.subcommands import SUBCOMMANDS, find_meant
from matching.errors import InputError
from matching.pictures.names import exists

if TYPE_CHECKING:
    from matching.core.methods import GroupMatches


def main(argv: Sequence[str] | None = None, *, rivals: Mapping[str, GroupMatches] | None = None) -> int:
    """Run the command, or the subcommand that the first argument names."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] in SUBCOMMANDS:
        return exit_status(f"gdl-match {words[0]}", lambda: _run_subcommand(*words))
    return exit_status("gdl-match", lambda: _run(words, rivals or {}))


def _run_subcommand(name: str, *words: str) -> int:
    with end_on_interrupt(f"gdl-match {name}"):
        run: Callable[[Sequence[str]], int] = import_module(SUBCOMMANDS[name][0]).main
    return run(words)


def _run(words: Sequence[str], rivals: Mapping[str, GroupMatches]) -> int:
    if words and (meant := find_meant(words[0])) and not exists(words[0]):
        raise InputError(f"{words[0]}: no such file or subcommand (did you mean {meant}?)")
    with end_on_interrupt("gdl-match"):
        from matching.cli.commands.match import match_named

    return match_named(words, rivals)
