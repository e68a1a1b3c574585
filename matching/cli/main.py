"""The command `gdl-match`: two pictures, or a subcommand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matching.cli.exits import exit_status


def main(argv: Sequence[str] | None = None, *, rivals: Mapping[str, Callable[..., Any]] | None = None) -> int:
    """Run the command and return its exit status. `gdl-match serve` runs the web page.

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
    if words[:1] == ["serve"]:
        from matching.cli.serve import main as serve

        return serve(words[1:])
    from matching.cli.match import match_pair

    return match_pair(words, rivals, owns_process=argv is None)
