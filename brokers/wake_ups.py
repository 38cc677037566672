"""Lets tasks wait until something changes about partitions: an acknowledgement, records for a consumer.

Source: Kafka 2.8, DelayedOperationPurgatory.
"""

from collections.abc import Iterable

from kcsim.zk.ports import Promise, Runtime
from kcsim.zk.vocabulary import TopicPartition


class WakeUp:
    """One task's wait for the next change of any of some partitions; begins when it is made, so that none is missed."""

    def __init__(self, wake_ups: "WakeUps", promise: "Promise[None]", tps: tuple[TopicPartition, ...]) -> None:
        self.promise = promise
        self._wake_ups = wake_ups
        self._tps = tps

    async def wait(self, timeout_ms: int) -> None:
        """Raises: TimedOutError, Killed."""
        try:
            await self.promise.wait(timeout_ms)
        finally:
            self.forget()

    def forget(self) -> None:
        """It is not waited for. Idempotent."""
        self._wake_ups.remove(self, self._tps)


class WakeUps:
    """Who waits for a change of which partition."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._of: dict[TopicPartition, dict[WakeUp, None]] = {}

    def of(self, tps: Iterable[TopicPartition]) -> WakeUp:
        """Begin to wait for the next change of any of these."""
        watched = tuple(tps)
        wake_up = WakeUp(self, self._runtime.promise(), watched)
        for tp in watched:
            self._of.setdefault(tp, {})[wake_up] = None
        return wake_up

    def wake(self, tps: Iterable[TopicPartition]) -> None:
        """These have changed."""
        for tp in tps:
            for wake_up in list(self._of.get(tp, ())):
                wake_up.promise.resolve(None)

    def remove(self, wake_up: WakeUp, tps: Iterable[TopicPartition]) -> None:
        for tp in tps:
            waiting = self._of.get(tp)
            if waiting is not None:
                waiting.pop(wake_up, None)
                if not waiting:
                    del self._of[tp]
