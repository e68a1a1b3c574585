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


class Later(Generic[Value]):
    """A value that is computed when it is first read, and kept; it is pickled as what was computed."""

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute

    @classmethod
    def known(cls, value: Value) -> Later[Value]:
        """One whose value is known."""
        return cls(lambda: value)

    @once
    def value(self) -> Value:
        """The value; what it is computed from is let go."""
        compute = self._compute
        if compute is None:  # another thread was faster
            return self.value
        value = compute()
        self.__dict__["value"], self._compute = value, None
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return Later.known, (self.value,)
