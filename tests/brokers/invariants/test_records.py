"""Reports of lost records, and cases in which their survival was never guaranteed."""

import json
from collections.abc import Mapping

import pytest

from kcsim.brokers.broker import Broker
from kcsim.brokers.invariants.allowed_data_loss import AllowedDataLoss
from kcsim.brokers.invariants.history import RunHistory
from kcsim.brokers.invariants.records import logs_agree_below_the_high_watermark
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.brokers.replication.follower_logs import LEADERS_LOG_START
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import (
    BrokerId,
    ControllerEpoch,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    TopicPartition,
    ZkVersion,
)
from tests.brokers.invariants.synthetic_cluster import STATE, TOPIC, SyntheticCluster, assignment, state

ORDERS_0 = TopicPartition("orders", 0)


class Records(SyntheticCluster):
    """A cluster in which records are lost."""

    def lose(self) -> int:
        """Let the ledger count 3 acknowledged records that are in no log."""
        counts = json.dumps({"sent": 12, "acknowledged": 10, "lost": 3})
        return self.append("scenario", EventKind.LEDGER, topic="orders", partition=0, data=counts)

    def cut(self, offset: int, high_watermark: int, rule: str = "leader epoch") -> int:
        cut = {"offset": offset, "high_watermark": high_watermark, "rule": rule, "detail": "writer 7..9 of epoch 0"}
        return self.append("broker-2", EventKind.RECORDS_TRUNCATED, topic="orders", partition=0, **cut)  # type: ignore[arg-type]

    def lose_disk(self, broker: int) -> None:
        self.append(f"broker-{broker}", EventKind.LOG_DIR_FAILED, broker_id=broker, path="/disk-1", count=1)

    def lost(self) -> list[str]:
        return self.says("no-acknowledged-record-is-lost")


def partition_state(*isr: int) -> PartitionState:
    """Return a state in which the first member of the ISR leads."""
    brokers = tuple(map(BrokerId, isr))
    return PartitionState(LeaderAndIsr(brokers[0], LeaderEpoch(0), brokers, ZkVersion(0)), ControllerEpoch(1))


@pytest.fixture
def cluster() -> Records:
    return Records()


def test_acknowledged_records_that_are_in_no_log_are_named(cluster: Records) -> None:
    seq = cluster.lose()
    assert cluster.lost() == [f"#{seq}: 3 of 10 acknowledged records of orders-0 are lost"]


def test_what_an_unclean_election_has_lost_was_not_promised(cluster: Records) -> None:
    cluster.elects_uncleanly(2, epoch=1)
    cluster.decides(state(leader=2, leader_epoch=1, isr=(2,)))
    cluster.lose()
    cluster.cut(7, high_watermark=10)
    assert cluster.lost() == cluster.says("nothing-committed-is-cut-off") == []


def test_an_unclean_election_whose_outcome_was_never_written_excuses_nothing(cluster: Records) -> None:
    cluster.elects_uncleanly(2, epoch=1)
    cluster.lose()
    assert len(cluster.lost()) == 1


def test_nor_does_one_of_an_earlier_topic_of_that_name(cluster: Records) -> None:
    cluster.elects_uncleanly(2, epoch=1)
    cluster.decides(state(leader=2, leader_epoch=1, isr=(2,)))
    cluster.gone(STATE)
    cluster.znode(STATE, state())
    cluster.lose()
    assert len(cluster.lost()) == 1


def test_a_topic_that_was_deleted_has_no_records_to_lose(cluster: Records) -> None:
    cluster.znode("/admin/delete_topics/orders")
    cluster.lose()
    assert cluster.lost() == []


def test_nor_has_one_whose_znodes_somebody_has_taken_away(cluster: Records) -> None:
    cluster.gone(STATE)
    cluster.gone(TOPIC)
    cluster.znode(TOPIC, assignment(1, 2, 3))
    cluster.znode(STATE, state())
    cluster.lose()
    assert cluster.lost() == []


@pytest.mark.parametrize("broker", [2, 3])
def test_a_disk_that_a_follower_loses_takes_nothing_away(cluster: Records, broker: int) -> None:
    cluster.lose_disk(broker)
    cluster.lose()
    assert len(cluster.lost()) == 1


def test_disks_do_that_all_members_of_an_isr_lose_one_after_the_other(cluster: Records) -> None:
    """The last of them stays in the ISR, with an empty log, and will lead again."""
    cluster.decides(state(leader=1, leader_epoch=1, isr=(1, 2)))
    cluster.lose_disk(2)
    cluster.decides(state(leader=1, leader_epoch=2, isr=(1,)))
    cluster.lose_disk(1)
    cluster.decides(state(leader=1, leader_epoch=3, isr=(1, 2)))
    cluster.lose()
    assert cluster.lost() == []


def test_a_disk_that_the_leader_loses_takes_away_what_followers_truncate_to_its_log(cluster: Records) -> None:
    cluster.lose_disk(1)
    cluster.lose()
    assert cluster.lost() == []


def test_so_does_the_disk_of_a_follower_that_is_elected_before_it_has_left_the_isr(cluster: Records) -> None:
    cluster.lose_disk(2)
    cluster.decides(state(leader=2, leader_epoch=1, isr=(2, 3)))
    cluster.lose()
    assert cluster.lost() == []


def test_a_follower_that_is_back_in_the_isr_has_all_again(cluster: Records) -> None:
    cluster.lose_disk(2)
    cluster.decides(state(leader=1, leader_epoch=1, isr=(1, 3)))
    cluster.decides(state(leader=1, leader_epoch=1, isr=(1, 2, 3)))
    cluster.decides(state(leader=2, leader_epoch=2, isr=(1, 2, 3)))
    cluster.lose()
    assert len(cluster.lost()) == 1


def test_a_replica_without_a_disk_that_joins_the_isr_by_an_earlier_fetch_counts_as_lost() -> None:
    losses, alone, both = AllowedDataLoss(), partition_state(1), partition_state(1, 2)
    losses.lost_disk(ORDERS_0, BrokerId(2), alone)
    losses.written(ORDERS_0, alone, both, without_log={BrokerId(2)})
    assert losses.disks == {ORDERS_0: {2}}
    assert ORDERS_0 not in losses


def test_a_replica_that_joins_the_isr_with_a_new_log_has_all_again() -> None:
    losses, alone, both = AllowedDataLoss(), partition_state(1), partition_state(1, 2)
    losses.lost_disk(ORDERS_0, BrokerId(2), alone)
    losses.written(ORDERS_0, alone, both, without_log=())
    assert losses.disks == {ORDERS_0: set()}


@pytest.mark.parametrize("has_new_log", [True, False])
def test_a_disk_whose_broker_is_back_in_the_isr_and_leads_is_lost_only_as_long_as_there_is_no_new_log(
    cluster: Records, has_new_log: bool
) -> None:
    disks = _Disks(1, 3)
    history = RunHistory(disks)
    cluster.lose_disk(2)
    cluster.decides(state(leader=1, leader_epoch=1, isr=(1, 3)))
    before = len(cluster.events)
    for event in cluster.events:
        history.apply(event)
    if has_new_log:
        disks.create_log(2)
    cluster.decides(state(leader=1, leader_epoch=1, isr=(1, 2, 3)))
    cluster.decides(state(leader=2, leader_epoch=2, isr=(1, 2, 3)))
    for event in cluster.events[before:]:
        history.apply(event)
    assert (ORDERS_0 in history.losses) is not has_new_log


class _Disks:
    """A cluster of which only the logs of orders-0 can be inspected."""

    broker_names = ()

    def __init__(self, *brokers: int) -> None:
        self._logs = {BrokerId(broker): ReplicaLog(ORDERS_0) for broker in brokers}

    def create_log(self, broker: int) -> None:
        self._logs[BrokerId(broker)] = ReplicaLog(ORDERS_0)

    def broker(self, name: str) -> Broker:
        raise AssertionError(f"{name} cannot be inspected")

    def replica_logs(self, tp: TopicPartition) -> Mapping[BrokerId, ReplicaLog]:
        return self._logs


def test_what_a_controller_hears_of_a_disk_is_not_a_disk_of_its_own(cluster: Records) -> None:
    cluster.append("broker-1", EventKind.LOG_DIR_FAILED, broker_id=2, count=1, detail="replicas of orders-0 on 2")
    cluster.lose()
    assert len(cluster.lost()) == 1


def test_a_follower_that_cuts_off_what_it_knew_to_be_committed_is_named(cluster: Records) -> None:
    seq = cluster.cut(7, high_watermark=10)
    assert cluster.says("nothing-committed-is-cut-off") == [
        f"#{seq}: broker-2 cuts orders-0 at 7, though committed up to 10: writer 7..9 of epoch 0"
    ]


def test_one_that_cuts_off_what_was_not_committed_is_not(cluster: Records) -> None:
    cluster.cut(10, high_watermark=10)
    assert cluster.says("nothing-committed-is-cut-off") == []


def test_nor_is_one_that_starts_anew_where_retention_has_left_the_leader_something(cluster: Records) -> None:
    cluster.cut(0, high_watermark=10, rule=LEADERS_LOG_START)
    assert cluster.says("nothing-committed-is-cut-off") == []


@pytest.mark.parametrize(
    ("committed", "named"), [(4, []), (5, ["orders-0 is committed up to 5 on 1 and 3, but they differ from 4 on"])]
)
def test_two_logs_that_hold_different_records_for_committed_are_named(
    cluster: Records, committed: int, named: list[str]
) -> None:
    """What a leader has not committed yet may still be replaced in a follower's log."""
    disks = _Disks(1, 2, 3)
    history = RunHistory(disks)
    for event in cluster.events:
        history.apply(event)
    for broker, last_writer in ((1, "w"), (2, "w"), (3, "another")):
        log = disks.replica_logs(ORDERS_0)[BrokerId(broker)]
        runs = [Run(0, 4, LeaderEpoch(0), "w", 0, -1, 1), Run(0, 1, LeaderEpoch(0), last_writer, 4, -1, 1)]
        log.append_as_leader(runs, LeaderEpoch(0), 0)
        log.high_watermark = committed
    assert list(logs_agree_below_the_high_watermark(history)) == named
