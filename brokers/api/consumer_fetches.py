"""A leader's responses to consumers' fetches: committed records, or an empty response after a wait.

Source: Kafka 2.8, ReplicaManager.fetchMessages, DelayedFetch; docs/kafka/requests.md 7.1, 8, 14.
"""

from kcsim.brokers.api.partition_reads import Budget, PartitionReads
from kcsim.brokers.replication.purgatory import Purgatory
from kcsim.brokers.requests import FetchedPartition, FetchRequest, FetchResponse
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import TopicPartition


class ConsumerFetches:
    """Answers the fetches of clients."""

    def __init__(self, runtime: Runtime, reads: PartitionReads, purgatory: Purgatory) -> None:
        self._runtime = runtime
        self._reads = reads
        self._purgatory = purgatory

    async def handle(self, request: FetchRequest) -> FetchResponse:
        """Answer once there is an error, or min_bytes of records, or the time is up.

        The response has every requested partition.
        """
        deadline_ms = self._runtime.now_ms() + request.max_wait_ms
        while True:
            changed = self._purgatory.watch(request.partitions)
            budget = Budget(request.max_bytes)
            found = await self._read(request, budget)
            left_ms = deadline_ms - self._runtime.now_ms()
            if left_ms <= 0 or budget.spent >= request.min_bytes or any(read.error for read in found.values()):
                changed.forget()
                return FetchResponse(found)
            try:
                await changed.wait(left_ms)
            except TimedOutError:
                continue  # read once more after the time is up

    async def _read(self, request: FetchRequest, budget: Budget) -> dict[TopicPartition, FetchedPartition]:
        found = {}
        for tp, fetch in request.partitions.items():
            await self._reads.settled(tp)
            found[tp] = self._reads.for_consumer(tp, fetch, budget, may_follow=request.may_ask_followers)
        return found
