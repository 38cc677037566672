"""A consumer's fetches: its position in each of its partitions, and the requests to their leaders.

One fetch at a time is in flight to each broker; its result is put into the consumer's inbox. Source: Kafka 2.8, Fetcher.
Left out: fetch sessions, prefetching beyond one response, isolation levels, truncation detection by leader epoch (KIP-320).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kcsim.brokers.clients.clients import UNREACHABLE, ClientProcess, ClusterClient, is_about_leadership
from kcsim.brokers.clients.consumer_config import ConsumerConfig
from kcsim.brokers.requests import (
    ANY_LEADER_EPOCH,
    CONSUMER,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetQuery,
)
from kcsim.controller.requests import ErrorCode
from kcsim.runtime.ports import Mailbox
from kcsim.vocabulary import BrokerId, TopicPartition

FETCH = "fetch"


@dataclass(frozen=True, slots=True)
class FetchReply:
    """The result of a fetch; no response when the broker could not be reached."""

    broker: BrokerId
    request: FetchRequest
    response: FetchResponse | None


class PartitionFetcher:
    """The fetches of one consumer.

    Attributes:
        positions: the offset of the next record of each partition that is fetched.
        out_of_range: partitions whose log does not have the requested offset: their committed offset is of no use.
        has_old_metadata: a response, or its absence, has shown that leaders are unknown or outdated.
    """

    def __init__(
        self, process: ClientProcess, client: ClusterClient, config: ConsumerConfig, inbox: "Mailbox[object]"
    ) -> None:
        self.positions: dict[TopicPartition, int] = {}
        self.out_of_range: set[TopicPartition] = set()
        self.has_old_metadata = False
        self._process = process
        self._client = client
        self._config = config
        self._inbox = inbox
        self._under_way: set[BrokerId] = set()

    def begin_at(self, positions: Mapping[TopicPartition, int]) -> None:
        """Fetch these partitions as well, from these positions on."""
        self.positions.update(positions)
        self.out_of_range.difference_update(positions)

    def keep(self, owned: Iterable[TopicPartition]) -> None:
        """Drop all partitions that the consumer no longer owns."""
        kept = set(owned)
        self.positions = {tp: position for tp, position in self.positions.items() if tp in kept}
        self.out_of_range &= kept

    # --- records

    def fetch(self, cause: int) -> None:
        """Send a fetch to every leader of fetched partitions, unless one is in flight to it."""
        for leader, partitions in sorted(self._by_leader(self.positions).items()):
            if leader not in self._under_way:
                self._under_way.add(leader)
                wanted = {tp: FetchPartition(ANY_LEADER_EPOCH, self.positions[tp], cause) for tp in partitions}
                request = FetchRequest(CONSUMER, self._config.fetch_max_wait_ms, wanted)
                self._process.spawn(f"fetch from {leader}", self._ask(leader, request, cause))

    def _by_leader(self, partitions: Iterable[TopicPartition]) -> dict[BrokerId, list[TopicPartition]]:
        known = self._client.metadata.partitions if self._client.metadata else {}
        by_leader: dict[BrokerId, list[TopicPartition]] = {}
        for tp in sorted(partitions):
            leader = known[tp].leader if tp in known else None
            if leader is None:
                self.has_old_metadata = True
            else:
                by_leader.setdefault(leader, []).append(tp)
        return by_leader

    async def _ask(self, leader: BrokerId, request: FetchRequest, cause: int) -> None:
        response: FetchResponse | None = None
        try:
            response = await self._client.send_to(leader, request, cause, FETCH)
        except UNREACHABLE:
            await self._process.sleep_ms(self._config.retry_backoff_ms)
        self._inbox.put(FetchReply(leader, request, response))

    def take(self, fetched: FetchReply) -> dict[TopicPartition, int]:
        """Apply a reply. Return the number of records fetched of each partition whose position has not changed since."""
        self._under_way.discard(fetched.broker)
        if fetched.response is None:
            self.has_old_metadata = True
            return {}
        consumed: dict[TopicPartition, int] = {}
        for tp, found in fetched.response.partitions.items():
            if self.positions.get(tp) != fetched.request.partitions[tp].fetch_offset:
                continue  # given up meanwhile, or given up and assigned again
            if found.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                del self.positions[tp]
                self.out_of_range.add(tp)
            elif is_about_leadership(found.error):
                self.has_old_metadata = True
            elif found.error is ErrorCode.NONE and found.runs:
                end_offset = found.runs[-1].end_offset
                consumed[tp] = sum(run.count for run in found.runs)
                self.positions[tp] = end_offset
        return consumed

    # --- start positions

    async def reset(self, partitions: Iterable[TopicPartition], cause: int) -> Mapping[TopicPartition, int]:
        """Return the start offsets by auto.offset.reset, without partitions for which no leader has answered."""
        is_earliest = self._config.auto_offset_reset == "earliest"
        query = OffsetQuery(EARLIEST_TIMESTAMP if is_earliest else LATEST_TIMESTAMP)
        found: dict[TopicPartition, int] = {}
        for leader, led in sorted(self._by_leader(partitions).items()):
            request = ListOffsetsRequest(dict.fromkeys(led, query))
            try:
                response: ListOffsetsResponse = await self._client.send_to(leader, request, cause)
            except UNREACHABLE:
                self.has_old_metadata = True
                continue
            for tp, listed in response.partitions.items():
                if listed.error is ErrorCode.NONE:
                    found[tp] = listed.offset
                else:
                    self.has_old_metadata = True
        return found
