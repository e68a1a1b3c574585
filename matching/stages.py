"""Lists of named stages, in which single stages can be replaced."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """One step of the processing."""

    name: str  # unique in its list
    run: Callable[[Any, Any], Any]  # (state, context) -> next state; None if nothing is left to do


Stages = tuple[Stage, ...]


def replace_stage(stages: Stages, name: str, run: Callable[[Any, Any], Any]) -> Stages:
    """The list with another function for one stage."""
    _check_name(stages, name)
    return tuple(Stage(name, run) if stage.name == name else stage for stage in stages)


def leave_out(stages: Stages, *names: str) -> Stages:
    """The list without some stages."""
    for name in names:
        _check_name(stages, name)
    return tuple(stage for stage in stages if stage.name not in names)


def insert_before(stages: Stages, name: str, new: Stage) -> Stages:
    """The list with a new stage before the one of that name."""
    _check_name(stages, name)
    return tuple(own for stage in stages for own in ([new, stage] if stage.name == name else [stage]))


def end_with(stages: Stages, name: str) -> Stages:
    """The list up to the stage of that name."""
    _check_name(stages, name)
    return stages[: [stage.name for stage in stages].index(name) + 1]


def _check_name(stages: Stages, name: str) -> None:
    if name not in [stage.name for stage in stages]:
        raise KeyError(f"there is no stage {name!r} among {[stage.name for stage in stages]}")
