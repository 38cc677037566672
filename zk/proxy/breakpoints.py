"""Breakpoints at a client's writes: an act that runs once, before or after a write.

The terms are those of the breakpoints of a simulated process, with the same meaning.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kcsim.zk.proxy.protocol import ProxiedWrite

BreakpointMoment = Literal["before", "after"]
"""The point of a write to ZooKeeper at which a breakpoint triggers.

before: the client has begun the write, and nothing of it has reached the server; after: the server has answered the write,
applied or refused, and the client has not received the answer.
"""


@dataclass(frozen=True)
class Breakpoint:
    """An act that runs once, when a client reaches a matching write.

    Args:
        matches: selects requests; called once with the writes of each request that reaches this moment. Must not block.
        act: the act. If it returns an awaitable, that is awaited; the request (or its answer), and all later bytes on its
            connection, wait until the act is done. If the client's connection is gone then, cut by the act or broken
            because its process was killed, the waiting bytes are never sent.
    """

    moment: BreakpointMoment
    matches: Callable[[Sequence[ProxiedWrite]], bool]
    act: Callable[[], object]


class Breakpoints:
    """The breakpoints that have not triggered yet.

    Attributes:
        before_closing: acts that run each time when the client ends a session, before the server knows.
    """

    def __init__(self) -> None:
        self._waiting: list[Breakpoint] = []
        self.before_closing: list[Callable[[], Awaitable[None]]] = []

    def add(self, breakpoint_: Breakpoint) -> None:
        self._waiting.append(breakpoint_)

    def is_any(self, moment: BreakpointMoment | None = None) -> bool:
        return any(moment in (None, b.moment) for b in self._waiting)

    def take_due(self, moment: BreakpointMoment, writes: Sequence[ProxiedWrite]) -> list[Breakpoint]:
        """Remove and return the breakpoints that trigger now, in the order in which they were set."""
        due = [b for b in self._waiting if b.moment == moment and b.matches(writes)]
        self._waiting = [b for b in self._waiting if b not in due]
        return due
