"""The command `gdl-match`: two pictures, or a subcommand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from matching.cli.exits import exit_status
from matching.cli.subcommands import SUBCOMMANDS


def main(argv: Sequence[str] | None = None, *, rivals: Mapping[str, Callable[..., Any]] | None = None) -> int:
    """Run the command, or the subcommand that the first argument names, and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments. None: those of the process, which an interrupt then ends at once wherever it leaves
        nothing behind.
    rivals : mapping, optional
        Further methods for ``--method``, name -> find_clusters as in `matching.pipeline.match_pictures`.
    """
    return exit_status("gdl-match", lambda: _run(argv, rivals or {}), owns_process=argv is None)


def _run(argv, rivals):
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] in SUBCOMMANDS:
        return _run_subcommand(words[0], words[1:], owns_process=argv is None)
    from matching.cli.match import match_pair

    return match_pair(words, rivals, owns_process=argv is None)


def _run_subcommand(name, words, owns_process):
    subcommand = import_module(SUBCOMMANDS[name][0])
    if not owns_process:
        return subcommand.main(words)
    sys.argv = [f"{sys.argv[0]} {name}", *words]
    return subcommand.main()
