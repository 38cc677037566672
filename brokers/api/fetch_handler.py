"""A leader's responses to its followers' fetches.

A follower's fetch reports its log end offset. That may commit records, and may add the follower to the ISR. A fetch that
finds nothing waits until there are records or an error, or until its time is up.

Source: Kafka 2.8, KafkaApis.handleFetchRequest, ReplicaManager.fetchMessages, DelayedFetch; docs/kafka/requests.md 4.2-5, 5,
7.1, 13.1.
"""

from collections.abc import Iterable

from kcsim.brokers.api.partition_reads import Budget, PartitionReads
from kcsim.brokers.replication.fetch_sessions import FollowerSession, ParkedFetch
from kcsim.brokers.replication.high_watermark_updater import HighWatermarkUpdater
from kcsim.brokers.replication.isr import IsrManager
from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.requests import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import BrokerId, TopicPartition

Found = dict[TopicPartition, FetchedPartition]


def _agrees(fetched: FetchedPartition) -> bool:
    """Return whether the fetch counts as the follower's position: it was not refused, and the logs do not diverge."""
    return not fetched.error and fetched.diverging is None


class FetchHandler:
    """Answers the fetches of followers.

    Args:
        longest_wait_ms: how long a fetch waits at most while its follower may not join an ISR: replica.fetch.wait.max.ms.
    """

    def __init__(
        self,
        runtime: Runtime,
        reads: PartitionReads,
        isr: IsrManager,
        high_watermarks: HighWatermarkUpdater,
        longest_wait_ms: int,
    ) -> None:
        self._runtime = runtime
        self._reads = reads
        self._isr = isr
        self._high_watermarks = high_watermarks
        self._longest_wait_ms = longest_wait_ms

    async def handle(self, request: FetchRequest) -> FetchResponse:
        """Answer at once if there are records or an error, else when there are or the time is up."""
        session = self._high_watermarks.sessions.of(request.replica_id)
        began_ms = self._runtime.now_ms()
        parked = session.begin(request)
        session.dirty.update(self._isr.take_kept_out(request.replica_id))
        dirty = session.take_dirty()
        found = await self._read(session, request, dirty)
        found.update(await self._note(request, [tp for tp in dirty if tp not in found or _agrees(found[tp])]))
        # Records that are found at once are sent with the high watermark from before this fetch advanced it.
        while not found and await self._wait(parked, began_ms + self._longest_wait(request)):
            session.wait_again(parked)
            found = await self._read(session, request, session.take_dirty())
        parked.is_answered = True
        return FetchResponse() if parked.is_superseded else FetchResponse(self._with_offsets(session, request, found))

    def _longest_wait(self, request: FetchRequest) -> int:
        if self._isr.is_kept_out(request.replica_id):
            return min(request.max_wait_ms, self._longest_wait_ms)
        return request.max_wait_ms

    async def _wait(self, parked: ParkedFetch, deadline_ms: int) -> bool:
        """Return True if there may be something to send, False when the time is up or a newer fetch has arrived."""
        left_ms = deadline_ms - self._runtime.now_ms()
        if left_ms <= 0 or parked.is_superseded:
            return False
        try:
            await parked.changed.wait(left_ms)
        except TimedOutError:
            return False
        return not parked.is_superseded

    # --- records and errors

    async def _read(self, session: FollowerSession, request: FetchRequest, dirty: Iterable[TopicPartition]) -> Found:
        """Return the errors and the records; partitions for which the response has no room stay dirty."""
        budget = Budget(request.max_bytes)
        found: Found = {}
        for tp in dirty:
            await self._reads.settled(tp)
            if budget.is_spent:
                session.dirty[tp] = None
                continue
            read = self._reads.for_follower(tp, request.partitions[tp], request.replica_id, budget)
            if read.error or read.runs or read.diverging:
                found[tp] = read
        return found

    # --- high watermarks and log starts

    def _with_offsets(self, session: FollowerSession, request: FetchRequest, found: Found) -> Found:
        """Return the response: what was found, and the high watermarks and log start offsets that have changed.

        Unchanged means equal to what was sent last.
        """
        for tp in [tp for tp in session.moved if tp not in found]:
            del session.moved[tp]
            if tp not in request.partitions:
                continue  # it is sent when the follower fetches the partition again
            offsets = self._reads.offsets(tp, request.replica_id)
            if offsets is not None and session.sent_offsets.get(tp, (0, 0)) != offsets:
                found[tp] = FetchedPartition(high_watermark=offsets[0], log_start_offset=offsets[1])
        if request.names_all:
            found.update(self._without_news([tp for tp in request.partitions if tp not in found]))
        for tp, fetched in found.items():
            if not _agrees(fetched):
                session.dirty[tp] = None  # the fetch was not recorded: an unchanged next fetch must be processed again
            else:
                session.sent_offsets[tp] = fetched.high_watermark, fetched.log_start_offset
        return found

    def _without_news(self, partitions: Iterable[TopicPartition]) -> Found:
        """Return the offsets of partitions of which there is nothing to send."""
        found: Found = {}
        for tp in partitions:
            partition = self._reads.led(tp)
            if partition is not None:
                high_watermark, log = partition.high_watermark, partition.written_log
                found[tp] = FetchedPartition(high_watermark=high_watermark, log_start_offset=log.log_start_offset)
        return found

    # --- follower state

    async def _note(self, request: FetchRequest, partitions: Iterable[TopicPartition]) -> Found:
        """Record the follower's log end offsets. Return the errors of partitions for which that failed."""
        failed: Found = {}
        for tp in partitions:
            partition = self._reads.led(tp)
            # A broker that is not a replica gets nothing, and nothing is recorded.
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
        if follower not in partition.wanted_isr:
            await self._isr.maybe_expand(partition, follower, fetch.cause)
        if state.log_end_offset != was:
            self._high_watermarks.advance(partition)
        if state.log_start_offset != fetch.log_start_offset:
            state.log_start_offset = fetch.log_start_offset
            self._high_watermarks.purgatory.wake((partition.tp,))
