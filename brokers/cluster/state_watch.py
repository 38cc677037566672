"""The state of a running cluster, folded from its event log, and waiting until a condition on it holds."""

from collections.abc import Callable

from kcsim.brokers.cluster.stalls import stall_text
from kcsim.errors import TimedOutError
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event
from kcsim.runtime.ports import Promise, Runtime


class StateWatch:
    """Folds all events of a run, past and future, into a cluster state."""

    def __init__(self, runtime: Runtime, log: EventLog) -> None:
        self.state = ClusterState()
        self._runtime = runtime
        self._changed: Promise[None] = runtime.promise()
        for event in log.events:
            self.state.apply(event)
        log.subscribe(self._on_event)

    def _on_event(self, event: Event) -> None:
        self.state.apply(event)
        if not self._changed.is_settled:
            self._changed.resolve(None)

    async def wait_until(self, condition: Callable[[], str | None], within_ms: int) -> None:
        """Wait until a condition on the log and the state holds; it is evaluated again after every event.

        Args:
            condition: returns None when it holds, else a sentence that says what holds instead.

        Raises: TimedOutError with that sentence when `within_ms` have passed.
        """
        deadline_ms = self._runtime.now_ms() + within_ms
        while (seen := condition()) is not None:
            left_ms = deadline_ms - self._runtime.now_ms()
            if left_ms <= 0:
                stalled = stall_text(self.state)
                raise TimedOutError(f"not within {within_ms} ms: {seen}{f'; {stalled}' if stalled else ''}")
            if self._changed.is_settled:
                self._changed = self._runtime.promise()
            try:
                await self._changed.wait(left_ms)
            except TimedOutError:
                continue  # evaluate once more, then the deadline above applies
