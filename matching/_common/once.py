"""Properties that are computed once for each instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class once(Generic[Value]):
    """A property that is computed when it is first read, and kept.

    Until Python 3.12, `functools.cached_property` has one lock for all instances of a class, so that threads
    that compute it for different pictures wait for each other. Here, two threads that read it first at the
    same time both compute it.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> once[Value] | Value:
        """Compute the value, and put it where the next read finds it."""
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value
