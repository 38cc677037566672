"""Values that several threads ask for, and that are computed once."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class ComputedOnce:
    """What functions return, each called once: by the first thread that asks, while others that ask for the same wait."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[object, Future[Any]] = {}

    def value(self, key: object, compute: Callable[[], T]) -> T:
        """Return what `compute` returns, or has returned for that key before. After an exception it is called again."""
        with self._lock:
            is_first = key not in self._found
            found: Future[T] = self._found.setdefault(key, Future())
        if is_first:
            try:
                found.set_result(compute())
            except BaseException as error:
                del self._found[key]
                found.set_exception(error)
        return found.result()


class HasValues(Protocol):
    """An object that keeps the values of its attributes."""

    values: ComputedOnce


class computed_once(Generic[T]):
    """A method as an attribute whose value is computed at its first use. Its object has `values`."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.__doc__ = compute.__doc__
        self._compute = compute

    def __get__(self, owner: HasValues, kind: type | None = None) -> T:
        return owner.values.value(self, lambda: self._compute(owner))
