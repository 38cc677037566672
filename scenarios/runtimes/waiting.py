"""Promises and mailboxes, built once on the one thing in which the runtimes differ: a signal that one task awaits."""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from kcsim.zk.errors import TimedOutError


class Signal(Protocol):
    """Fired at most once, awaited by at most one task."""

    @property
    def is_fired(self) -> bool: ...
    def fire(self) -> None:
        """Wake the task that waits, or the one that will. A second firing has no effect."""
        ...

    async def wait(self, timeout_ms: int | None = None) -> None:
        """Return when fired or when the time is up, whichever is first; `is_fired` tells which. Raises: Killed."""
        ...


class WaitedPromise:
    """The Promise port over signals."""

    __slots__ = ("_error", "_is_settled", "_signal", "_value", "_waiting")

    def __init__(self, signal: Callable[[], Signal]) -> None:
        self._signal = signal
        self._waiting: list[Signal] = []
        self._is_settled = False
        self._value: Any = None
        self._error: Exception | None = None

    @property
    def is_settled(self) -> bool:
        return self._is_settled

    def resolve(self, value: Any) -> None:
        self._settle(value, None)

    def fail(self, error: Exception) -> None:
        self._settle(None, error)

    def _settle(self, value: Any, error: Exception | None) -> None:
        if self._is_settled:
            return
        self._is_settled, self._value, self._error = True, value, error
        for signal in self._waiting:
            signal.fire()

    async def wait(self, timeout_ms: int | None = None) -> Any:
        if not self._is_settled:
            signal = self._signal()
            self._waiting.append(signal)
            try:
                await signal.wait(timeout_ms)
            finally:
                self._waiting.remove(signal)
            if not self._is_settled:
                raise TimedOutError(f"no answer within {timeout_ms} ms")
        if self._error is not None:
            raise self._error
        return self._value


class _Taker:
    """A task waiting at a mailbox, and the item handed to it."""

    __slots__ = ("item", "signal")

    def __init__(self, signal: Signal) -> None:
        self.signal = signal
        self.item: Any = None


class WaitedMailbox:
    """The Mailbox port over signals. An item is handed to the longest waiting taker, so that no newcomer can steal it."""

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
        """A taker was killed: what had been handed to it goes to the next, or back to the head of the queue."""
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
