"""Promises and mailboxes for both runtimes, built on a signal that one task awaits: only the signal differs per runtime."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from kcsim.errors import TimedOutError


class Signal(Protocol):
    """A signal that is fired at most once. The task that creates it awaits it, at once and alone."""

    @property
    def is_fired(self) -> bool: ...
    def fire(self) -> None:
        """Wake the task. A second call has no effect."""
        ...

    def wait(self, timeout_ms: int | None = None) -> Awaitable[None]:
        """Return when the signal is fired or the time-out ends; `is_fired` says which happened. Raises: Killed."""
        ...


class WaitedPromise:
    """The Promise port, implemented with signals."""

    __slots__ = ("_error", "_signal", "_value", "_waiting", "is_settled")

    def __init__(self, signal: Callable[[], Signal]) -> None:
        self._signal = signal
        self._waiting: list[Signal] = []
        self.is_settled = False
        self._value: Any = None
        self._error: Exception | None = None

    def resolve(self, value: Any) -> None:
        self._settle(value, None)

    def fail(self, error: Exception) -> None:
        self._settle(None, error)

    def _settle(self, value: Any, error: Exception | None) -> None:
        if self.is_settled:
            return
        self.is_settled, self._value, self._error = True, value, error
        for signal in self._waiting:
            signal.fire()

    async def wait(self, timeout_ms: int | None = None) -> Any:
        if not self.is_settled:
            signal = self._signal()
            self._waiting.append(signal)
            try:
                await signal.wait(timeout_ms)
            finally:
                self._waiting.remove(signal)
            if not self.is_settled:
                raise TimedOutError(f"no answer within {timeout_ms} ms")
        if self._error is not None:
            raise self._error
        return self._value


class _Taker:
    """A task that waits at a mailbox, and the item handed to the task."""

    __slots__ = ("item", "signal")

    def __init__(self, signal: Signal) -> None:
        self.signal = signal
        self.item: Any = None


class WaitedMailbox:
    """The Mailbox port, implemented with signals.

    An item is handed directly to the taker that has waited longest, so that no later taker can get the item first.
    """

    def __init__(self, signal: Callable[[], Signal]) -> None:
        self._signal = signal
        self._items: deque[Any] = deque()
        self._takers: deque[_Taker] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Any) -> None:
        if self._takers:
            taker = self._takers.popleft()
            taker.item = item
            taker.signal.fire()
        else:
            self._items.append(item)

    async def get(self, timeout_ms: int | None = None) -> Any:
        if self._items:
            return self._items.popleft()
        taker = _Taker(self._signal())
        self._takers.append(taker)
        try:
            await taker.signal.wait(timeout_ms)
        except BaseException:
            self._leave(taker)
            raise
        if not taker.signal.is_fired:
            self._takers.remove(taker)
            raise TimedOutError(f"nothing arrived within {timeout_ms} ms")
        return taker.item

    def _leave(self, taker: _Taker) -> None:
        """Remove a taker that was killed: an item handed to it goes to the next taker, or back to the head of the queue."""
        if not taker.signal.is_fired:
            self._takers.remove(taker)
        elif self._takers:
            self.put(taker.item)
        else:
            self._items.appendleft(taker.item)

    def drain(self) -> list[Any]:
        items = list(self._items)
        self._items.clear()
        return items
