"""The intervals with and without a working controller: a pure fold over the event log.

`ClusterState.working_controller` says what a working controller is. An interval without one begins when the controller dies,
freezes, loses its connection to ZooKeeper or its role, and ends when a broker has completed its failover, or when the former
controller can work again. The time before the first working controller of a run is no such interval.
"""

from collections.abc import Iterable

import msgspec

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event


class ControllerInterval(msgspec.Struct, frozen=True):
    """An interval in which the same broker, or no broker, was the working controller.

    Attributes:
        broker: its id; None: no broker was a working controller.
        epoch: its controller epoch; None without a controller.
        from_seq, from_ms: the event that began the interval.
        until_seq, until_ms: the event that ended the interval; the last event, if `is_over` is False.
    """

    broker: int | None
    epoch: int | None
    from_seq: int
    from_ms: int
    until_seq: int
    until_ms: int
    is_over: bool

    @property
    def length_ms(self) -> int:
        return self.until_ms - self.from_ms


class ControllerIntervalTracker:
    """Follows the working controllers of a run. Call `look` after each event that the state has applied."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._current: tuple[int | None, int | None] = (None, None)
        self._since: Event | None = None  # None: there has been no working controller yet
        self._last: Event | None = None
        self._intervals: list[ControllerInterval] = []

    def look(self, event: Event) -> None:
        """Compare the working controller with the one before the event."""
        broker = self._state.working_controller
        now = (broker, None if broker is None else self._state.roles.get(f"broker-{broker}"))
        if now != self._current and not (self._since is None and broker is None):
            if self._since is not None:
                self._intervals += self._between(self._since, event, is_over=True)
            self._current, self._since = now, event
        self._last = event

    def so_far(self) -> tuple[ControllerInterval, ...]:
        """Return all intervals of 1 ms or more, from the first working controller to the last event."""
        if self._since is None or self._last is None:
            return tuple(self._intervals)
        return (*self._intervals, *self._between(self._since, self._last, is_over=False))

    def _between(self, since: Event, until: Event, *, is_over: bool) -> list[ControllerInterval]:
        broker, epoch = self._current
        if until.t_ms == since.t_ms and (is_over or broker is None):
            return []
        return [ControllerInterval(broker, epoch, since.seq, since.t_ms, until.seq, until.t_ms, is_over)]


def controller_intervals(events: Iterable[Event]) -> tuple[ControllerInterval, ...]:
    """Fold the event log of a whole run."""
    state = ClusterState()
    tracker = ControllerIntervalTracker(state)
    for event in events:
        state.apply(event)
        tracker.look(event)
    return tracker.so_far()
