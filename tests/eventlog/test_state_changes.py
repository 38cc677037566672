"""The changes that ClusterState lists after each event, and the state that they lead to."""

from kcsim.eventlog.events import EventKind
from kcsim.eventlog.state_changes import (
    ControllerChanged,
    ControllerEpochChanged,
    GroupChanged,
    LinkChanged,
    MetricChanged,
    OwnershipChanged,
    PartitionChanged,
    ProcessChanged,
    RegistrationChanged,
    RoleChanged,
    SessionChanged,
    TopicChanged,
    TopicDeletionChanged,
    Znode,
    ZnodeChanged,
)
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.znodes import paths
from tests.eventlog.synthetic_log import SyntheticLog

B1 = "broker-1"
T0 = TopicPartition("orders", 0)
TOPIC = '{"version":2,"partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}'
STATE = '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}'
OFFLINE = '{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":1,"isr":[1]}'


def test_a_znode_of_no_meaning_to_the_state_is_one_change() -> None:
    log = SyntheticLog()
    log.znode("/config/topics/orders", "{}", zxid=5)
    znode = Znode("{}", 5, 5, 0, False, None)
    assert log.state.changes == [ZnodeChanged("/config/topics/orders", None, znode)]
    log.gone("/config/topics/orders")
    assert log.state.changes == [ZnodeChanged("/config/topics/orders", znode, None)]


def test_a_write_to_a_znode_that_is_older_than_the_trace_creates_it_in_the_state() -> None:
    """A trace may begin in the middle of a cluster's life."""
    log = SyntheticLog()
    log.changed("/controller_epoch", "7", zxid=5, zk_version=6)
    assert log.state.znodes["/controller_epoch"] == Znode("7", 0, 5, 6, False, None)
    assert log.state.changes[-1] == ControllerEpochChanged(None, 7)


def test_a_znode_that_was_first_read_after_a_change_has_the_version_that_was_read() -> None:
    """On a ZooKeeper whose log cannot be read, a creation may be known only with the change that followed it."""
    log = SyntheticLog()
    log.append("zookeeper", EventKind.ZNODE_CREATED, path="/controller_epoch", data="1", zxid=5, zk_version=1)
    assert log.state.znodes["/controller_epoch"].zk_version == 1


def test_the_controller_and_its_epoch_change_with_their_znodes() -> None:
    log = SyntheticLog()
    log.znode(paths.CONTROLLER, '{"brokerid":1}', ephemeral=True)
    assert log.state.changes[1:] == [ControllerChanged(None, 1)]
    log.gone(paths.CONTROLLER)
    assert log.state.changes[1:] == [ControllerChanged(1, None)]
    log.znode(paths.CONTROLLER, "no JSON")
    assert log.state.changes[1:] == [ControllerChanged(None, None)]
    log.znode(paths.CONTROLLER_EPOCH, "0")
    log.changed(paths.CONTROLLER_EPOCH, "1", zxid=4, zk_version=1)
    assert log.state.changes[1:] == [ControllerEpochChanged(0, 1)]


def test_a_registration_changes_the_broker_epoch_only_when_it_is_created_anew() -> None:
    log = SyntheticLog()
    log.znode(paths.broker_id(BrokerId(1)), "{}", zxid=3, ephemeral=True)
    assert log.state.changes[1:] == [RegistrationChanged(1, None, 3)]
    log.changed(paths.broker_id(BrokerId(1)), "{ }", zxid=4, zk_version=1)
    assert log.state.changes[1:] == [RegistrationChanged(1, 3, 3)]
    log.gone(paths.broker_id(BrokerId(1)))
    assert log.state.changes[1:] == [RegistrationChanged(1, 3, None)]


def test_topics_partitions_and_requested_deletions_carry_what_was_before() -> None:
    log = SyntheticLog()
    log.znode(paths.topic("orders"), TOPIC)
    (topic,) = log.state.changes[1:]
    assert isinstance(topic, TopicChanged)
    assert topic.before is None
    assert topic.after is log.state.of_topics.topics["orders"]
    log.znode(paths.topic_partition_state(T0), STATE)
    (created,) = log.state.changes[1:]
    log.changed(paths.topic_partition_state(T0), OFFLINE, zxid=8, zk_version=1)
    (changed,) = log.state.changes[1:]
    log.gone(paths.topic_partition_state(T0))
    (deleted,) = log.state.changes[1:]
    assert isinstance(created, PartitionChanged)
    assert isinstance(changed, PartitionChanged)
    assert created == PartitionChanged(T0, None, created.after, True)
    assert changed == PartitionChanged(T0, created.after, changed.after, False)
    assert changed.after is not None
    assert changed.after.leader_and_isr.leader is None
    assert deleted == PartitionChanged(T0, changed.after, None, False)
    log.znode(paths.delete_topic("orders"))
    assert log.state.changes[1:] == [TopicDeletionChanged("orders", True)]
    log.gone(paths.delete_topic("orders"))
    assert log.state.changes[1:] == [TopicDeletionChanged("orders", False)]


def test_a_state_that_cannot_be_read_counts_as_none() -> None:
    log = SyntheticLog()
    log.znode(paths.topic_partition_state(T0), "junk")
    assert log.state.changes[1:] == [PartitionChanged(T0, None, None, True)]


def test_sessions_links_and_roles() -> None:
    log = SyntheticLog()
    log.append("zookeeper", EventKind.SESSION_CREATED, session_id="0x1")
    assert log.state.changes == [SessionChanged("0x1")]
    log.append(B1, EventKind.SESSION_STATE, session_id="0x1", state="connected")
    assert log.state.changes == [LinkChanged(B1)]
    assert log.state.session_owners == {"0x1": B1}
    log.append(B1, EventKind.ELECTION_WON, controller_epoch=4)
    assert log.state.changes == [RoleChanged(B1)]
    assert log.state.roles == {B1: 4}
    log.append(B1, EventKind.CONTROLLER_RESIGNED, controller_epoch=4)
    assert log.state.changes == [RoleChanged(B1)]
    assert log.state.roles == {}


def test_a_process_that_ends_takes_its_role_and_its_metrics_along() -> None:
    log = SyntheticLog()
    log.append(B1, EventKind.PROCESS_STATE, state="running")
    log.append(B1, EventKind.ELECTION_WON, controller_epoch=4)
    log.append(B1, EventKind.METRICS, data='{"ActiveControllerCount":1,"OfflinePartitionsCount":0}')
    assert log.state.changes == [MetricChanged("ActiveControllerCount", 1), MetricChanged("OfflinePartitionsCount", 0)]
    log.append(B1, EventKind.PROCESS_STATE, state="dead")
    assert log.state.changes == [
        ProcessChanged(B1, "running", "dead"),
        RoleChanged(B1),
        MetricChanged("ActiveControllerCount", 0),
    ]


def test_without_process_events_a_controller_loses_its_role_with_its_znode() -> None:
    """An imported trace may have no process events."""
    log = SyntheticLog()
    log.znode(paths.CONTROLLER, '{"brokerid":1}', ephemeral=True)
    log.append(B1, EventKind.ELECTION_WON, controller_epoch=4)
    log.gone(paths.CONTROLLER)
    assert log.state.changes[1:] == [ControllerChanged(1, None), RoleChanged(B1)]


def test_servers_and_producers_have_processes_too() -> None:
    log = SyntheticLog()
    log.append("scenario", EventKind.FAULT_CONFIRMED, fault="kill", target="member-2")
    assert log.state.changes == [ProcessChanged("member-2", None, "dead")]
    log.append("producer-p", EventKind.WORKLOAD_STARTED)
    log.append("producer-p", EventKind.WORKLOAD_STOPPED)
    assert log.state.changes == [ProcessChanged("producer-p", "running", "stopped")]
    assert log.state.processes == {}


def test_consumers_and_their_groups() -> None:
    log = SyntheticLog()
    log.append("broker-2", EventKind.GROUP_STABLE, group="billing", generation=1)
    assert log.state.changes == [GroupChanged("billing")]
    log.append("consumer-c", EventKind.PARTITIONS_ASSIGNED, group="billing", generation=1, partitions=("orders-0",))
    assert log.state.changes == [OwnershipChanged("consumer-c")]
    log.append("consumer-c", EventKind.PROCESS_STATE, state="dead")
    assert log.state.changes == [ProcessChanged("consumer-c", None, "dead"), OwnershipChanged("consumer-c")]
    assert log.state.of_consumers.owned == {"consumer-c": ()}


def test_an_event_without_effect_on_the_state_has_no_changes() -> None:
    log = SyntheticLog()
    log.append(B1, EventKind.ELECTION_WON, controller_epoch=4)
    log.append(B1, EventKind.ELECTION_STARTED)
    assert log.state.changes == []
