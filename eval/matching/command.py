"""`scripts/match.py`: the command `gdl-match` with the baselines as further methods."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from eval.matching.rivals import RIVALS
from matching.cli import main as cli


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    return cli.main(argv, rivals={name: _grouper(name) for name in RIVALS})


def _grouper(name):
    def group(matches, config, ledger):
        from eval.matching.synthetic.stages import group_by_rival

        return group_by_rival(name, matches, config, ledger)

    return group


if __name__ == "__main__":
    sys.exit(main())
