"""One direction of a connection: what is sent there arrives in order, late, or never, as the condition of its link has it.

This is what TCP shows of a bad link. Nothing overtakes within a connection; across connections, jitter reorders. What is
lost is sent again after 200 ms, 400 ms, 800 ms and so on, up to every two minutes, and whatever was sent meanwhile waits
behind it and arrives with it. After 15 times without success (15 minutes) the sender's end breaks; 6 times, from 1 s on, if
it is the connection itself that is being opened. That is Linux as it is installed. What was given to the network before its
sender closed the connection, or died, is still sent again. Nothing is duplicated here: that takes a request that is sent
anew after a broken connection.

Left out: acknowledgements lost on the way back, which only make TCP send again what has arrived; a first delay that grows
with the round trip. Both would change when something is sent again, not whether it arrives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Unpack

from kcsim.scenarios.link_conditions import PERFECT, Cut, LinkCondition, LinkConditions, Lossy
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.ports import EventSink, Runtime

LONGEST_PAUSE_MS = 120_000


@dataclass(frozen=True, slots=True)
class Persistence:
    """How often something that does not arrive is sent again: first after `first_ms`, then after twice as long each time."""

    first_ms: int
    times: int


SENDING = Persistence(200, 15)
OPENING = Persistence(1_000, 6)


class Carrier:
    """What carries all streams of a network.

    Args:
        delay_ms: how long anything is on its way, one way, on a perfect link.
        trouble: what is needed once a link is in trouble; None where none ever is.
    """

    def __init__(self, runtime: Runtime, delay_ms: int, trouble: "TroubleKit | None" = None) -> None:
        self.conditions = LinkConditions()
        self.delay_ms = delay_ms
        self.timetable = Timetable(runtime, "network")
        self._trouble = trouble

    def now_ms(self) -> int:
        return self.timetable.now_ms()

    @property
    def trouble(self) -> "TroubleKit":
        assert self._trouble is not None, "a link is in trouble on a network that was made for none"
        return self._trouble


@dataclass(frozen=True, slots=True)
class TroubleKit:
    """What links in trouble need.

    Args:
        numbers: where losses and jitter are drawn from; a link without such trouble draws nothing.
        sink: the event log as a node has it.
    """

    numbers: Random
    sink: Callable[[str], EventSink]

    def happens(self, probability: float) -> bool:
        return self.numbers.random() < probability


@dataclass(frozen=True, slots=True)
class _Message:
    what: str | None
    arrive: Callable[..., None]
    args: tuple[Any, ...]


@dataclass(slots=True)
class _Stall:
    """Something does not arrive, and all that was sent after it waits."""

    cause: int  # its NetworkStalled; if that is not worth an event, the fault
    since_ms: int
    times: int = 0  # sent again


class Stream:
    """One direction of one connection.

    Args:
        broken: called with a sentence when the network breaks the sender's end.
    """

    __slots__ = (
        "_broken",
        "_carrier",
        "_is_dead",
        "_not_before_ms",
        "_persistence",
        "_stall",
        "_waiting",
        "source",
        "target",
    )

    def __init__(
        self, carrier: Carrier, source: str, target: str, persistence: Persistence, broken: Callable[[str], None]
    ) -> None:
        self._carrier = carrier
        self.source, self.target = source, target
        self._persistence = persistence
        self._broken = broken
        self._waiting: list[_Message] = []  # the first is sent again and again
        self._stall: _Stall | None = None
        self._not_before_ms = 0  # when the last that was sent arrives
        self._is_dead = False

    @property
    def is_stalled(self) -> bool:
        """Something was sent that has not arrived, and is sent again."""
        return bool(self._waiting)

    def stands(self) -> None:
        """The connection stands: from now on more patience is had with what is lost."""
        self._persistence = SENDING

    def die(self) -> None:
        """Let nothing that has not arrived arrive, now or later."""
        self._is_dead = True
        self._waiting.clear()

    def send(self, what: str | None, arrive: Callable[..., None], *args: Any) -> None:
        """Call `arrive` at the other side, when the message is there.

        Args:
            what: the message in a word or two, for the event log; None: not worth an event if it does not arrive.
        """
        if self._is_dead:
            return
        condition = self._carrier.conditions.of(self.source, self.target)
        if condition is PERFECT and not self._waiting:
            self._deliver(PERFECT, arrive, args)
            return
        self._waiting.append(_Message(what, arrive, args))
        if len(self._waiting) == 1:
            self._try(condition)

    def _deliver(self, condition: LinkCondition, arrive: Callable[..., None], args: tuple[Any, ...]) -> None:
        at_ms = self._carrier.now_ms() + self._carrier.delay_ms + self._extra_delay_ms(condition)
        self._not_before_ms = max(at_ms, self._not_before_ms)
        self._carrier.timetable.at(self._not_before_ms, self._arrive, arrive, args)

    def _arrive(self, arrive: Callable[..., None], args: tuple[Any, ...]) -> None:
        if not self._is_dead:
            arrive(*args)

    def _extra_delay_ms(self, condition: LinkCondition) -> int:
        slow = condition.slow
        if slow is None:
            return 0
        jitter_ms = self._carrier.trouble.numbers.randint(-slow.jitter_ms, slow.jitter_ms) if slow.jitter_ms else 0
        return slow.delay_ms + jitter_ms

    # --- what does not arrive

    def _try(self, condition: LinkCondition) -> None:
        """Send the first that waits; with it arrives all that waits behind it."""
        trouble = self._trouble(condition)
        if isinstance(trouble, Cut) and trouble.refuses:
            cause = trouble.cause if self._stall is None else self._stall.cause
            self._break(cause, "refused", f"refused by the network on the way to {self.target}")
        elif trouble is not None:
            self._wait(trouble)
        else:
            self._let_pass(condition)

    def _trouble(self, condition: LinkCondition) -> Cut | Lossy | None:
        """What keeps this one message from arriving."""
        if condition.cut is not None:
            return condition.cut
        lossy = condition.lossy
        return lossy if lossy is not None and self._carrier.trouble.happens(lossy.probability) else None

    def _wait(self, trouble: Cut | Lossy) -> None:
        if self._stall is None:
            self._stall = _Stall(self._tell_stall(trouble), self._carrier.now_ms())
        stall = self._stall
        pause_ms = min(self._persistence.first_ms << stall.times, LONGEST_PAUSE_MS)
        self._carrier.timetable.at(self._carrier.now_ms() + pause_ms, self._go_on, stall)

    def _go_on(self, stall: _Stall) -> None:
        if self._stall is not stall or self._is_dead:
            return
        if stall.times == self._persistence.times:
            since_ms = self._carrier.now_ms() - stall.since_ms
            self._break(stall.cause, "given up", f"nothing has arrived at {self.target} in {since_ms} ms")
            return
        stall.times += 1
        self._try(self._carrier.conditions.of(self.source, self.target))

    def _let_pass(self, condition: LinkCondition) -> None:
        waiting, stall = self._waiting, self._stall
        self._waiting, self._stall = [], None
        if stall is not None and waiting[0].what is not None:
            self._tell_passing(stall, len(waiting))
        for message in waiting:
            self._deliver(condition, message.arrive, message.args)

    def _break(self, cause: int, rule: str, why: str) -> None:
        first = self._waiting[0].what
        if first is not None:
            self._emit(EventKind.NETWORK_CONNECTION_BROKEN, cause, event=first, rule=rule, detail=f"{first}: {why}")
        self.die()
        self._broken(why)

    # --- what happens, as the event log has it

    def _emit(self, kind: EventKind, cause: int, **fields: Unpack[EventFields]) -> int:
        fields["target"] = self.target
        return self._carrier.trouble.sink(self.source).emit(kind, cause, **fields)

    def _tell_stall(self, trouble: Cut | Lossy) -> int:
        """Returns: what follows from it names this as its cause."""
        what = self._waiting[0].what
        if what is None:
            return trouble.cause
        is_cut = isinstance(trouble, Cut)
        why = f"nothing passes to {self.target}" if is_cut else f"lost on the way to {self.target}"
        detail = f"{what}: {why}; sent again in {self._persistence.first_ms} ms"
        return self._emit(
            EventKind.NETWORK_STALLED, trouble.cause, event=what, rule="cut" if is_cut else "lost", detail=detail
        )

    def _tell_passing(self, stall: _Stall, count: int) -> None:
        late_ms = self._carrier.now_ms() - stall.since_ms
        detail = f"got through to {self.target} {late_ms} ms late, when it was sent again (times: {stall.times})"
        self._emit(EventKind.NETWORK_RESUMED, stall.cause, count=count, duration_ms=late_ms, detail=detail)
