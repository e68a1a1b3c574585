"""The rivals of AGDL that work on given candidates; each is a module of this folder.

The name of a rival is that of its file, with hyphens for underscores. Its module has a `RIVAL`, and is loaded
when the rival is first used.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eval.matching.rivals._modules import list_modules, load_module

RIVALS = list_modules(__name__)


@dataclass(frozen=True)
class Rival:
    """A rival and its parameters, which were tuned on other pairs than those reported.

    Parameters
    ----------
    label : callable
        Called as ``label(distances, candidates, params)``, it returns (m,) int64 cluster labels, -1 for
        outliers. `distances` (m, m) float32 or float64 is symmetric: the ACC distance of every pair of
        candidates, pixels. `candidates` has `xy0`, `xy1` (m, 2) pixels, and `score` (m,), smaller is better.
    params : object
        The parameters of the rival alone, as a frozen dataclass.
    params_with_stages : object
        Its parameters in place of graph degree linkage, with the other steps
        (`eval.matching.synthetic.stages`).
    uses_distances : bool
        Whether the time for the distances counts.
    """

    label: Callable[..., Any]
    params: Any
    params_with_stages: Any
    uses_distances: bool = True


def load_rival(name: str) -> Rival:
    """Load a rival by its name, one of RIVALS."""
    rival: Rival = load_module(__name__, name).RIVAL
    return rival
