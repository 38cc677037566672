"""Breakpoints at a client's writes: something done, once, between two of its steps.

The words are those of the breakpoints of a simulated process, and mean the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kcsim.zk.proxy.protocol import ProxiedWrite

Moment = Literal["before", "after"]
"""Where in a write to ZooKeeper a breakpoint sits.

before: the client has begun it, and nothing of it has reached the server; after: the server has answered it, applied or
refused, and the client has not seen the answer.
"""


@dataclass(frozen=True)
class Breakpoint:
    """Do something, once, when a client reaches a write.

    Args:
        matches: which requests; called once with the writes of each request that comes to this moment. Must not block.
        act: what to do. If it returns something that can be awaited, that is awaited; the request (or its answer), and all
            that comes behind it on its connection, waits until it is done. A client whose connection is gone then, cut by
            the act or broken because its process was killed, has not sent what waited.
    """

    moment: Moment
    matches: Callable[[Sequence[ProxiedWrite]], bool]
    act: Callable[[], object]


class Breakpoints:
    """Those that have not struck yet."""

    def __init__(self) -> None:
        self._waiting: list[Breakpoint] = []

    def add(self, breakpoint_: Breakpoint) -> None:
        self._waiting.append(breakpoint_)

    def is_any(self, moment: Moment | None = None) -> bool:
        return any(moment in (None, b.moment) for b in self._waiting)

    def take_due(self, moment: Moment, writes: Sequence[ProxiedWrite]) -> list[Breakpoint]:
        """Return those that strike now, in the order they were set; they will not strike again."""
        due = [b for b in self._waiting if b.moment == moment and b.matches(writes)]
        self._waiting = [b for b in self._waiting if b not in due]
        return due
