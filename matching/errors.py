"""Bad input, as opposed to a programming error."""

from typing import Any


class InputError(ValueError):
    """What the user gave can't be used; the message is one line that names it, the rule and the value."""


def check_at_least(settings: Any, **bounds: float) -> None:
    """Check lower bounds of settings, and that those which are whole numbers are.

    Parameters
    ----------
    settings : object
        A record of settings.
    **bounds : float
        The least value of each attribute that is checked, by its name.

    Raises
    ------
    InputError
        Where an attribute is below its bound, nan, or no number, or no whole one where its annotation is int.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_at_least(SimpleNamespace(rounds=-1), rounds=0)
    Traceback (most recent call last):
    matching.errors.InputError: rounds must be at least 0, got -1
    """
    kinds = getattr(settings, "__annotations__", {})
    for name, bound in bounds.items():
        value = getattr(settings, name)
        if isinstance(value, bool):
            raise InputError(f"{name} must be a number, at least {bound:g}, got {value!r}")
        if str(kinds.get(name)).startswith("int") and isinstance(value, float):
            raise InputError(f"{name} must be a whole number, at least {bound:g}, got {value!r}")
        try:
            is_high_enough = bool(value >= bound)
        except (TypeError, ValueError):  # no number; an array
            raise InputError(f"{name} must be a number, at least {bound:g}, got {value!r}") from None
        if not is_high_enough:
            raise InputError(f"{name} must be at least {bound:g}, got {value}")
