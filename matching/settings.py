"""Declarations of settings: each setting is declared once, with its type, bounds, default and help.

A frozen dataclass declares its fields with `setting`, and calls `check_settings`. Settings that are also
options are declared here, so that a command can read them before slow modules are loaded.
"""

import math
import operator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from matching.errors import InputError

DECLARED = "setting"  # its key in the metadata of a field


@dataclass(frozen=True)
class Setting:
    """One setting."""

    default: Any  # has the type of the setting
    minimum: float = -math.inf  # smallest allowed number
    maximum: float = math.inf
    choices: tuple[str, ...] = ()  # allowed words
    kind: type | None = None  # the type, if the default is None
    symbol: str = "N"  # the name of the value in the help of the command line
    text: str = ""
    default_text: str | None = None  # describes the default in the help; None: the number

    @property
    def rule(self) -> str:
        """The rule for a number, in words."""
        number = "number of seconds" if self.symbol == "SECONDS" else "number"
        whole = "whole " if self._kind is int else ""
        return f"a {whole}{number} from {_format(self.minimum)} to {_format(self.maximum)}"

    @property
    def _kind(self) -> type:
        return self.kind or type(self.default)

    def check(self, name: str, value: Any) -> Any:
        """Return the value as a plain int, float, bool or str; InputError if its type or value is wrong."""
        if value is None and self.default is None:
            return None
        is_truth = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
        if self._kind is str:
            rule = f"one of {self.choices}" if self.choices else "a string"
            if not isinstance(value, str) or (self.choices and value not in self.choices):
                raise InputError(f"{name} must be {rule}, got {value!r}")
            return value
        if self._kind is bool:
            if not is_truth:
                raise InputError(f"{name} must be True or False, got {value!r}")
            return bool(value)
        try:
            if is_truth or isinstance(value, str | bytes):
                raise TypeError
            number = operator.index(value) if self._kind is int else float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be {self.rule}, got {value!r}") from None
        if not number >= self.minimum:
            raise InputError(f"{name} must be at least {_format(self.minimum)}, got {value}")
        if not number <= self.maximum:
            raise InputError(f"{name} must be at most {_format(self.maximum)}, got {value}")
        return number

    def parse(self, text: str) -> Any:
        """Read a number, or a truth value as 0 or 1, that is given as text."""
        try:
            return {"0": False, "1": True}[text] if self._kind is bool else self.check("it", self._kind(text))
        except (KeyError, ValueError, OverflowError):
            rule = "0 or 1" if self._kind is bool else self.rule
            raise InputError(f"must be {rule}, got {text!r}") from None

    def field(self) -> Any:
        """Make a field of a dataclass."""
        return field(default=self.default, metadata={DECLARED: self})


def _format(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def setting(default: Any, minimum: float = -math.inf, maximum: float = math.inf, **more: Any) -> Any:
    """Declare a setting as a field of a dataclass."""
    return Setting(default, minimum, maximum, **more).field()


def check_settings(settings: Any) -> None:
    """Check all declared settings of a frozen dataclass when it is made."""
    for declared in fields(settings):
        if DECLARED in declared.metadata:
            value = declared.metadata[DECLARED].check(declared.name, getattr(settings, declared.name))
            object.__setattr__(settings, declared.name, value)


def cut(settings: Any, **values: float) -> Any:
    """Replace numbers of a frozen dataclass; those above their bounds become the bounds."""
    bounds = {f.name: f.metadata[DECLARED].maximum for f in fields(settings) if f.name in values}
    return replace(settings, **{name: min(value, bounds[name]) for name, value in values.items()})


LARGEST = 10**6  # bound of any count

MAX_PIXELS = Setting(
    170_000_000,
    1,
    10**9,
    text="largest number of pixels at which a picture is matched; larger pictures are reduced",
    default_text="no limit",
)
MAX_MATCHES = Setting(3000, 1, LARGEST, text="largest number of candidate correspondences; the best are kept")
MAX_NFA = Setting(
    0.01,
    1e-15,
    1e15,
    text="largest number of false alarms that an object may have: 1 to miss nothing, 1e-8 to accept no false"
    " object",
)
MIRRORED = Setting(False, text="also find small mirrored objects, and mirrored copies in a large picture")
VIEW_SYNTHESIS = Setting(
    False,
    text="if plain features don't find enough, also match simulated views of both pictures, for surfaces seen"
    " from very different directions (takes about 13 times as long)",
)
MIN_SCORE = Setting(0.0, 0.0, 1.0, symbol="S", text="write only labels with at least this score")
EVERY = Setting(
    1.0, 0.001, 86_400.0, symbol="SECONDS", text="time between the frames of a video that are searched"
)
METHODS = ("agdl", "gdl-u", "gdl")
N_CLUSTERS = Setting(
    None,
    1,
    LARGEST,
    kind=int,
    text="number of clusters at which merging stops, n_T; it ends earlier if no two clusters have the minimum"
    " affinity",
    default_text="none: only the affinity counts",
)
N_NEIGHBORS = Setting(
    35, 1, 10_000, symbol="K", text="number of neighbours of each correspondence in the graph, K"
)
N_INITIAL_NEIGHBORS = Setting(
    2, 1, 10_000, symbol="K0", text="number of nearest neighbours that form initial clusters, K0"
)
N_NEIGHBOR_CLUSTERS = Setting(
    10, 1, 10_000, symbol="Kc", text="number of neighbouring clusters that are kept for each cluster, Kc"
)
BANDWIDTH = Setting(10.0, 1e-6, 1e6, symbol="a", text="the bandwidth a of Eq. 1, for --paper only")
REGIONS = ("mser", "sift")
# The settings that are options of the commands, by their names in the config of a step.
CLUSTERING_OPTIONS = {
    "n_neighbors": N_NEIGHBORS,
    "n_initial_neighbors": N_INITIAL_NEIGHBORS,
    "n_neighbor_clusters": N_NEIGHBOR_CLUSTERS,
    "n_clusters": N_CLUSTERS,
}
OPTIONS = {
    "max_matches": MAX_MATCHES,
    "max_pixels": MAX_PIXELS,
    **CLUSTERING_OPTIONS,
    "n_clusters": replace(N_CLUSTERS, default_text="50 with --paper, else none: only the affinity counts"),
    "bandwidth": BANDWIDTH,
    "mirrored": MIRRORED,
    "view_synthesis": VIEW_SYNTHESIS,
}
