"""Attributes that are computed when they are first asked for."""

from functools import cached_property
from typing import Any, Self, TypeVar, overload

Value = TypeVar("Value")


class lazy(cached_property[Value]):  # noqa: N801  (a decorator)
    """A ``cached_property`` without a lock.

    Python 3.11 has one lock for all instances of a class, and holds it while the attribute is
    computed. Fits in several threads would wait for each other, and a process that is forked in
    the meantime would wait for ever. Without it, two threads may compute the same value.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | Value:
        """Compute the value; the next time, the instance's own attribute is found first."""
        if instance is None:
            return self
        assert self.attrname is not None
        value: Value = instance.__dict__.setdefault(self.attrname, self.func(instance))
        return value
