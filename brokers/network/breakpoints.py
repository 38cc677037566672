"""Connections that break when a request has been delivered, before it is answered: armed once, or by chance."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from kcsim.brokers.network.link_conditions import Links
from kcsim.brokers.network.link_stream import NetworkMedium
from kcsim.eventlog.events import EventKind


@dataclass(frozen=True, slots=True, eq=False)
class RequestBreakpoint:
    """Breaks the connection over which the next matching request is delivered, before the request is answered.

    Args:
        request: the request's name in the event log, such as LeaderAndIsr.
        act: called with a sentence when the breakpoint was triggered.
        let_through: how many such requests are delivered, and answered, before.
    """

    links: Links
    request: str
    act: Callable[[str], None]
    cause: int
    let_through: int = 0


class RequestBreakpoints:
    """The breakpoints of a network that have not been triggered."""

    def __init__(self, medium: NetworkMedium) -> None:
        self._medium = medium
        self._armed: list[RequestBreakpoint] = []

    def arm(self, breakpoint_: RequestBreakpoint) -> None:
        self._armed.append(breakpoint_)

    def clear(self) -> None:
        self._armed.clear()

    def breaks_now(self, ends: tuple[str, str], request: str) -> bool:
        """Return True if the connection breaks after this request was delivered over it; append the event if so.

        Args:
            ends: the nodes of the client and of the server.
            request: its name in the event log.
        """
        source, target = ends
        for place, armed in enumerate(self._armed):
            if ends not in armed.links or armed.request != request:
                continue
            if armed.let_through:
                self._armed[place] = replace(armed, let_through=armed.let_through - 1)
                continue
            del self._armed[place]
            self._emit_break(ends, request, armed.cause, "armed")
            armed.act(f"the connection of {source} to {target} broke when {request} had been delivered")
            return True
        breaking = self._medium.conditions.of(source, target).breaking
        if breaking is None or not self._medium.faults.happens(breaking.probability):
            return False
        self._emit_break(ends, request, breaking.cause, "breaking link")
        return True

    def _emit_break(self, ends: tuple[str, str], request: str, cause: int, rule: str) -> None:
        source, target = ends
        detail = f"{request} was delivered to {target}, and no answer to it can be"
        self._medium.faults.sink(source).emit(
            EventKind.NETWORK_CONNECTION_BROKEN, cause, target=target, event=request, rule=rule, detail=detail
        )
