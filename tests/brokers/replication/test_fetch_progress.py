"""A follower's processing of its leader's answers. Source: docs/kafka/requests.md 7.1 to 7.3, 13.2, 13.3."""

from collections.abc import Sequence

import pytest

from kcsim.brokers.config import PROTOCOL_VERSION, BrokerConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.log.retention_task import RetentionTask
from kcsim.brokers.records import Run
from kcsim.brokers.replication.fetch_progress import FetcherRequest, FetchOutcome, FetchProgress
from kcsim.brokers.replication.follower_logs import FollowerLogs
from kcsim.brokers.replication.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.replication.log_events import LogEvents
from kcsim.brokers.requests import (
    DivergingEpoch,
    EpochEnd,
    EpochQuery,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import LeaderEpoch
from tests.brokers.broker_bench import B2, EPOCH_MS, ORDERS_0, ORDERS_1, refused
from tests.brokers.replication.test_fetcher import CAUSE, Follower, written

NONE = ErrorCode.NONE


AT_2_6 = BrokerConfig.of({PROTOCOL_VERSION: "2.6"})
AT_2_7 = BrokerConfig.of({PROTOCOL_VERSION: "2.7"})


class NoCheckpoint(HighWatermarkCheckpoint):
    """A checkpoint that writes nothing: time stands still."""

    def moved(self, log: ReplicaLog) -> None: ...


class NoRetention(RetentionTask):
    def changed(self, log: ReplicaLog, cause: Cause = None) -> None: ...


class Progress(Follower):
    """Broker 1 follows broker 2 in orders-0, in leader epoch 5; the log is as given, time stands still."""

    def __init__(self, *runs: Run, high_watermark: int = 0, config: BrokerConfig = AT_2_6) -> None:
        super().__init__(BrokerConfig(replica_fetch_backoff_ms=100))
        self.of_0 = self.replica_log(ORDERS_0)
        for run in runs:
            self.of_0.append_as_follower([run], EPOCH_MS)
        self.of_0.high_watermark = high_watermark
        sink = self.log.sink("broker-1")
        retention = NoRetention(self.runtime, Disk(["/logs"]), sink, EPOCH_MS, 300_000)
        checkpoint = NoCheckpoint(self.runtime, 5_000)
        self.logs = FollowerLogs(
            lambda: EPOCH_MS + self.runtime.now_ms(), self.hosted, LogEvents(sink), checkpoint, retention
        )
        self.progress = FetchProgress(B2, B2, config, self.logs)
        self.progress.add({ORDERS_0: FetchPartition(LeaderEpoch(5), high_watermark, CAUSE)}, from_ms=0)

    def asks(self) -> FetcherRequest | None:
        return self.progress.next_request(0)

    def is_asked_for_epoch(self, epoch: int) -> bool:
        expected = {ORDERS_0: EpochQuery(LeaderEpoch(5), LeaderEpoch(epoch))}
        return self.asks() == OffsetsForLeaderEpochRequest(B2, expected, version=3)

    def fetches_from(self) -> int:
        return self.fetches_after()[1]

    def fetches_after(self) -> tuple[int, int]:
        """Return the last fetched epoch and the offset of the fetch that is requested."""
        request = self.asks()
        assert isinstance(request, FetchRequest), request
        return request.partitions[ORDERS_0].last_fetched_epoch, request.partitions[ORDERS_0].fetch_offset

    def hears_of_epoch(self, epoch: int, end_offset: int, error: ErrorCode = NONE) -> FetchOutcome:
        return self._hears(OffsetsForLeaderEpochResponse({ORDERS_0: EpochEnd(error, LeaderEpoch(epoch), end_offset)}))

    def hears_of_divergence(self, epoch: int, end_offset: int, high_watermark: int = 0) -> FetchOutcome:
        diverging = DivergingEpoch(LeaderEpoch(epoch), end_offset)
        return self._hears(FetchResponse({ORDERS_0: FetchedPartition(NONE, high_watermark, 0, (), diverging)}))

    def hears_of_offset(self, offset: int) -> FetchOutcome:
        return self._hears(ListOffsetsResponse({ORDERS_0: ListedOffset(NONE, offset, LeaderEpoch(5))}))

    def hears_error(self, error: ErrorCode) -> FetchOutcome:
        return self._hears(refused({ORDERS_0: error}))

    def gets(self, *runs: Run, high_watermark: int = 0, log_start: int = 0, at_most: int | None = None) -> FetchOutcome:
        return self._hears(FetchResponse({ORDERS_0: FetchedPartition(NONE, high_watermark, log_start, runs)}), at_most)

    def _hears(
        self, response: FetchResponse | OffsetsForLeaderEpochResponse | ListOffsetsResponse, at_most: int | None = None
    ) -> FetchOutcome:
        request = self.asks()
        assert request is not None
        return self.progress.process(request, response, at_most, retry_at_ms=100)

    def truncations(self) -> list[Event]:
        return [event for event in self.log.events if event.kind is EventKind.RECORDS_TRUNCATED]


def writers(log: ReplicaLog) -> Sequence[tuple[str, int, int]]:
    return [(run.writer, run.base_offset, run.end_offset) for run in log.runs]


# --- truncation


def test_a_log_without_epochs_is_fetched_at_once() -> None:
    assert Progress().fetches_from() == 0


def test_a_log_with_epochs_is_first_compared_to_the_leaders() -> None:
    follower = Progress(written(10, epoch=3), high_watermark=4)
    assert follower.is_asked_for_epoch(3)
    follower.hears_of_epoch(3, 10)
    assert follower.fetches_from() == 10
    assert follower.truncations() == []


def test_what_the_leader_does_not_have_is_cut_and_reported() -> None:
    follower = Progress(written(6, epoch=3), written(4, epoch=3, offset=6, writer="b"), high_watermark=7)
    follower.hears_of_epoch(3, 5)
    assert follower.fetches_from() == 5
    assert (follower.of_0.log_end_offset, follower.of_0.high_watermark) == (5, 5)
    (cut,) = follower.truncations()
    assert (cut.offset, cut.end_offset, cut.count, cut.high_watermark, cut.leader) == (5, 10, 5, 7, 2)
    assert cut.detail == "a 5 of epoch 3, b 0..3 of epoch 3; 2 of them had been committed"
    assert cut.rule == "leader epoch"


def test_the_worked_example_of_an_unclean_election() -> None:
    """13.3: (0@0),(1@10), log end 15, high watermark 14; the leader has (0@0),(2@12) and ends at 14."""
    follower = Progress(written(10, epoch=0), written(5, epoch=1, offset=10, sequence=10), high_watermark=14)
    assert follower.is_asked_for_epoch(1)
    follower.hears_of_epoch(0, 12)
    assert follower.fetches_from() == 10
    assert (follower.of_0.log_end_offset, follower.of_0.high_watermark) == (10, 10)
    assert [tuple(entry) for entry in follower.of_0.epochs.entries] == [(0, 0)]
    follower.gets(written(2, 0, 10, "b"), written(2, 2, 12, "c"), high_watermark=9)
    assert writers(follower.of_0) == [("a", 0, 10), ("b", 10, 12), ("c", 12, 14)]
    assert follower.of_0.high_watermark == 9
    assert [event.count for event in follower.truncations()] == [5]


def test_an_epoch_that_was_never_seen_here_is_asked_about_again() -> None:
    """KIP-279: the leader changes twice in quick succession; epochs 1 and 3 here, 0 and 2 at the leader."""
    follower = Progress(written(5, epoch=0), written(5, epoch=1, offset=5), written(5, epoch=3, offset=10))
    assert follower.is_asked_for_epoch(3)
    follower.hears_of_epoch(2, 20)
    assert follower.of_0.log_end_offset == 10
    assert follower.is_asked_for_epoch(1)
    follower.hears_of_epoch(0, 7)
    assert follower.fetches_from() == 5


def test_a_leader_that_does_not_know_leaves_what_is_committed() -> None:
    follower = Progress(written(10, epoch=7), high_watermark=4)
    follower.hears_of_epoch(-1, -1)
    assert follower.fetches_from() == 4


def test_a_refused_question_is_asked_again_later() -> None:
    follower = Progress(written(10, epoch=3))
    follower.hears_of_epoch(-1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert follower.asks() is None
    assert follower.progress.next_due_ms() == 100
    assert isinstance(follower.progress.next_request(100), OffsetsForLeaderEpochRequest)


def test_a_fenced_question_ends_it() -> None:
    follower = Progress(written(10, epoch=3))
    outcome = follower.hears_of_epoch(-1, -1, ErrorCode.FENCED_LEADER_EPOCH)
    assert outcome.failed == {"FENCED_LEADER_EPOCH": {ORDERS_0: CAUSE}}
    assert follower.asks() is None


# --- records


def test_records_are_appended_and_committed_as_far_as_both_have_them() -> None:
    """7.1: HW := min(leader's, own log end)."""
    follower = Progress()
    assert follower.gets(written(5, epoch=4), high_watermark=3).records == 5
    assert (follower.of_0.log_end_offset, follower.of_0.high_watermark) == (5, 3)
    assert follower.fetches_from() == 5
    follower.gets(high_watermark=9)
    assert follower.of_0.high_watermark == 5


def test_the_high_watermark_follows_the_leaders_back_too() -> None:
    """This happens with a leader that knows less than its predecessor did."""
    follower = Progress(written(5, epoch=4), high_watermark=5)
    follower.hears_of_epoch(4, 5)
    follower.gets(high_watermark=2)
    assert follower.of_0.high_watermark == 2


def test_the_log_begins_where_the_leaders_does() -> None:
    follower = Progress(written(5, epoch=4), high_watermark=5)
    follower.hears_of_epoch(4, 5)
    follower.gets(high_watermark=5, log_start=3)
    assert follower.of_0.log_start_offset == 3


def test_an_answer_without_records_leaves_the_request_as_it_is() -> None:
    follower = Progress()
    before = follower.asks()
    follower.gets(high_watermark=0)
    assert follower.asks() is before


def test_records_that_do_not_continue_the_log_are_refused_and_the_partition_given_up() -> None:
    follower = Progress()
    outcome = follower.gets(written(5, epoch=4, offset=7))
    assert outcome.failed == {"UnexpectedAppendOffsetError": {ORDERS_0: CAUSE}}
    assert (follower.of_0.log_end_offset, follower.asks()) == (0, None)


def test_no_more_records_are_taken_than_may_be() -> None:
    follower = Progress()
    assert follower.gets(written(5), written(5, offset=5, writer="b"), high_watermark=10, at_most=7).records == 7
    assert (follower.of_0.log_end_offset, follower.of_0.high_watermark) == (7, 7)
    assert follower.fetches_from() == 7


def test_what_was_not_taken_is_asked_for_anew() -> None:
    """The request is another object, which shows the leader that it has to check the partition again."""
    follower = Progress()
    before = follower.asks()
    assert follower.gets(written(5), at_most=0).records == 0
    assert follower.fetches_from() == 0
    assert follower.asks() is not before


# --- truncation by the response to a fetch: protocol version 2.7


def test_a_log_with_epochs_is_fetched_at_once_and_the_fetch_names_its_last_epoch() -> None:
    """Source: KIP-595; Kafka 2.8, AbstractFetcherThread.partitionFetchState."""
    follower = Progress(written(10, epoch=3), high_watermark=4, config=AT_2_7)
    assert follower.fetches_after() == (3, 10)
    follower.gets(written(5, epoch=5, offset=10))
    assert follower.fetches_after() == (5, 15)
    assert follower.truncations() == []


def test_before_2_7_and_without_epochs_the_logs_are_not_compared_by_a_fetch() -> None:
    before = Progress(written(10, epoch=3), high_watermark=4)
    before.hears_of_epoch(3, 10)
    assert before.fetches_after() == (-1, 10)
    assert Progress(config=AT_2_7).fetches_after() == (-1, 0)


def test_a_response_that_names_a_divergence_truncates_and_nothing_of_it_is_taken_over() -> None:
    """Source: Kafka 2.8, AbstractFetcherThread.processFetchRequest."""
    runs = written(6, epoch=3), written(4, epoch=3, offset=6, writer="b")
    follower = Progress(*runs, high_watermark=4, config=AT_2_7)
    follower.hears_of_divergence(3, 5, high_watermark=5)
    assert follower.fetches_after() == (3, 5)
    assert (follower.of_0.log_end_offset, follower.of_0.high_watermark) == (5, 4)
    (cut,) = follower.truncations()
    assert (cut.offset, cut.count, cut.rule) == (5, 5, "leader epoch")
    assert cut.inputs == "fetched after epoch 3; the leader: epoch 3 ends at 5; here epoch 3 ends at 10"


def test_the_worked_example_of_an_unclean_election_takes_two_fetches() -> None:
    """13.3: (0@0),(1@10), log end 15; the leader has (0@0),(2@12). The second fetch finds the logs to agree."""
    runs = written(10, epoch=0), written(5, epoch=1, offset=10, sequence=10)
    follower = Progress(*runs, high_watermark=14, config=AT_2_7)
    assert follower.fetches_after() == (1, 15)
    follower.hears_of_divergence(0, 12)
    assert follower.fetches_after() == (0, 10)
    assert follower.of_0.high_watermark == 10


def test_an_epoch_without_records_is_forgotten_when_the_leader_does_not_know_it() -> None:
    """A former leader has the start of its epoch, at its log end: the logs agree, and the next fetch says so."""
    follower = Progress(written(10, epoch=3), config=AT_2_7)
    follower.of_0.epochs.assign(LeaderEpoch(4), 10)
    assert follower.fetches_after() == (4, 10)
    follower.hears_of_divergence(3, 12)
    assert follower.fetches_after() == (3, 10)
    assert follower.truncations() == []


# --- out of range


def test_a_log_longer_than_the_leaders_is_cut_to_it() -> None:
    """7.3: the leader was elected uncleanly, and knows nothing of the follower's epoch."""
    follower = Progress(written(10, epoch=3), high_watermark=10)
    follower.hears_of_epoch(3, 10)
    follower.hears_error(ErrorCode.OFFSET_OUT_OF_RANGE)
    assert follower.asks() == ListOffsetsRequest({ORDERS_0: OffsetQuery(-1, LeaderEpoch(5))}, B2, version=5)
    follower.hears_of_offset(6)
    assert follower.fetches_from() == 6
    (cut,) = follower.truncations()
    assert (cut.count, cut.rule) == (4, "leader's log end")


@pytest.mark.parametrize(
    ("leaders_start", "log_start", "log_end"), [pytest.param(20, 20, 20, id="beyond"), pytest.param(4, 0, 10, id="within")]
)
def test_a_log_that_ends_before_the_leaders_begins_is_begun_anew(leaders_start: int, log_start: int, log_end: int) -> None:
    """7.3; otherwise the follower continues where its log ends."""
    follower = Progress(written(10, epoch=3), high_watermark=10)
    follower.hears_of_epoch(3, 10)
    follower.hears_error(ErrorCode.OFFSET_OUT_OF_RANGE)
    follower.hears_of_offset(30)
    assert follower.asks() == ListOffsetsRequest({ORDERS_0: OffsetQuery(-2, LeaderEpoch(5))}, B2, version=5)
    follower.hears_of_offset(leaders_start)
    assert follower.fetches_from() == log_end
    assert follower.of_0.log_start_offset == log_start


def test_partitions_that_are_fetched_wait_while_others_are_compared() -> None:
    follower = Progress(written(10, epoch=3))
    follower.progress.add({ORDERS_1: FetchPartition(LeaderEpoch(5), 0, CAUSE)}, from_ms=0)
    assert follower.is_asked_for_epoch(3)
    follower.hears_of_epoch(3, 10)
    request = follower.asks()
    assert isinstance(request, FetchRequest)
    assert {tp: fetch.fetch_offset for tp, fetch in request.partitions.items()} == {ORDERS_1: 0, ORDERS_0: 10}


def test_of_a_partition_that_is_removed_while_it_is_delayed_nothing_is_left_to_wait_for() -> None:
    follower = Progress()
    follower.hears_error(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert (follower.asks(), follower.progress.next_due_ms()) == (None, 100)
    assert follower.progress.remove({ORDERS_0: None})
    assert (follower.progress.partitions, follower.progress.next_due_ms(), follower.asks()) == ({}, None, None)
    assert not follower.progress.remove({ORDERS_0: None})
