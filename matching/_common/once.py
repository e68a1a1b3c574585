"""Properties and fields that are computed when they are first read."""

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
    """A value of a `deferred` field: it is computed when the field is first read; pickled, it is read."""

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute

    def read(self) -> Value:
        """Compute the value, or return it if it is known."""
        if (compute := self._compute) is not None:
            self._value = compute()
            self._compute = None  # with what it holds, such as pictures
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        return Later.known, (self.read(),)

    @classmethod
    def known(cls, value: Value) -> Later[Value]:
        """One whose value is known."""
        later = cls(lambda: value)
        later.read()
        return later


class deferred(Generic[Value]):
    """A field of a dataclass whose value may be a `Later`."""

    def __init__(self, *default: Value) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type) -> Value:
        """Read the value; the default if it is read from the class."""
        if instance is None:
            if self.default:
                return self.default[0]
            raise AttributeError(self.name)
        value = instance.__dict__[self.name]
        read: Value = value.read() if isinstance(value, Later) else value
        return read

    def __set__(self, instance: object, value: Value | Later[Value]) -> None:
        """Put a value, or how it is computed."""
        instance.__dict__[self.name] = value
