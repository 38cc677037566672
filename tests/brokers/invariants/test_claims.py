"""Each invariant reports nothing about a correct run, and names what breaks it.

The log is synthetic: a partition with replicas 1, 2 and 3 on three brokers, broker 1 the controller in epoch 1 and the
leader.
"""

import pytest

from kcsim.brokers.invariants import AFTER_RECOVERY, NOT_PROMISED, SAFETY, violations
from kcsim.brokers.invariants.history import RunHistory
from kcsim.eventlog.events import EventKind
from tests.brokers.invariants.synthetic_cluster import STATE, TOPIC, SyntheticCluster, assignment, state
from tests.eventlog.synthetic_log import SyntheticLog


@pytest.fixture
def cluster() -> SyntheticCluster:
    return SyntheticCluster()


def test_nothing_is_reported_against_a_run_as_it_should_be(cluster: SyntheticCluster) -> None:
    assert violations(cluster.events, [*AFTER_RECOVERY, *NOT_PROMISED]) == []


def test_nor_against_a_clean_change_of_leader_and_controller(cluster: SyntheticCluster) -> None:
    cluster.dies(1)
    cluster.gone("/controller")
    cluster.znode("/controller", '{"version":1,"brokerid":2,"timestamp":"0"}', ephemeral=True)
    cluster.won(2, epoch=2)
    cluster.decides(state(leader=-1, leader_epoch=1, isr=(2, 3), controller_epoch=2))
    cluster.decides(state(leader=2, leader_epoch=2, isr=(2, 3), controller_epoch=2))
    cluster.leads(2, epoch=2)
    assert violations(cluster.events, [*AFTER_RECOVERY, *NOT_PROMISED]) == [
        "every-replica-is-in-sync: orders-0 has ISR [2, 3] of [1, 2, 3]"
    ]


def test_each_sentence_names_its_invariant_and_safety_is_what_is_asked_for_by_default(cluster: SyntheticCluster) -> None:
    cluster.decides(state(leader=2, leader_epoch=0))
    assert violations(cluster.events) == violations(cluster.events, SAFETY)
    (sentence,) = violations(cluster.events)
    assert sentence.startswith("one-leader-for-each-leader-epoch: #")


# --- safety --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", ["1", "3", "0", "none"])
def test_a_controller_epoch_that_is_not_the_next_is_named(cluster: SyntheticCluster, epoch: str) -> None:
    seq = cluster.changed("/controller_epoch", epoch, zxid=9, zk_version=2)
    assert cluster.says("controller-epochs-have-no-gap") == [f"#{seq}: /controller_epoch is {epoch} after 1"]


def test_an_epoch_that_is_won_twice_is_named(cluster: SyntheticCluster) -> None:
    seq = cluster.append("broker-2", EventKind.ELECTION_WON, controller_epoch=1)
    assert cluster.says("one-controller-acts-in-each-controller-epoch") == [f"#{seq}: broker-2 won epoch 1, as broker-1 had"]


def test_a_write_under_an_old_version_of_the_controller_epoch_is_named(cluster: SyntheticCluster) -> None:
    begun = cluster.append("broker-1", EventKind.ZK_WRITE, path=STATE, controller_epoch_zk_version=1)
    cluster.won(2, epoch=2)
    late = cluster.append("zookeeper", EventKind.ZNODE_CHANGED, begun, path=STATE, data=state(leader_epoch=1), zk_version=1)
    assert cluster.says("fenced-writes-are-of-the-controller-in-office") == [
        f"#{late}: {STATE} was written under version 1 of /controller_epoch, it was 2"
    ]


def test_a_write_of_the_controller_in_office_is_not(cluster: SyntheticCluster) -> None:
    begun = cluster.append("broker-1", EventKind.ZK_WRITE, path=STATE, controller_epoch_zk_version=1)
    cluster.append("zookeeper", EventKind.ZNODE_CHANGED, begun, path=STATE, data=state(leader_epoch=1), zk_version=1)
    assert cluster.says("fenced-writes-are-of-the-controller-in-office") == []


def test_a_controller_epoch_that_was_first_read_after_its_election_has_the_version_that_was_read() -> None:
    """On a ZooKeeper whose log cannot be read, a creation may be known only with the change that followed it."""
    log = SyntheticLog()
    log.append("zookeeper", EventKind.ZNODE_CREATED, path="/controller_epoch", data="1", zxid=2, zk_version=1)
    begun = log.append("broker-1", EventKind.ZK_WRITE, path=STATE, controller_epoch_zk_version=1)
    log.append("zookeeper", EventKind.ZNODE_CREATED, begun, path=STATE, data=state(), zxid=3, zk_version=0)
    assert violations(log.events, SAFETY) == []


def test_epochs_that_go_back_are_named_one_by_one(cluster: SyntheticCluster) -> None:
    cluster.decides(state(leader_epoch=5, controller_epoch=4))
    back = cluster.decides(state(leader_epoch=4, controller_epoch=3))
    assert cluster.says("epochs-never-go-back") == [
        f"#{back}: orders-0 has leader 1, leader epoch 4, ISR [1, 2, 3], which was 5",
        f"#{back}: orders-0 has leader 1, leader epoch 4, ISR [1, 2, 3], by controller epoch 3 after 4",
    ]


def test_a_topic_made_anew_begins_with_new_epochs_and_leaders(cluster: SyntheticCluster) -> None:
    cluster.decides(state(leader_epoch=5))
    cluster.gone(STATE)
    cluster.znode(STATE, state(leader=2, leader_epoch=0))
    assert violations(cluster.events) == []


def test_a_paused_broker_counts_as_frozen_until_its_process_ends(cluster: SyntheticCluster) -> None:
    """It may have missed a deletion, which Kafka does not send to it again; a new process learns everything anew."""
    history = RunHistory()
    frozen = []
    for state_of_process in ("paused", "running", "dead"):
        cluster.append("broker-2", EventKind.PROCESS_STATE, state=state_of_process)
        history.apply(cluster.events[-1])
        frozen.append(set(history.was_frozen))
    assert frozen == [{"broker-2"}, {"broker-2"}, set()]


@pytest.mark.parametrize("leader", [2, -1])
def test_another_leader_in_the_same_epoch_is_named(cluster: SyntheticCluster, leader: int) -> None:
    seq = cluster.decides(state(leader=leader, leader_epoch=0))
    assert cluster.says("one-leader-for-each-leader-epoch") == [
        f"#{seq}: orders-0 has leader {leader}, leader epoch 0, ISR [1, 2, 3]; 1 led it in this epoch"
    ]


@pytest.mark.parametrize(("broker", "epoch"), [(2, 0), (1, 1)])
def test_a_broker_that_leads_what_nobody_gave_to_it_is_named(cluster: SyntheticCluster, broker: int, epoch: int) -> None:
    cluster.leads(broker, epoch)
    (sentence,) = cluster.says("brokers-lead-only-what-was-decided")
    assert sentence.endswith(f"broker-{broker} leads orders-0 in epoch {epoch}, which no state gave to it")


@pytest.mark.parametrize(("leader", "isr"), [(1, (2, 3)), (-1, ())])
def test_a_leader_outside_its_isr_and_an_empty_isr_are_named(
    cluster: SyntheticCluster, leader: int, isr: tuple[int, ...]
) -> None:
    seq = cluster.decides(state(leader=leader, leader_epoch=1, isr=isr))
    assert cluster.says("leaders-are-in-the-isr") == [
        f"#{seq}: orders-0 has leader {leader}, leader epoch 1, ISR {list(isr)}"
    ]


def test_a_leader_who_was_not_in_sync_is_named_unless_the_election_was_unclean(cluster: SyntheticCluster) -> None:
    cluster.decides(state(leader=-1, leader_epoch=1, isr=(1,)))
    seq = cluster.decides(state(leader=2, leader_epoch=2, isr=(2,)))
    cluster.decides(state(leader=-1, leader_epoch=3, isr=(2,)))
    cluster.elects_uncleanly(3, epoch=4)
    cluster.decides(state(leader=3, leader_epoch=4, isr=(3,)))
    assert cluster.says("clean-leaders-come-from-the-isr") == [
        f"#{seq}: orders-0 has leader 2, leader epoch 2, ISR [2], who was not in the ISR [1]"
    ]


def test_a_controller_that_acts_in_an_epoch_that_another_has_won_is_named(cluster: SyntheticCluster) -> None:
    seq = cluster.append("broker-2", EventKind.REQUEST_SENT, event="LeaderAndIsr", controller_epoch=1)
    assert cluster.says("one-controller-acts-in-each-controller-epoch") == [
        f"#{seq}: broker-2 does LeaderAndIsr in epoch 1, which broker-1 has won"
    ]


def test_a_former_controller_may_go_on_in_its_own_epoch(cluster: SyntheticCluster) -> None:
    """It does not know of its successor yet; brokers refuse its requests."""
    cluster.won(2, epoch=2)
    cluster.append("broker-1", EventKind.REQUEST_SENT, event="LeaderAndIsr", controller_epoch=1)
    assert cluster.says("one-controller-acts-in-each-controller-epoch") == []


def test_a_member_of_an_isr_that_was_never_a_replica_is_named(cluster: SyntheticCluster) -> None:
    seq = cluster.decides(state(isr=(1, 2, 3, 4)))
    assert cluster.says("isr-members-have-been-replicas") == [
        f"#{seq}: orders-0 has leader 1, leader epoch 0, ISR [1, 2, 3, 4], of which [4] have never been replicas"
    ]


def test_one_that_was_a_replica_until_a_moment_ago_is_not(cluster: SyntheticCluster) -> None:
    """A reassignment that replaces another writes the replicas first, and the ISR after that.

    Source: docs/kafka/controller.md 12.2.
    """
    cluster.changed(TOPIC, assignment(1, 2), zxid=9, zk_version=1)
    cluster.decides(state(isr=(1, 2, 3)))
    assert cluster.says("isr-members-have-been-replicas") == []


def test_but_one_that_was_a_replica_of_an_earlier_topic_of_that_name_is(cluster: SyntheticCluster) -> None:
    cluster.gone(STATE)
    cluster.gone(TOPIC)
    cluster.znode(TOPIC, assignment(1, 2))
    cluster.znode(STATE, state(isr=(1, 2, 3)))
    assert len(cluster.says("isr-members-have-been-replicas")) == 1


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_broker_that_takes_what_is_not_of_a_later_epoch_is_named(cluster: SyntheticCluster, epoch: int) -> None:
    cluster.follows(2, epoch=1)
    cluster.follows(2, epoch=epoch)
    (sentence,) = cluster.says("brokers-take-no-older-leader-epoch")
    assert sentence.endswith(f"broker-2 takes orders-0 in epoch {epoch} after 1")


def test_a_broker_knows_no_epoch_after_a_restart_or_when_its_replica_was_deleted(cluster: SyntheticCluster) -> None:
    cluster.follows(2, epoch=1)
    cluster.follows(3, epoch=1)
    cluster.append("broker-2", EventKind.PROCESS_STATE, state="dead")
    cluster.append("broker-2", EventKind.PROCESS_STATE, state="running")
    cluster.append("broker-3", EventKind.REPLICA_STOPPED, topic="orders", partition=0, deleted=True)
    cluster.follows(2, epoch=1)
    cluster.follows(3, epoch=1)
    assert cluster.says("brokers-take-no-older-leader-epoch") == []


# --- at quiescence -------------------------------------------------------------------------------------------------------


def test_brokers_without_a_controller_are_named(cluster: SyntheticCluster) -> None:
    cluster.gone("/controller")
    assert cluster.says("there-is-one-controller") == ["/controller names None, registered are [1, 2, 3]"]


def test_a_controller_that_is_not_registered_is_named(cluster: SyntheticCluster) -> None:
    cluster.gone("/brokers/ids/1")
    assert cluster.says("there-is-one-controller") == ["/controller names 1, registered are [2, 3]"]


def test_a_partition_whose_dead_leader_could_be_replaced_is_named(cluster: SyntheticCluster) -> None:
    cluster.dies(1)
    assert cluster.says("every-partition-that-can-be-led-is-led") == [
        "orders-0 has leader 1, though of [1, 2, 3] there are [2, 3]"
    ]


def test_a_partition_that_waits_for_the_last_member_of_its_isr_is_not(cluster: SyntheticCluster) -> None:
    cluster.dies(1)
    cluster.decides(state(leader=-1, leader_epoch=1, isr=(1,)))
    assert cluster.says("every-partition-that-can-be-led-is-led") == []


def test_a_new_partition_that_nobody_leads_although_replicas_live_is_named(cluster: SyntheticCluster) -> None:
    cluster.gone(STATE)
    assert cluster.says("every-partition-that-can-be-led-is-led") == [
        "orders-0 has leader None, though of [1, 2, 3] there are [1, 2, 3]"
    ]


def test_members_of_an_isr_that_are_dead_or_no_replicas_are_named(cluster: SyntheticCluster) -> None:
    cluster.changed(TOPIC, assignment(1, 2), zxid=9, zk_version=1)
    cluster.dies(2)
    assert cluster.says("isrs-are-within-the-replicas") == ["orders-0 has ISR [1, 2, 3], but [3] are no replicas of it"]
    assert cluster.says("isrs-hold-live-replicas-only") == ["orders-0 has ISR [1, 2, 3], but [2] are not registered"]


def test_isrs_of_a_cluster_without_a_broker_are_not(cluster: SyntheticCluster) -> None:
    """The last broker's end is not written by any controller: the next failover writes it.

    Source: docs/kafka/controller.md 10.3.
    """
    for broker in (1, 2, 3):
        cluster.dies(broker)
    assert cluster.says("isrs-hold-live-replicas-only") == []


@pytest.mark.parametrize(
    "path", ["/isr_change_notification/isr_change_0000000000", "/log_dir_event_notification/log_dir_event_0000000000"]
)
def test_a_notification_that_nobody_took_up_is_named_while_there_is_a_controller(
    cluster: SyntheticCluster, path: str
) -> None:
    cluster.znode(path, "{}")
    assert cluster.says("no-notification-is-left") == [f"{path} is left"]
    cluster.gone("/controller")
    assert cluster.says("no-notification-is-left") == []


def test_a_leader_that_was_not_sent_its_epoch_is_named(cluster: SyntheticCluster) -> None:
    cluster.decides(state(leader_epoch=1))
    assert cluster.says("leaders-know-that-they-lead") == [
        "orders-0 is led by 1 in leader epoch 1, but broker 1 leads it in epoch 0"
    ]


def test_a_leader_that_has_restarted_and_was_sent_nothing_is_named(cluster: SyntheticCluster) -> None:
    cluster.append("broker-1", EventKind.PROCESS_STATE, state="dead")
    cluster.append("broker-1", EventKind.PROCESS_STATE, state="running")
    assert cluster.says("leaders-know-that-they-lead") == [
        "orders-0 is led by 1 in leader epoch 0, but broker 1 does not lead it"
    ]


def test_a_leader_whose_log_directory_has_failed_is_not_named_until_it_restarts(cluster: SyntheticCluster) -> None:
    """The event of the failure does not name the partitions that the broker leads no longer."""
    cluster.decides(state(leader_epoch=1))
    cluster.append("broker-1", EventKind.LOG_DIR_FAILED, broker_id=1, path="/disk-1", count=1)
    assert cluster.says("leaders-know-that-they-lead") == []
    cluster.append("broker-1", EventKind.PROCESS_STATE, state="dead")
    cluster.append("broker-1", EventKind.PROCESS_STATE, state="running")
    assert len(cluster.says("leaders-know-that-they-lead")) == 1


def test_a_former_leader_that_goes_on_leading_is_named_until_it_follows(cluster: SyntheticCluster) -> None:
    cluster.decides(state(leader=2, leader_epoch=1))
    cluster.leads(2, epoch=1)
    assert cluster.says("no-other-replica-leads") == ["broker 1 leads orders-0 in epoch 0, its state names 2"]
    cluster.follows(1, epoch=1)
    assert cluster.says("no-other-replica-leads") == []


def test_a_broker_that_leads_what_was_taken_from_it_is_named_until_its_replica_is_deleted(cluster: SyntheticCluster) -> None:
    cluster.changed(TOPIC, assignment(2, 3), zxid=9, zk_version=1)
    assert cluster.says("no-stray-leads") == ["broker 1 leads orders-0 in epoch 0, though it is no replica of it"]
    cluster.append("broker-1", EventKind.REPLICA_STOPPED, topic="orders", partition=0, deleted=True)
    assert cluster.says("no-stray-leads") == []


# --- after recovery ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "invariant"),
    [
        ("/admin/reassign_partitions", "no-reassignment-is-left"),
        ("/admin/preferred_replica_election", "no-preferred-election-is-left"),
        ("/admin/delete_topics/orders", "no-deletion-is-left"),
    ],
)
def test_what_was_asked_for_and_is_still_there_is_named(cluster: SyntheticCluster, path: str, invariant: str) -> None:
    cluster.znode(path, "{}")
    assert cluster.says(invariant) == [f"{path} is left"]


def test_a_reassignment_under_way_is_named(cluster: SyntheticCluster) -> None:
    cluster.changed(TOPIC, assignment(1, 2, 3, 4, adding=(4,)), zxid=9, zk_version=1)
    assert cluster.says("no-reassignment-is-left") == ["orders-0 is being reassigned"]


def test_a_replica_that_is_not_in_sync_is_named(cluster: SyntheticCluster) -> None:
    cluster.decides(state(isr=(1, 3)))
    assert cluster.says("every-replica-is-in-sync") == ["orders-0 has ISR [1, 3] of [1, 2, 3]"]


@pytest.mark.parametrize("path", ["/config/topics/gone", f"{TOPIC}/partitions/1", "/brokers/topics/gone/partitions"])
def test_what_is_left_of_a_topic_or_partition_that_is_gone_is_named(cluster: SyntheticCluster, path: str) -> None:
    cluster.znode(path)
    assert cluster.says("no-znode-of-a-topic-is-orphaned") == [f"{path} belongs to nothing"]
