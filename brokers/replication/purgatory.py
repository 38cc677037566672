"""Lets tasks wait for changes of partitions: for an acknowledgement, or for records for a consumer.

Source: Kafka 2.8, DelayedOperationPurgatory.
"""

from collections.abc import Iterable

from kcsim.runtime.ports import Promise, Runtime
from kcsim.vocabulary import TopicPartition


class DelayedOperation:
    """One task's wait for the next change of any of several partitions.

    The wait begins when the object is created, so that no change is missed.
    """

    def __init__(self, purgatory: "Purgatory", promise: "Promise[None]", tps: tuple[TopicPartition, ...]) -> None:
        self.promise = promise
        self._purgatory = purgatory
        self._tps = tps

    async def wait(self, timeout_ms: int) -> None:
        """Wait for a change. Raises: TimedOutError, Killed."""
        try:
            await self.promise.wait(timeout_ms)
        finally:
            self.forget()

    def forget(self) -> None:
        """End the wait. Idempotent."""
        self._purgatory.remove(self, self._tps)


class Purgatory:
    """The waiting tasks, by partition."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._of: dict[TopicPartition, dict[DelayedOperation, None]] = {}

    def watch(self, tps: Iterable[TopicPartition]) -> DelayedOperation:
        """Begin to wait for the next change of any of these partitions."""
        watched = tuple(tps)
        operation = DelayedOperation(self, self._runtime.promise(), watched)
        for tp in watched:
            self._of.setdefault(tp, {})[operation] = None
        return operation

    def wake(self, tps: Iterable[TopicPartition]) -> None:
        """Wake the tasks that wait for any of these partitions."""
        for tp in tps:
            for operation in list(self._of.get(tp, ())):
                operation.promise.resolve(None)

    def remove(self, operation: DelayedOperation, tps: Iterable[TopicPartition]) -> None:
        for tp in tps:
            waiting = self._of.get(tp)
            if waiting is not None:
                waiting.pop(operation, None)
                if not waiting:
                    del self._of[tp]
