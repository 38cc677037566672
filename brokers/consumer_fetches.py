"""How a leader answers consumers' fetches: with what is committed, and with nothing only after waiting for it.

Source: Kafka 2.8, ReplicaManager.fetchMessages, DelayedFetch; reference requests.md 7.1, 8, 14.
"""

from kcsim.brokers.partition_reads import Budget, PartitionReads
from kcsim.brokers.requests import FetchedPartition, FetchRequest, FetchResponse
from kcsim.brokers.wake_ups import WakeUps
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Runtime
from kcsim.zk.vocabulary import TopicPartition


class ConsumerFetches:
    """Answers fetches of clients."""

    def __init__(self, runtime: Runtime, reads: PartitionReads, wake_ups: WakeUps) -> None:
        self._runtime = runtime
        self._reads = reads
        self._wake_ups = wake_ups

    async def handle(self, request: FetchRequest) -> FetchResponse:
        """Answer once there is an error or min_bytes, or the time is up; every partition asked for is in the answer."""
        deadline_ms = self._runtime.now_ms() + request.max_wait_ms
        while True:
            changed = self._wake_ups.of(request.partitions)
            budget = Budget(request.max_bytes)
            found = await self._read(request, budget)
            left_ms = deadline_ms - self._runtime.now_ms()
            if left_ms <= 0 or budget.spent >= request.min_bytes or any(read.error for read in found.values()):
                changed.forget()
                return FetchResponse(found)
            try:
                await changed.wait(left_ms)
            except TimedOutError:
                continue  # one last look

    async def _read(self, request: FetchRequest, budget: Budget) -> dict[TopicPartition, FetchedPartition]:
        found = {}
        for tp, fetch in request.partitions.items():
            await self._reads.settled(tp)
            found[tp] = self._reads.for_consumer(tp, fetch, budget)
        return found
