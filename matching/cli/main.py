"""The command `gdl-match`: two pictures, or a subcommand."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from matching._common.interrupts import handle_interrupts
from matching.cli.arguments import make_parser
from matching.cli.exits import exit_status
from matching.cli.subcommands import RESUMABLE, RESUMABLE_MESSAGE, SUBCOMMANDS, find_meant
from matching.errors import InputError
from matching.pictures.names import exists

if TYPE_CHECKING:
    from matching.grouping.methods import GroupMatches


def main(argv: Sequence[str] | None = None, *, rivals: Mapping[str, GroupMatches] | None = None) -> int:
    """Run the command, or the subcommand that the first argument names."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] in SUBCOMMANDS:
        return _run_subcommand(*words)
    return exit_status("gdl-match", lambda: _run(words, rivals))


def _run_subcommand(name: str, *words: str) -> int:
    def run() -> int:
        module = import_module(f"matching.cli.commands.{name}")
        arguments = module.make_parser().parse_args(words)
        with handle_interrupts(signal.default_int_handler):
            return int(module.run(arguments))

    return exit_status(f"gdl-match {name}", run, RESUMABLE_MESSAGE if name in RESUMABLE else "interrupted")


def _run(words: Sequence[str], rivals: Mapping[str, GroupMatches] | None) -> int:
    if words and (meant := find_meant(words[0])) and not exists(words[0]):
        raise InputError(f"{words[0]}: no such file or subcommand (did you mean {meant}?)")
    arguments = make_parser(rivals).parse_intermixed_args(words)
    from matching.cli.commands.match import match_named

    return match_named(arguments)
