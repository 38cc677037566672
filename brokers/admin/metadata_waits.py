"""Lets requests wait until the broker's metadata show what they have changed.

Source: Kafka 2.8, DelayedCreatePartitions, DelayedDeleteTopics, DelayedElectLeader and their purgatories.
"""

from collections.abc import Callable

from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Promise, Runtime


class MetadataWaits:
    """Waits for updates of a metadata cache."""

    def __init__(self, runtime: Runtime, metadata: MetadataCache) -> None:
        self._runtime = runtime
        self._next_update: Promise[None] | None = None
        metadata.watch(self._updated)

    def _updated(self) -> None:
        update, self._next_update = self._next_update, None
        if update is not None:
            update.resolve(None)

    async def until(self, holds: Callable[[], bool], timeout_ms: int) -> None:
        """Wait until a condition on the metadata holds, or the time is up."""
        deadline_ms = self._runtime.now_ms() + timeout_ms
        while not holds():
            left_ms = deadline_ms - self._runtime.now_ms()
            if left_ms <= 0:
                return
            if self._next_update is None:
                self._next_update = self._runtime.promise()
            try:
                await self._next_update.wait(left_ms)
            except TimedOutError:
                return
