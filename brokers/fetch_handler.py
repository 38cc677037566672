"""How a leader answers its followers' fetches.

What a follower fetches tells where it stands, and may bring it into the ISR. A fetch that finds nothing waits here, parked,
until something changes about one of its partitions or its time is up.

Left out until logs hold records: records. Source: Kafka 2.8, KafkaApis.handleFetchRequest, ReplicaManager.fetchMessages,
DelayedFetch; reference requests.md 4.2-5, 5, 7.1.
"""

from collections.abc import Iterable, Mapping

from kcsim.brokers.fences import fetch_error
from kcsim.brokers.hosted import HostedPartitions
from kcsim.brokers.isr import UNAVAILABLE, IsrManager
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import FetchPartition, FetchRequest, FetchResponse
from kcsim.controller.requests import ErrorCode
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Promise, Runtime
from kcsim.zk.vocabulary import BrokerId, TopicPartition


class _ParkedFetch:
    """A fetch from its arrival to its answer, and after that until the follower's next one."""

    def __init__(self, request: FetchRequest, changed: "Promise[None]") -> None:
        self.request = request
        self.touched: dict[TopicPartition, None] = {}
        self.is_superseded = False
        self.changed = changed

    def touch(self, tps: Iterable[TopicPartition]) -> None:
        self.touched.update((tp, None) for tp in tps if tp in self.request.partitions)
        if self.touched:
            self.changed.resolve(None)

    def supersede(self) -> None:
        self.is_superseded = True
        self.changed.resolve(None)


class ParkedFetches:
    """The last fetch of each follower: it has one fetcher for this leader, and a newer fetch replaces the older."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._of: dict[BrokerId, _ParkedFetch] = {}

    def park(self, request: FetchRequest) -> tuple[_ParkedFetch, bool]:
        """Take up a fetch; returns it, and whether it says or will hear anything that the one before did not."""
        last = self._of.get(request.replica_id)
        parked = self._of[request.replica_id] = _ParkedFetch(request, self._runtime.promise())
        if last is not None:
            last.supersede()
        is_news = last is None or last.request is not request or bool(last.touched)
        return parked, is_news

    def touch(self, tps: Iterable[TopicPartition]) -> None:
        """Something has changed about these partitions: whoever fetches them is answered now."""
        touched = list(tps)
        if touched:
            for parked in self._of.values():
                parked.touch(touched)


class FetchHandler:
    """Answers fetches of followers, from what the other parts of the broker know."""

    def __init__(
        self,
        runtime: Runtime,
        hosted: HostedPartitions,
        metadata: MetadataCache,
        isr: IsrManager,
        parked: ParkedFetches,
    ) -> None:
        self._runtime = runtime
        self._hosted = hosted
        self._metadata = metadata
        self._isr = isr
        self._parked = parked

    async def handle(self, request: FetchRequest) -> FetchResponse:
        """Answer at once if there is an error, else when something changes or the time is up."""
        parked, is_news = self._parked.park(request)
        if is_news:
            errors = await self._note_and_check(request)
            if errors:
                return FetchResponse(errors)
        try:
            await parked.changed.wait(request.max_wait_ms)
        except TimedOutError:
            return FetchResponse()
        if parked.is_superseded:
            return FetchResponse()  # nobody waits for it any more
        return FetchResponse(self._errors({tp: request.partitions[tp] for tp in parked.touched}))

    async def _note_and_check(self, request: FetchRequest) -> dict[TopicPartition, ErrorCode]:
        errors = self._errors(request.partitions)
        for tp, fetch in request.partitions.items():
            if tp not in errors:
                try:
                    await self._note(tp, request.replica_id, fetch)
                except UNAVAILABLE:
                    errors[tp] = ErrorCode.UNKNOWN_SERVER_ERROR
        return errors

    def _errors(self, fetched: Mapping[TopicPartition, FetchPartition]) -> dict[TopicPartition, ErrorCode]:
        checked = {tp: self._error(tp, fetch) for tp, fetch in fetched.items()}
        return {tp: error for tp, error in checked.items() if error is not ErrorCode.NONE}

    def _error(self, tp: TopicPartition, fetch: FetchPartition) -> ErrorCode:
        if tp not in self._metadata:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # even if this broker leads it
        if tp in self._hosted.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return fetch_error(self._hosted.get(tp), fetch)

    async def _note(self, tp: TopicPartition, follower: BrokerId, fetch: FetchPartition) -> None:
        """Keep where a follower stands; a broker that is no replica gets nothing, and leaves no trace."""
        partition = self._hosted.get(tp)
        if partition is None or follower not in partition.followers:
            return
        state = partition.followers[follower]
        state.record_fetch(fetch.fetch_offset, partition.log_end_offset, self._runtime.now_ms())
        if follower not in partition.isr:
            await self._isr.maybe_expand(partition, follower, fetch.cause)
