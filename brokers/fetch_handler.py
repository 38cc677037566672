"""How a leader answers its followers' fetches.

What a follower fetches tells where it stands: that may commit records, and may bring it into the ISR. A fetch that finds
nothing waits, until there are records or an error to tell or its time is up.

Source: Kafka 2.8, KafkaApis.handleFetchRequest, ReplicaManager.fetchMessages, DelayedFetch; reference requests.md 4.2-5, 5,
7.1, 13.1.
"""

from collections.abc import Iterable

from kcsim.brokers.committing import Committing
from kcsim.brokers.fetch_sessions import FollowerSession, ParkedFetch
from kcsim.brokers.isr import UNAVAILABLE, IsrManager
from kcsim.brokers.partition import Partition
from kcsim.brokers.partition_reads import Budget, PartitionReads
from kcsim.brokers.requests import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from kcsim.controller.requests import ErrorCode
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Runtime
from kcsim.zk.vocabulary import BrokerId, TopicPartition

Found = dict[TopicPartition, FetchedPartition]


class FetchHandler:
    """Answers fetches of followers, from what the other parts of the broker know."""

    def __init__(self, runtime: Runtime, reads: PartitionReads, isr: IsrManager, committing: Committing) -> None:
        self._runtime = runtime
        self._reads = reads
        self._isr = isr
        self._committing = committing

    async def handle(self, request: FetchRequest) -> FetchResponse:
        """Answer at once if there are records or an error, else when there are or the time is up."""
        session = self._committing.sessions.of(request.replica_id)
        deadline_ms = self._runtime.now_ms() + request.max_wait_ms
        parked = session.begin(request)
        news = session.take_news()
        found = await self._read(session, request, news)
        found.update(await self._note(request, [tp for tp in news if tp not in found or not found[tp].error]))
        # Found at once, it is told with the high watermark as it was before this very fetch moved it.
        while not found and await self._wait(parked, deadline_ms):
            session.wait_again(parked)
            found = await self._read(session, request, session.take_news())
        parked.is_answered = True
        return FetchResponse() if parked.is_superseded else FetchResponse(self._with_offsets(session, request, found))

    async def _wait(self, parked: ParkedFetch, deadline_ms: int) -> bool:
        """Returns whether there may be something to say; False when the time is up, or nobody would hear it."""
        left_ms = deadline_ms - self._runtime.now_ms()
        if left_ms <= 0 or parked.is_superseded:
            return False
        try:
            await parked.changed.wait(left_ms)
        except TimedOutError:
            return False
        return not parked.is_superseded

    # --- records and errors

    async def _read(self, session: FollowerSession, request: FetchRequest, news: Iterable[TopicPartition]) -> Found:
        """What there is to say, the errors and the records; whatever the answer has no room for stays news."""
        budget = Budget(request.max_bytes)
        found: Found = {}
        for tp in news:
            await self._reads.settled(tp)
            if budget.is_spent:
                session.news[tp] = None
                continue
            read = self._reads.for_follower(tp, request.partitions[tp], request.replica_id, budget)
            if read.error or read.runs:
                found[tp] = read
        return found

    # --- high watermarks and log starts

    def _with_offsets(self, session: FollowerSession, request: FetchRequest, found: Found) -> Found:
        """The answer: what was found, and the high watermarks and log starts that have moved since they were told."""
        for tp in [tp for tp in session.moved if tp not in found]:
            del session.moved[tp]
            if tp not in request.partitions:
                continue  # it is told when it is asked for again
            offsets = self._reads.offsets(tp, request.replica_id)
            if offsets is not None and session.told.get(tp, (0, 0)) != offsets:
                found[tp] = FetchedPartition(high_watermark=offsets[0], log_start_offset=offsets[1])
        for tp, told in found.items():
            if told.error:
                session.news[tp] = None  # nothing was noted of it: asked for the same way again, it is looked at anew
            else:
                session.told[tp] = told.high_watermark, told.log_start_offset
        return found

    # --- what the fetch tells

    async def _note(self, request: FetchRequest, news: Iterable[TopicPartition]) -> Found:
        """Keep where the follower stands; returns the errors of what could not be kept."""
        failed: Found = {}
        for tp in news:
            partition = self._reads.led(tp)
            # A broker that is no replica gets nothing, and leaves no trace.
            if partition is not None and request.replica_id in partition.followers:
                try:
                    await self._note_one(partition, request.replica_id, request.partitions[tp])
                except UNAVAILABLE:
                    failed[tp] = FetchedPartition(ErrorCode.UNKNOWN_SERVER_ERROR)
        return failed

    async def _note_one(self, partition: Partition, follower: BrokerId, fetch: FetchPartition) -> None:
        if fetch.leader_epoch != partition.leader_epoch:
            return
        state = partition.followers[follower]
        was = state.log_end_offset
        state.record_fetch(fetch.fetch_offset, partition.log_end_offset, self._runtime.now_ms())
        if follower not in partition.isr:
            await self._isr.maybe_expand(partition, follower, fetch.cause)
        if state.log_end_offset != was:
            self._committing.advance(partition)
