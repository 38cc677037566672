"""What is to be sent to one page."""

import asyncio
from collections import deque
from collections.abc import Callable

MOST_WAITING = 4_000_000
"""In characters. A page that does not take them is suspended, or too slow."""


class PageQueue:
    """The messages for a page, in order; a bounded number of them.

    If the page does not take its messages, they are dropped. When it takes some again, it is sent everything anew. So it is
    with a page that has just connected.

    Args:
        everything: returns the message with all that the messages so far have said; of a long run, with what surrounds the
            event of this number, or the last event.
        most_waiting: in characters.
    """

    def __init__(self, everything: Callable[[int | None], str], most_waiting: int = MOST_WAITING) -> None:
        self._everything = everything
        self._most_waiting = most_waiting
        self._waiting: deque[str] = deque()
        self._size = 0
        self._is_behind = True
        self._around: int | None = None
        self._changed = asyncio.Event()
        self._changed.set()

    def put(self, message: str) -> None:
        if self._is_behind:
            return
        self._waiting.append(message)
        self._size += len(message)
        if self._size > self._most_waiting:
            self.begin_anew()
        self._changed.set()

    def begin_anew(self, around: int | None = None) -> None:
        """Drop what is waiting, and send everything instead. Args: around: see `everything`."""
        self._around = around
        self._waiting.clear()
        self._size = 0
        self._is_behind = True
        self._changed.set()

    async def get(self) -> str:
        """Return the next message, as soon as there is one."""
        await self._changed.wait()
        if self._is_behind:
            self._is_behind = False
            message, self._around = self._everything(self._around), None
        else:
            message = self._waiting.popleft()
            self._size -= len(message)
        if not self._waiting:
            self._changed.clear()
        return message
