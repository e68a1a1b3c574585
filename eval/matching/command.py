"""`scripts/match.py`: the command `gdl-match` with the baselines as further methods."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from eval.matching.rivals import RIVALS
from matching.cli import main as cli


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    return cli.main(argv, rivals={name: _finder(name) for name in RIVALS})


def _finder(name):
    def find_clusters(candidates, config):
        from eval.matching.synthetic.methods import find_rival_clusters

        return find_rival_clusters(name, candidates, config)

    return find_clusters


if __name__ == "__main__":
    sys.exit(main())
