"""Which events explain that records of real clients are lost, or in a log twice."""

from kcsim.brokers.clients.batch_copies import BatchCopy
from kcsim.brokers.cluster.record_fates import RecordFate, RecordHistory
from kcsim.brokers.log.intervals import IntervalSet
from kcsim.brokers.records import Run
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.vocabulary import LeaderEpoch, TopicPartition
from tests.eventlog.synthetic_log import SyntheticLog

TP = TopicPartition("orders", 0)
E0, E1 = LeaderEpoch(0), LeaderEpoch(1)
ADDRESS = "127.0.0.1:4711"
WRITER = f"shop@{ADDRESS}"


class History(SyntheticLog):
    """What happened to the partition."""

    def _happened(self, node: str, kind: EventKind, fields: EventFields) -> int:
        fields["topic"], fields["partition"] = TP
        return self.append(node, kind, **fields)

    def appended(self, node: str, epoch: int, offset: int, end: int) -> int:
        fields = EventFields(leader_epoch=epoch, offset=offset, end_offset=end, writer=WRITER)
        return self._happened(node, EventKind.RECORDS_APPENDED, fields)

    def truncated(self, node: str, offset: int, end: int) -> int:
        return self._happened(node, EventKind.RECORDS_TRUNCATED, EventFields(offset=offset, end_offset=end))

    def elected(self, epoch: int) -> int:
        return self._happened("broker-9", EventKind.LEADER_ELECTION, EventFields(leader_epoch=epoch))

    def refused(self, address: str = ADDRESS) -> int:
        return self._happened("broker-1", EventKind.CLIENT_ERROR, EventFields(target=address))

    def lost(self, epoch: LeaderEpoch, start: int, end: int) -> RecordFate:
        (fate,) = RecordHistory(self.events, [TP]).lost(TP, {epoch: IntervalSet.of([(start, end)])})
        return fate

    def why_twice(self, first: int, again: int) -> int:
        runs = [Run(offset, 2, E0, WRITER, offset, 0, 1, batch=b"x") for offset in (first, again)]
        (fate,) = RecordHistory(self.events, [TP]).duplicated(TP, [BatchCopy(*runs)])
        assert fate.offsets == (again, again + 2)
        return fate.cause


def test_records_are_lost_when_their_leader_truncates_them() -> None:
    log = History()
    log.appended("broker-1", 0, 0, 5)
    log.elected(1)
    log.truncated("broker-3", 0, 5)  # a copy of them
    truncated = log.truncated("broker-1", 0, 5)
    assert log.lost(E0, 0, 5) == RecordFate(E0, (0, 5), (WRITER,), truncated)


def test_each_epochs_records_have_a_truncation_of_their_own() -> None:
    """The leader of epoch 1 wrote at the same offsets, before the former leader came back; then it lost them, too."""
    log = History()
    log.appended("broker-1", 0, 0, 5)
    log.elected(1)
    log.appended("broker-2", 1, 0, 5)
    first = log.truncated("broker-1", 0, 5)
    log.elected(2)
    second = log.truncated("broker-2", 0, 5)
    assert log.lost(E0, 0, 5).cause == first
    assert log.lost(E1, 0, 5).cause == second


def test_records_on_a_replica_that_never_came_back_are_lost_with_the_next_election() -> None:
    log = History()
    log.elected(0)
    log.appended("broker-1", 0, 0, 5)
    elected = log.elected(1)
    log.elected(2)
    assert log.lost(E0, 0, 5).cause == elected


def test_a_truncation_elsewhere_in_the_log_explains_nothing() -> None:
    log = History()
    log.appended("broker-1", 0, 0, 5)
    log.truncated("broker-1", 5, 9)
    elected = log.elected(1)
    assert log.lost(E0, 0, 5).cause == elected


def test_a_batch_is_sent_again_because_of_the_last_error_before() -> None:
    log = History()
    log.appended("broker-1", 0, 0, 2)
    log.refused()
    refused = log.refused()
    log.refused("127.0.0.1:1")
    log.appended("broker-1", 0, 2, 4)
    assert log.why_twice(0, 2) == refused


def test_a_batch_is_sent_again_because_its_connection_ended() -> None:
    log = History()
    log.appended("broker-1", 0, 0, 2)
    ended = log.append("broker-1", EventKind.CLIENT_DISCONNECTED, target=ADDRESS)
    log.appended("broker-2", 0, 2, 4)
    assert log.why_twice(0, 2) == ended


def test_the_error_may_be_one_of_those_that_are_summed_up_a_little_later() -> None:
    log = History()
    log.refused()
    log.appended("broker-1", 0, 0, 2)
    log.appended("broker-1", 0, 2, 4)
    summed_up = log.refused()
    assert log.why_twice(0, 2) == summed_up


def test_without_an_error_the_second_append_is_all_that_is_known() -> None:
    log = History()
    log.refused()
    log.appended("broker-1", 0, 0, 2)
    again = log.appended("broker-1", 0, 2, 4)
    assert log.why_twice(0, 2) == again
