"""One direction of a connection: what is sent arrives in order, late, or never, depending on the condition of its link.

This models the effects of a bad link on TCP. Within a connection messages stay in order; across connections, jitter
reorders them. A lost message is sent again after 200 ms, 400 ms, 800 ms and so on, up to every two minutes; messages sent
meanwhile wait behind it and arrive with it. After 15 retransmissions without success (15 minutes) the sender's end breaks;
after 6, the first after 1 s, if the lost message opens the connection. These are the defaults of Linux. What was sent before
the sender closed the connection, or died, is still retransmitted. Nothing is duplicated here: a duplicate arises only if a
request is sent again after a broken connection.

Left out: acknowledgements lost on the way back, which only make TCP send again what has arrived; a first delay that grows
with the round trip. Both would change when something is sent again, not whether it arrives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Unpack

import msgspec

from kcsim.brokers.network.link_conditions import PERFECT, LinkCondition, LinkConditions, LinkCut, LinkLoss
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime
from kcsim.zk.memory.timetable import Timetable

LONGEST_PAUSE_MS = 120_000


@dataclass(frozen=True, slots=True)
class RetransmissionPolicy:
    """How often a lost message is sent again: first after `first_ms`, then each time after twice as long."""

    first_ms: int
    times: int


SENDING = RetransmissionPolicy(200, 15)
OPENING = RetransmissionPolicy(1_000, 6)


class NetworkMedium:
    """What all streams of a network share.

    Args:
        delay_ms: the one-way delay of a perfect link.
        faults: what links with faults need; None if no link ever has any.
    """

    def __init__(self, runtime: Runtime, delay_ms: int, faults: "LinkFaultContext | None" = None) -> None:
        self.conditions = LinkConditions()
        self.delay_ms = delay_ms
        self.timetable = Timetable(runtime, "network")
        self.now_ms = runtime.now_ms
        self._faults = faults

    @property
    def faults(self) -> "LinkFaultContext":
        assert self._faults is not None, "a link is in trouble on a network that was made for none"
        return self._faults


@dataclass(frozen=True, slots=True)
class LinkFaultContext:
    """What links with faults need.

    Args:
        numbers: the random numbers for losses and jitter; a link without such faults draws none.
        sink: node name -> the event sink of that node.
    """

    numbers: Random
    sink: Callable[[str], EventSink]

    def happens(self, probability: float) -> bool:
        return self.numbers.random() < probability


class _Message(msgspec.Struct, frozen=True):
    what: str | None
    arrive: Callable[..., object]
    args: tuple[Any, ...]
    size_bytes: int


@dataclass(slots=True)
class _Stall:
    """A message has not arrived, and all that was sent after it waits."""

    cause: int  # the seq of its NetworkStalled; if the message is not worth an event, that of the fault
    since_ms: int
    times: int = 0  # how often it was sent again


class Stream:
    """One direction of one connection.

    Args:
        broken: called with a sentence (the reason) when the network breaks the sender's end.
    """

    __slots__ = (
        "_broken",
        "_is_dead",
        "_medium",
        "_not_before_ms",
        "_policy",
        "_sent_until_ms",
        "_stall",
        "_waiting",
        "source",
        "target",
    )

    def __init__(
        self, medium: NetworkMedium, source: str, target: str, policy: RetransmissionPolicy, broken: Callable[[str], None]
    ) -> None:
        self._medium = medium
        self.source, self.target = source, target
        self._policy = policy
        self._broken = broken
        self._waiting: list[_Message] = []  # the first is retransmitted
        self._stall: _Stall | None = None
        self._not_before_ms = 0  # when the last message that was sent arrives
        self._sent_until_ms = 0  # when the last byte that was sent over a link with a rate has left
        self._is_dead = False

    @property
    def is_stalled(self) -> bool:
        """Whether a message that was sent has not arrived and is being retransmitted."""
        return bool(self._waiting)

    @property
    def is_clear(self) -> bool:
        """Whether the link is perfect, and nothing is on its way."""
        return (
            not self._waiting
            and not self._is_dead
            and self._medium.conditions.of(self.source, self.target) is PERFECT
            and self._not_before_ms <= self._medium.now_ms()
        )

    def stands(self) -> None:
        """Switch to the retransmission policy of an established connection, which gives up later."""
        self._policy = SENDING

    def die(self) -> None:
        """Drop everything that has not arrived, and all that is sent from now on."""
        self._is_dead = True
        self._waiting.clear()

    def send(self, what: str | None, arrive: Callable[..., object], *args: Any, size_bytes: int = 0) -> None:
        """Send a message: `arrive` is called at the other side when it arrives.

        Args:
            what: the message in a word or two, for the event log; None: no event is logged if it does not arrive.
            size_bytes: what counts on a link with a rate; messages within the run have no size.
        """
        if self._is_dead:
            return
        condition = self._medium.conditions.of(self.source, self.target)
        if condition is PERFECT and not self._waiting:
            self._deliver(PERFECT, arrive, args, size_bytes)
            return
        self._waiting.append(_Message(what, arrive, args, size_bytes))
        if len(self._waiting) == 1:
            self._try(condition)

    def _deliver(
        self, condition: LinkCondition, arrive: Callable[..., object], args: tuple[Any, ...], size_bytes: int
    ) -> None:
        medium = self._medium
        at_ms = medium.now_ms()
        if condition is not PERFECT:
            at_ms = self._leave_ms(condition, at_ms, size_bytes) + self._extra_delay_ms(condition)
        at_ms += medium.delay_ms
        if at_ms > self._not_before_ms:
            self._not_before_ms = at_ms
        medium.timetable.at(self._not_before_ms, self._arrive, arrive, args)

    def _arrive(self, arrive: Callable[..., object], args: tuple[Any, ...]) -> None:
        if not self._is_dead:
            arrive(*args)

    def _leave_ms(self, condition: LinkCondition, now_ms: int, size_bytes: int) -> int:
        """Return when the last byte of a message leaves, after all that was sent before."""
        if condition.rate is None:
            return now_ms
        begin_ms = max(now_ms, self._sent_until_ms)
        self._sent_until_ms = begin_ms + -(-size_bytes * 1000 // condition.rate.bytes_per_s)
        return self._sent_until_ms

    def _extra_delay_ms(self, condition: LinkCondition) -> int:
        slow = condition.slow
        if slow is None:
            return 0
        jitter_ms = self._medium.faults.numbers.randint(-slow.jitter_ms, slow.jitter_ms) if slow.jitter_ms else 0
        return slow.delay_ms + jitter_ms

    # --- stalls

    def _try(self, condition: LinkCondition) -> None:
        """Send the first waiting message; if it arrives, all that wait behind it arrive with it."""
        fault = self._fault(condition)
        if isinstance(fault, LinkCut) and fault.refuses:
            cause = fault.cause if self._stall is None else self._stall.cause
            self._break(cause, "refused", f"refused by the network on the way to {self.target}")
        elif fault is not None:
            self._wait(fault)
        else:
            self._let_pass(condition)

    def _fault(self, condition: LinkCondition) -> LinkCut | LinkLoss | None:
        """Return the fault that prevents this message from arriving, or None."""
        if condition.cut is not None:
            return condition.cut
        lossy = condition.lossy
        return lossy if lossy is not None and self._medium.faults.happens(lossy.probability) else None

    def _wait(self, fault: LinkCut | LinkLoss) -> None:
        if self._stall is None:
            self._stall = _Stall(self._emit_stalled(fault), self._medium.now_ms())
        stall = self._stall
        pause_ms = min(self._policy.first_ms << stall.times, LONGEST_PAUSE_MS)
        self._medium.timetable.at(self._medium.now_ms() + pause_ms, self._go_on, stall)

    def _go_on(self, stall: _Stall) -> None:
        if self._stall is not stall or self._is_dead:
            return
        if stall.times == self._policy.times:
            since_ms = self._medium.now_ms() - stall.since_ms
            self._break(stall.cause, "given up", f"nothing has arrived at {self.target} in {since_ms} ms")
            return
        stall.times += 1
        self._try(self._medium.conditions.of(self.source, self.target))

    def _let_pass(self, condition: LinkCondition) -> None:
        waiting, stall = self._waiting, self._stall
        self._waiting, self._stall = [], None
        if stall is not None and waiting[0].what is not None:
            self._emit_resumed(stall, len(waiting))
        for message in waiting:
            self._deliver(condition, message.arrive, message.args, message.size_bytes)

    def _break(self, cause: int, rule: str, why: str) -> None:
        first = self._waiting[0].what
        if first is not None:
            self._emit(EventKind.NETWORK_CONNECTION_BROKEN, cause, event=first, rule=rule, detail=f"{first}: {why}")
        self.die()
        self._broken(why)

    # --- events

    def _emit(self, kind: EventKind, cause: int, **fields: Unpack[EventFields]) -> int:
        fields["target"] = self.target
        return self._medium.faults.sink(self.source).emit(kind, cause, **fields)

    def _emit_stalled(self, fault: LinkCut | LinkLoss) -> int:
        """Append NetworkStalled. Return the seq that consequences name as their cause."""
        what = self._waiting[0].what
        if what is None:
            return fault.cause
        is_cut = isinstance(fault, LinkCut)
        why = f"nothing passes to {self.target}" if is_cut else f"lost on the way to {self.target}"
        detail = f"{what}: {why}; sent again in {self._policy.first_ms} ms"
        return self._emit(
            EventKind.NETWORK_STALLED, fault.cause, event=what, rule="cut" if is_cut else "lost", detail=detail
        )

    def _emit_resumed(self, stall: _Stall, count: int) -> None:
        late_ms = self._medium.now_ms() - stall.since_ms
        detail = f"got through to {self.target} {late_ms} ms late, when it was sent again (times: {stall.times})"
        self._emit(EventKind.NETWORK_RESUMED, stall.cause, count=count, duration_ms=late_ms, detail=detail)
