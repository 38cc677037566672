"""A follower's progress with each partition of one leader: its next request, and its handling of the responses.

A partition is truncated until it agrees with the leader's log, then fetched. From protocol version 2.7 on it is fetched at
once: the fetch names the epoch of the log's last record, and the response says where the logs diverge (KIP-595). If the
fetch offset is outside the leader's log, the follower first asks for the end of the leader's log, then for its start if
necessary. Failed requests are tried again after a delay.

Source: Kafka 2.8, AbstractFetcherThread, PartitionFetchState; docs/kafka/requests.md 7.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

import msgspec
from msgspec.structs import replace

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.log.log_segments import RecordBatchTooLargeError
from kcsim.brokers.log.replica_log import UnexpectedAppendOffsetError
from kcsim.brokers.replication.follower_logs import FollowerLogs
from kcsim.brokers.replication.replica_request_versions import replica_request_versions
from kcsim.brokers.requests import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    UNDEFINED_EPOCH,
    EpochQuery,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, TopicPartition

FetcherRequest = FetchRequest | OffsetsForLeaderEpochRequest | ListOffsetsRequest
FetcherResponse = FetchResponse | OffsetsForLeaderEpochResponse | ListOffsetsResponse
UNFIT = (UnexpectedAppendOffsetError, RecordBatchTooLargeError)


class FetchStage(Enum):
    """The kinds of queries about a partition, in the order in which they are sent."""

    TRUNCATING = "where the leader's records end of the latest epoch here"
    LEADERS_END = "where the leader's log ends"
    LEADERS_START = "where the leader's log begins"
    FETCHING = "records"


class FetchOutcome(msgspec.Struct):
    """The result of a response: the number of appended records, and the failed partitions by reason, each with its cause."""

    records: int = 0
    failed: dict[str, dict[TopicPartition, int]] = msgspec.field(default_factory=dict)


class FetchProgress:
    """The partitions that are fetched from one leader.

    Attributes:
        partitions: the state in which they are fetched next; read only.
    """

    def __init__(self, broker_id: BrokerId, leader: BrokerId, config: BrokerConfig, logs: FollowerLogs) -> None:
        self.partitions: dict[TopicPartition, FetchPartition] = {}
        self._broker_id = broker_id
        self._leader = leader
        self._config = config
        self._logs = logs
        self._truncates_on_fetch = config.controller.capabilities.truncation_on_fetch
        self._versions = replica_request_versions(config.controller.inter_broker_protocol_version)
        self._stages: dict[TopicPartition, FetchStage] = {}  # of the partitions that are not in FETCHING
        self._delayed_until_ms: dict[TopicPartition, int] = {}
        self._request: FetcherRequest | None = None  # None: to be created again

    def add(self, partitions: Mapping[TopicPartition, FetchPartition], from_ms: int) -> None:
        """Fetch these partitions, from that time on; their earlier state is dropped."""
        self.partitions.update(partitions)
        self._stages.update(dict.fromkeys(partitions, FetchStage.TRUNCATING))
        self._delay(partitions, from_ms)

    def remove(self, partitions: Mapping[TopicPartition, object]) -> bool:
        """Remove partitions. Return whether any of them was fetched. Iterates over the smaller of the two sets."""
        here: Mapping[TopicPartition, object] = self.partitions
        fewer, more = (partitions, here) if len(partitions) <= len(here) else (here, partitions)
        gone = [tp for tp in fewer if tp in more]
        for tp in gone:
            self._drop(tp)
        return bool(gone)

    def _drop(self, tp: TopicPartition) -> None:
        del self.partitions[tp]
        self._stages.pop(tp, None)
        self._delayed_until_ms.pop(tp, None)
        self._ask_no_more((tp,))

    def _ask_no_more(self, partitions: Iterable[TopicPartition]) -> None:
        """Discard the current request if it contains any of these partitions."""
        requested = self._request.partitions if self._request is not None else {}
        if any(tp in requested for tp in partitions):
            self._request = None

    def _delay(self, partitions: Collection[TopicPartition], until_ms: int) -> None:
        self._delayed_until_ms.update(dict.fromkeys(partitions, until_ms))
        self._ask_no_more(partitions)

    # --- requests

    def next_due_ms(self) -> int | None:
        """Return the time when the next delayed partition is due."""
        return min(self._delayed_until_ms.values()) if self._delayed_until_ms else None

    def next_request(self, now_ms: int) -> FetcherRequest | None:
        """Return the request to send now.

        It is the same object as before if nothing has changed, so that the leader need not process it again.
        """
        due = [tp for tp, until_ms in self._delayed_until_ms.items() if until_ms <= now_ms]
        for tp in due:
            del self._delayed_until_ms[tp]
        if due or self._request is None:
            self._request = self._make_request()
        return self._request

    def sent_anew(self, request: FetchRequest) -> FetchRequest:
        """Replace the current request by this form of it."""
        self._request = request
        return request

    def _make_request(self) -> FetcherRequest | None:
        for tp in self._at(FetchStage.TRUNCATING):
            if self._logs.latest_epoch(tp) is None:
                self._logs.truncate_to_high_watermark(tp, self._leader, self.partitions[tp].cause)
                self._fetch_on(tp)
            elif self._truncates_on_fetch:
                self._fetch_on(tp)
        if truncating := self._at(FetchStage.TRUNCATING):
            asked = {tp: self._epoch_query(tp) for tp in truncating}
            return OffsetsForLeaderEpochRequest(self._broker_id, asked, self._versions.offsets_for_leader_epoch)
        for stage, timestamp in ((FetchStage.LEADERS_END, LATEST_TIMESTAMP), (FetchStage.LEADERS_START, EARLIEST_TIMESTAMP)):
            if lost := self._at(stage):
                queries = {tp: OffsetQuery(timestamp, self.partitions[tp].leader_epoch) for tp in lost}
                return ListOffsetsRequest(queries, self._broker_id, self._versions.list_offsets)
        wanted = {tp: fetch for tp, fetch in self.partitions.items() if tp not in self._delayed_until_ms}
        return self._fetch_request(wanted) if wanted else None

    def _at(self, stage: FetchStage) -> list[TopicPartition]:
        return [tp for tp, at in self._stages.items() if at is stage and tp not in self._delayed_until_ms]

    def _epoch_query(self, tp: TopicPartition) -> EpochQuery:
        latest = self._logs.latest_epoch(tp)
        assert latest is not None
        return EpochQuery(self.partitions[tp].leader_epoch, latest)

    def _fetch_request(self, wanted: Mapping[TopicPartition, FetchPartition]) -> FetchRequest:
        config = self._config
        is_any_record_there = any(fetch.fetch_offset for fetch in wanted.values())
        longest_ms = config.replica_socket_timeout_ms // 2
        return FetchRequest(
            self._broker_id,
            min(longest_ms, config.replica_fetch_wait_max_ms) if is_any_record_there else longest_ms,
            wanted,
            config.replica_fetch_min_bytes,
            config.replica_fetch_response_max_bytes,
            version=self._versions.fetch,
        )

    def _fetch_on(self, tp: TopicPartition) -> None:
        """Fetch from the log's end, from the next request on; the partition moves behind the others, as in Kafka."""
        log, fetch = self._logs.log(tp), self.partitions.pop(tp)
        latest = self._logs.latest_epoch(tp) if self._truncates_on_fetch else None
        self.partitions[tp] = replace(
            fetch,
            fetch_offset=log.log_end_offset,
            log_start_offset=log.log_start_offset,
            max_bytes=self._config.replica_fetch_max_bytes,
            last_fetched_epoch=UNDEFINED_EPOCH if latest is None else latest,
        )
        self._stages.pop(tp, None)
        self._ask_no_more((tp,))

    def _report_log_start(self, tp: TopicPartition) -> None:
        """Name the log's start in the next fetch, if the leader does not know it."""
        fetch, start = self.partitions[tp], self._logs.log(tp).log_start_offset
        if fetch.log_start_offset != start:
            self.partitions[tp] = replace(fetch, log_start_offset=start)
            self._request = None

    # --- responses

    def unanswered(self, request: FetcherRequest, retry_at_ms: int) -> None:
        """Retry later the unchanged partitions of a request whose outcome is unknown."""
        self._delay([tp for tp in request.partitions if self._is_unchanged(tp, request)], retry_at_ms)

    def _is_unchanged(self, tp: TopicPartition, request: FetcherRequest) -> bool:
        """Return whether a response applies to a partition: one that was added again meanwhile has another leader epoch."""
        if tp not in self.partitions:
            return False
        if isinstance(request, FetchRequest):
            return self.partitions[tp] is request.partitions[tp]
        return self.partitions[tp].leader_epoch == request.partitions[tp].current_leader_epoch

    def process(
        self, request: FetcherRequest, response: FetcherResponse, at_most: int | None, retry_at_ms: int
    ) -> FetchOutcome:
        """Handle a response.

        Args:
            at_most: how many records may be appended; None: all.
        """
        outcome = FetchOutcome()
        refused = {
            tp: part.error for tp, part in response.partitions.items() if part.error and self._is_unchanged(tp, request)
        }
        for tp, error in refused.items():
            self._refused(tp, error, retry_at_ms, outcome)
        answered = [tp for tp, part in response.partitions.items() if not part.error and self._is_unchanged(tp, request)]
        match response:
            case FetchResponse():
                self._append(response, answered, at_most, outcome)
            case OffsetsForLeaderEpochResponse():
                self._truncate(response, answered)
            case ListOffsetsResponse():
                self._find_range(response, answered)
        return outcome

    def _refused(self, tp: TopicPartition, error: ErrorCode, retry_at_ms: int, outcome: FetchOutcome) -> None:
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            self._fail(tp, error.name, outcome)
        elif error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._stages[tp] = FetchStage.LEADERS_END
            self._ask_no_more((tp,))
        else:
            self._delay((tp,), retry_at_ms)

    def _fail(self, tp: TopicPartition, why: str, outcome: FetchOutcome) -> None:
        outcome.failed.setdefault(why, {})[tp] = self.partitions[tp].cause
        self._drop(tp)

    def _append(
        self, response: FetchResponse, answered: Iterable[TopicPartition], at_most: int | None, outcome: FetchOutcome
    ) -> None:
        for tp in answered:
            fetched, left = response.partitions[tp], None if at_most is None else at_most - outcome.records
            if fetched.diverging is not None:
                self._logs.truncate_by_epoch(tp, self._leader, fetched.diverging, self.partitions[tp].cause)
                self._fetch_on(tp)
                continue
            try:
                outcome.records += self._logs.append(tp, fetched, left, self.partitions[tp].cause)
            except UNFIT as error:
                self._fail(tp, type(error).__name__, outcome)
            else:
                if fetched.runs:
                    self._fetch_on(tp)  # even if no record was appended: the leader must process the partition again
                else:
                    self._report_log_start(tp)

    def _truncate(self, response: OffsetsForLeaderEpochResponse, answered: Iterable[TopicPartition]) -> None:
        for tp in answered:
            if self._logs.truncate_by_epoch(tp, self._leader, response.partitions[tp], self.partitions[tp].cause):
                self._fetch_on(tp)
        self._request = None

    def _find_range(self, response: ListOffsetsResponse, answered: Iterable[TopicPartition]) -> None:
        for tp in answered:
            offset, cause = response.partitions[tp].offset, self.partitions[tp].cause
            if self._stages[tp] is FetchStage.LEADERS_START:
                self._logs.continue_from_leaders_start(tp, self._leader, offset, cause)
                self._fetch_on(tp)
            elif self._logs.truncate_to_leaders_end(tp, self._leader, offset, cause):
                self._fetch_on(tp)
            else:
                self._stages[tp] = FetchStage.LEADERS_START
        self._request = None
