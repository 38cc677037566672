"""Kafka's operations on ZooKeeper: what they read, write, refuse, and say of malformed content."""

from collections.abc import Awaitable, Callable

import pytest

from kcsim.zk import paths
from kcsim.zk.errors import BadVersionError, ControllerMovedError, NodeExistsError, NoNodeError, ZooKeeperError
from kcsim.zk.events import EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.operations import Create, Delete, GetChildren, Multi, SetData
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    ControllerEpochZkVersion,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import NodeHandler
from tests.zk.scripted import Bench, writes

EPOCH_0 = ControllerEpochZkVersion(0)
MOVED = ControllerEpochZkVersion(7)
ORDERS = [TopicPartition("orders", p) for p in range(3)]
ORDERS_0 = ORDERS[0]
STATE_0 = paths.topic_partition_state(ORDERS_0)


def ids(*brokers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, brokers))


def state(leader: int | None, isr: tuple[int, ...], epoch: int = 0, version: int = 0, ce: int = 1) -> PartitionState:
    of = None if leader is None else BrokerId(leader)
    return PartitionState(LeaderAndIsr(of, LeaderEpoch(epoch), ids(*isr), ZkVersion(version)), ControllerEpoch(ce))


def broker(number: int) -> BrokerInfo:
    return BrokerInfo(BrokerId(number), (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + number),))


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def prepared(bench: Bench) -> None:
    """A cluster that has had a controller: /controller_epoch is at version 0."""
    await bench.connect()
    await bench.by_hand.create_top_level_paths()
    await bench.tree(Create(paths.CONTROLLER_EPOCH, b"1"))


async def data_of(bench: Bench, path: str) -> bytes | None:
    found = await bench.by_hand.get_data(path)
    return found.data if found else None


# --- the cluster


def test_a_starting_broker_makes_sure_of_the_top_level_paths_with_null_data(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/admin", b"kept"))
        await bench.kafka_zk.create_top_level_paths()
        assert [await data_of(bench, path) for path in paths.TOP_LEVEL_PATHS] == [None] * len(paths.TOP_LEVEL_PATHS)
        assert all([await bench.by_hand.exists(path) for path in paths.TOP_LEVEL_PATHS])
        assert await data_of(bench, "/admin") == b"kept"

    bench.runtime.run(main())


def test_the_second_broker_to_start_writes_nothing(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.by_hand.create_top_level_paths()
        before = bench.zookeeper.server.zxid
        await bench.kafka_zk.create_top_level_paths()
        assert bench.zookeeper.server.zxid == before

    bench.runtime.run(main())


def test_brokers_that_start_together_do_not_mind_each_other(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        starting = [
            bench.runtime.spawn(str(number), zk.create_top_level_paths())
            for number, zk in enumerate((bench.kafka_zk, bench.by_hand))
        ]
        for task in starting:
            await task.join()
        assert all([await bench.by_hand.exists(path) for path in paths.TOP_LEVEL_PATHS])

    bench.runtime.run(main())


def test_all_brokers_agree_on_the_cluster_id_that_the_first_made_up(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        first = await bench.kafka_zk.get_or_create_cluster_id()
        assert await bench.by_hand.get_or_create_cluster_id() == first
        assert len(first) == 22
        assert await data_of(bench, paths.CLUSTER_ID) == f'{{"version":"1","id":"{first}"}}'.encode()

    bench.runtime.run(main())


def test_a_cluster_id_whose_answer_was_lost_is_read_back(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/cluster"))
        bench.zookeeper.lose_reply(lambda r: isinstance(r, Create), is_applied=True)
        assert len(await bench.kafka_zk.get_or_create_cluster_id()) == 22

    bench.runtime.run(main())


def test_a_cluster_id_that_cannot_be_read_is_an_error(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/cluster"), Create(paths.CLUSTER_ID, b"junk"))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.get_or_create_cluster_id()

    bench.runtime.run(main())


# --- brokers


def test_brokers_are_listed_by_number_with_their_epochs(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        epochs = {number: await bench.by_hand.register_broker(broker(number)) for number in (10, 9)}
        assert await bench.kafka_zk.all_brokers_with_epochs() == [(broker(9), epochs[9]), (broker(10), epochs[10])]

    bench.runtime.run(main())


def test_one_unreadable_registration_spoils_the_whole_listing(bench: Bench) -> None:
    """Recorded: the BrokerChange event is lost for all brokers."""

    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.register_broker(broker(1))
        await bench.tree(Create(paths.broker_id(BrokerId(7)), b"junk"))
        with pytest.raises(BadZnodeError, match="Failed to parse ZooKeeper registration for broker 7: junk"):
            await bench.kafka_zk.all_brokers_with_epochs()
        assert bench.kafka_zk.parse_failures == {"/brokers/ids/7": 1}

    bench.runtime.run(main())
    (bad,) = [e for e in bench.log.events if e.kind is EventKind.BAD_ZNODE]
    assert (bad.node, bad.path, bad.error) == ("broker-1", "/brokers/ids/7", "BadZnodeError")


def test_a_registration_under_a_name_that_is_no_number_spoils_it_too(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(f"{paths.BROKER_IDS}/seven", b"{}"))
        with pytest.raises(BadZnodeError, match="/brokers/ids/seven: no broker id"):
            await bench.kafka_zk.all_brokers_with_epochs()

    bench.runtime.run(main())


def test_a_broker_that_goes_while_the_others_are_read_is_left_out(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.register_broker(broker(1))
        await bench.tree(Create(paths.broker_id(BrokerId(2)), b"{}"))

        def broker_2_goes(request: object) -> bool:
            if not isinstance(request, GetChildren) and not gone:
                gone.append(2)
                bench.zookeeper.write_by_hand(Delete(paths.broker_id(BrokerId(2))))
            return False

        gone: list[int] = []
        bench.zookeeper.lose_reply(broker_2_goes, is_applied=True)
        assert [info.broker_id for info, _ in await bench.kafka_zk.all_brokers_with_epochs()] == [1]

    bench.runtime.run(main())


def test_a_broker_that_is_not_registered_is_none(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.broker(BrokerId(1)) is None

    bench.runtime.run(main())


def test_listing_brokers_arms_the_child_watch_only_on_request(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        heard: list[Cause] = []
        bench.client.register_child_handler(paths.BROKER_IDS, heard.append)
        await bench.kafka_zk.all_brokers_with_epochs(register_watch=False)
        await bench.by_hand.register_broker(broker(1))
        assert heard == []
        await bench.kafka_zk.all_brokers_with_epochs()
        await bench.by_hand.register_broker(broker(2))
        assert len(heard) == 1

    bench.runtime.run(main())


# --- topics


def test_topics_are_read_watched_and_those_that_are_gone_left_out(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        orders = TopicState({0: ReplicaAssignment(ids(1, 2))})
        await bench.by_hand.create_topic("orders", orders)
        heard: list[Cause] = []
        bench.client.register_node_handler(paths.topic("orders"), NodeHandler(data_changed=heard.append))
        assert await bench.kafka_zk.topic_states(["orders", "gone"]) == {"orders": orders}
        assert await bench.kafka_zk.all_topics() == ("orders",)
        await bench.by_hand.set_topic_assignment("orders", TopicState({0: ReplicaAssignment(ids(2))}))
        assert len(heard) == 1

    bench.runtime.run(main())


def test_a_topic_that_is_no_json_has_no_partitions_and_harms_no_other(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("good", TopicState({0: ReplicaAssignment(ids(1))}))
        await bench.tree(Create(paths.topic("bad"), b"junk"))
        found = await bench.kafka_zk.topic_states(["bad", "good"])
        assert found["bad"] == TopicState({})
        assert found["good"].assignments == {0: ReplicaAssignment(ids(1))}
        assert bench.kafka_zk.parse_failures == {"/brokers/topics/bad": 1}

    bench.runtime.run(main())
    (bad,) = [e for e in bench.log.events if e.kind is EventKind.BAD_ZNODE]
    assert bad.error is None
    assert bad.detail is not None
    assert "taken for absent or empty" in bad.detail


def test_a_topic_of_another_form_spoils_all_that_were_asked_for_with_it(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("good", TopicState({0: ReplicaAssignment(ids(1))}))
        await bench.tree(Create(paths.topic("bad"), b'{"partitions":{"x":[1]}}'))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.topic_states(["good", "bad"])

    bench.runtime.run(main())


def test_a_topic_is_deleted_from_its_leaves_up_and_fenced(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("orders", TopicState({}))
        await bench.kafka_zk.create_partition_states({tp: state(1, (1,)) for tp in ORDERS[:2]}, EPOCH_0)
        with pytest.raises(ControllerMovedError):
            await bench.kafka_zk.delete_topic("orders", MOVED)
        await bench.kafka_zk.delete_topic("orders", EPOCH_0)
        assert await bench.kafka_zk.all_topics() == ()
        last = writes(bench.session.calls)[-2]
        assert isinstance(last, Multi)
        assert [op.path for op in last.ops] == [
            paths.CONTROLLER_EPOCH,
            "/brokers/topics/orders/partitions/0/state",
            "/brokers/topics/orders/partitions/0",
            "/brokers/topics/orders/partitions/1/state",
            "/brokers/topics/orders/partitions/1",
            "/brokers/topics/orders/partitions",
            "/brokers/topics/orders",
        ]

    bench.runtime.run(main())


def test_deleting_what_is_gone_is_no_error(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.kafka_zk.delete_topic("orders", EPOCH_0)
        await bench.kafka_zk.delete_topic_configs(["orders"], EPOCH_0)
        await bench.kafka_zk.delete_topic_deletions(["orders"], EPOCH_0)

    bench.runtime.run(main())


def test_deletions_are_asked_for_once_listed_and_removed(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic_deletion("orders")
        with pytest.raises(NodeExistsError):
            await bench.by_hand.create_topic_deletion("orders")
        assert await bench.kafka_zk.topic_deletions(register_watch=True) == ("orders",)
        await bench.kafka_zk.delete_topic_deletions(["orders"], EPOCH_0)
        assert await bench.kafka_zk.topic_deletions() == ()

    bench.runtime.run(main())


# --- partitions


def test_partition_states_are_created_with_all_that_is_above_them(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("orders", TopicState({}))
        states = {tp: state(1, (1, 2)) for tp in ORDERS}
        assert await bench.kafka_zk.create_partition_states(states, EPOCH_0) == dict.fromkeys(ORDERS, 0)
        assert await bench.kafka_zk.partition_states(ORDERS) == states
        assert await data_of(bench, "/brokers/topics/orders/partitions/0") is None

    bench.runtime.run(main())


def test_a_state_that_is_there_already_is_refused_and_the_others_are_created(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("orders", TopicState({}))
        await bench.kafka_zk.create_partition_states({ORDERS[1]: state(1, (1,))}, EPOCH_0)
        results = await bench.kafka_zk.create_partition_states({tp: state(2, (2,)) for tp in ORDERS}, EPOCH_0)
        assert results == {ORDERS[0]: 0, ORDERS[1]: NodeExistsError(paths.topic_partition_state(ORDERS[1])), ORDERS[2]: 0}

    bench.runtime.run(main())


def test_states_are_written_only_over_the_version_they_were_read_at(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("orders", TopicState({}))
        await bench.kafka_zk.create_partition_states({tp: state(1, (1,)) for tp in ORDERS[:2]}, EPOCH_0)
        stale = {ORDERS[0]: state(2, (2,), 1, version=0), ORDERS[1]: state(2, (2,), 1, version=5), ORDERS[2]: state(2, (2,))}
        results = await bench.kafka_zk.set_partition_states(stale, EPOCH_0)
        assert results == {
            ORDERS[0]: 1,
            ORDERS[1]: BadVersionError(paths.topic_partition_state(ORDERS[1])),
            ORDERS[2]: NoNodeError(paths.topic_partition_state(ORDERS[2])),
        }
        assert await bench.kafka_zk.partition_states(ORDERS) == {
            ORDERS[0]: state(2, (2,), 1, version=1),
            ORDERS[1]: state(1, (1,)),
        }

    bench.runtime.run(main())


def test_states_that_are_no_json_are_left_out_and_reported_others_spoil_the_batch(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("orders", TopicState({}))
        await bench.kafka_zk.create_partition_states({tp: state(1, (1,)) for tp in ORDERS[:2]}, EPOCH_0)
        await bench.tree(SetData(STATE_0, b"junk"))
        assert await bench.kafka_zk.partition_states(ORDERS) == {ORDERS[1]: state(1, (1,))}
        assert bench.kafka_zk.parse_failures == {STATE_0: 1}
        await bench.tree(SetData(STATE_0, b"{}"))
        with pytest.raises(BadZnodeError, match="No such field exists"):
            await bench.kafka_zk.partition_states(ORDERS)

    bench.runtime.run(main())


async def with_state(bench: Bench) -> None:
    await prepared(bench)
    await bench.by_hand.create_topic("orders", TopicState({}))
    await bench.kafka_zk.create_partition_states({ORDERS_0: state(1, (1, 2))}, EPOCH_0)


def test_a_leader_writes_without_a_fence_over_the_version_it_knows(bench: Bench) -> None:
    async def main() -> None:
        await with_state(bench)
        assert await bench.kafka_zk.write_partition_state_as_leader(ORDERS_0, state(1, (1,), version=0)) == 1
        assert writes(bench.session.calls)[-1] == SetData(
            STATE_0, b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}', ZkVersion(0)
        )

    bench.runtime.run(main())


def test_a_leader_whose_answer_was_lost_recognises_its_own_write(bench: Bench) -> None:
    async def main() -> None:
        await with_state(bench)
        bench.zookeeper.lose_reply(lambda r: isinstance(r, SetData), is_applied=True)
        assert await bench.kafka_zk.write_partition_state_as_leader(ORDERS_0, state(1, (1,), version=0)) == 1

    bench.runtime.run(main())


@pytest.mark.parametrize(
    "found",
    [
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}',
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":1,"isr":[1]}',
        b'{"controller_epoch":2,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}',
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[1]}',
        b"junk",
        b"{}",
    ],
)
def test_a_leader_that_meets_another_content_has_failed(bench: Bench, found: bytes) -> None:
    async def main() -> None:
        await with_state(bench)
        await bench.tree(SetData(STATE_0, found))
        assert await bench.kafka_zk.write_partition_state_as_leader(ORDERS_0, state(1, (1,), version=0)) is None
        assert await data_of(bench, STATE_0) == found

    bench.runtime.run(main())


def test_a_leader_whose_partition_is_gone_has_failed(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.write_partition_state_as_leader(ORDERS_0, state(1, (1,))) is None

    bench.runtime.run(main())


# --- notifications


def test_isr_changes_are_told_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        first = await bench.by_hand.create_isr_change_notification([ORDERS[1], ORDERS[0]])
        await bench.by_hand.create_isr_change_notification([ORDERS[1]])
        names = await bench.kafka_zk.isr_change_notifications()
        assert names == ("isr_change_0000000000", "isr_change_0000000001")
        assert first == paths.child(paths.ISR_CHANGE_NOTIFICATION, names[0])
        assert await bench.kafka_zk.partitions_of_isr_change_notifications(names) == ORDERS[:2]
        with pytest.raises(ControllerMovedError):
            await bench.kafka_zk.delete_isr_change_notifications(names, MOVED)
        await bench.kafka_zk.delete_isr_change_notifications(names, EPOCH_0)
        assert await bench.kafka_zk.isr_change_notifications() == ()

    bench.runtime.run(main())


def test_an_isr_change_that_is_no_json_is_ignored_and_one_of_another_form_an_error(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(paths.ISR_CHANGE_PREFIX, b"junk", sequential=True))
        await bench.by_hand.create_isr_change_notification([ORDERS_0])
        names = await bench.kafka_zk.isr_change_notifications()
        assert await bench.kafka_zk.partitions_of_isr_change_notifications(names) == [ORDERS_0]
        await bench.tree(Create(paths.ISR_CHANGE_PREFIX, b"{}", sequential=True))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.partitions_of_isr_change_notifications(await bench.kafka_zk.isr_change_notifications())

    bench.runtime.run(main())


def test_log_dir_events_are_told_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        for number in (2, 1, 2):
            await bench.by_hand.create_log_dir_event_notification(BrokerId(number))
        names = await bench.kafka_zk.log_dir_event_notifications()
        assert await bench.kafka_zk.brokers_of_log_dir_events(names) == [1, 2]
        await bench.kafka_zk.delete_log_dir_event_notifications(names, EPOCH_0)
        assert await bench.kafka_zk.log_dir_event_notifications() == ()

    bench.runtime.run(main())


# --- what is asked of the controller


def test_reassignments_are_asked_for_rewritten_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        plans = {ORDERS[0]: ids(4, 5), ORDERS[1]: ids(5, 6)}
        assert await bench.kafka_zk.partition_reassignments() == {}
        await bench.by_hand.create_partition_reassignments(plans)
        assert await bench.kafka_zk.partition_reassignments() == plans
        await bench.kafka_zk.set_or_create_partition_reassignments({ORDERS[1]: ids(5, 6)}, EPOCH_0)
        assert await bench.kafka_zk.partition_reassignments() == {ORDERS[1]: ids(5, 6)}
        await bench.kafka_zk.delete_partition_reassignments(EPOCH_0)
        await bench.kafka_zk.set_or_create_partition_reassignments(plans, EPOCH_0)
        assert await bench.kafka_zk.partition_reassignments() == plans

    bench.runtime.run(main())


def test_reassignments_that_are_no_json_are_none_and_reported(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(paths.REASSIGN_PARTITIONS, b"{nonsense"))
        assert await bench.kafka_zk.partition_reassignments() == {}
        assert bench.kafka_zk.parse_failures == {paths.REASSIGN_PARTITIONS: 1}

    bench.runtime.run(main())


def test_preferred_leaders_are_asked_for_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.preferred_replica_election() == ()
        await bench.by_hand.create_preferred_replica_election(ORDERS[:2])
        assert await bench.kafka_zk.preferred_replica_election() == tuple(ORDERS[:2])
        await bench.kafka_zk.delete_preferred_replica_election(EPOCH_0)
        assert await bench.kafka_zk.preferred_replica_election() == ()

    bench.runtime.run(main())


Fenced = Callable[[KafkaZk, ControllerEpochZkVersion], Awaitable[object]]


@pytest.mark.parametrize(
    "write",
    [
        lambda zk, v: zk.delete_controller(v),
        lambda zk, v: zk.set_topic_assignment("orders", TopicState({}), v),
        lambda zk, v: zk.delete_topic("orders", v),
        lambda zk, v: zk.delete_topic_configs(["orders"], v),
        lambda zk, v: zk.delete_topic_deletions(["orders"], v),
        lambda zk, v: zk.create_partition_states({ORDERS_0: state(1, (1,))}, v),
        lambda zk, v: zk.set_partition_states({ORDERS_0: state(1, (1,))}, v),
        lambda zk, v: zk.delete_isr_change_notifications(["isr_change_0000000000"], v),
        lambda zk, v: zk.delete_log_dir_event_notifications(["log_dir_event_0000000000"], v),
        lambda zk, v: zk.set_or_create_partition_reassignments({}, v),
        lambda zk, v: zk.delete_partition_reassignments(v),
        lambda zk, v: zk.delete_preferred_replica_election(v),
    ],
)
def test_every_write_of_the_controller_is_fenced(bench: Bench, write: Fenced) -> None:
    """A controller that was replaced changes nothing: its check of /controller_epoch fails before all else."""

    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.create_topic("orders", TopicState({0: ReplicaAssignment(ids(1))}))
        before = bench.zookeeper.server.tree.get_children(GetChildren("/"), bench.zookeeper.server.zxid)
        topic = await data_of(bench, paths.topic("orders"))
        with pytest.raises(ControllerMovedError):
            await write(bench.kafka_zk, MOVED)
        assert await data_of(bench, paths.topic("orders")) == topic
        after = bench.zookeeper.server.tree.get_children(GetChildren("/"), bench.zookeeper.server.zxid)
        assert not isinstance(before, ZooKeeperError)
        assert not isinstance(after, ZooKeeperError)
        assert after.children == before.children

    bench.runtime.run(main())


# --- settings


def test_settings_are_written_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.entity_config("topics", "orders") == {}
        await bench.by_hand.set_or_create_entity_config("topics", "orders", {"unclean.leader.election.enable": "true"})
        await bench.by_hand.set_or_create_entity_config("topics", "plain", {})
        assert await bench.kafka_zk.entity_config("topics", "orders") == {"unclean.leader.election.enable": "true"}
        assert await bench.kafka_zk.topic_configs(["plain", "orders", "none"]) == {
            "plain": {},
            "orders": {"unclean.leader.election.enable": "true"},
            "none": {},
        }
        await bench.kafka_zk.delete_topic_configs(["orders"], EPOCH_0)
        assert await bench.kafka_zk.entity_config("topics", "orders") == {}

    bench.runtime.run(main())


def test_a_value_that_is_no_string_spoils_the_batch(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(paths.topic_config("bad"), b'{"version":1,"config":{"a":1}}'))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.topic_configs(["bad", "good"])

    bench.runtime.run(main())


def test_a_change_of_settings_is_announced_by_path(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        path = await bench.by_hand.create_config_change("topics/orders")
        assert path == paths.CONFIG_CHANGE_PREFIX + "0000000000"
        assert await data_of(bench, path) == b'{"version":2,"entity_path":"topics/orders"}'

    bench.runtime.run(main())


# --- causes


def test_everything_written_names_its_cause(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        why = bench.log.sink("broker-1").emit(EventKind.CONTROLLER_EVENT_BEGUN)
        epoch: BrokerEpoch = await bench.kafka_zk.register_broker(broker(1), why)
        assert epoch > 0
        begun = bench.log.events[why + 1]
        assert (begun.kind, begun.cause) == (EventKind.ZK_WRITE, why)
        assert bench.session.calls[-1][1] == begun.seq

    bench.runtime.run(main())
