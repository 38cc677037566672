"""Kafka's operations, end to end, on the model and on a real server: elections, fences, registrations, batches."""

import pytest

from kcsim.zk import paths
from kcsim.zk.errors import ControllerMovedError, NodeExistsError
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.operations import SessionState
from kcsim.zk.vocabulary import (
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.zk.zookeeper_client import NodeHandler, SessionHandler, ZooKeeperClient
from tests.conformance.world import BOUND_MS, LONGEST_TIMEOUT_MS, NoSink, Run, World

B1, B2 = BrokerId(1), BrokerId(2)
PARTITIONS = 2_500


def registration(broker_id: BrokerId) -> BrokerInfo:
    return BrokerInfo(broker_id, (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + broker_id),), rack="dc1")


def state(leader: BrokerId, epoch: int, version: int) -> PartitionState:
    return PartitionState(LeaderAndIsr(leader, LeaderEpoch(epoch), (B1, B2), ZkVersion(version)), ControllerEpoch(1))


class Node:
    """A broker's client and operations."""

    def __init__(self, world: World) -> None:
        self.client = ZooKeeperClient(world.runtime, world.zookeeper, NoSink(), LONGEST_TIMEOUT_MS, BOUND_MS)
        self.kafka_zk = KafkaZk(self.client)


async def two_nodes(world: World) -> tuple[Node, Node]:
    nodes = Node(world), Node(world)
    for node in nodes:
        await node.client.connect()
        await node.kafka_zk.create_top_level_paths()
    return nodes


def test_one_of_two_is_elected_and_the_fence_keeps_the_former_out(run: Run) -> None:
    async def main(world: World) -> None:
        one, two = await two_nodes(world)
        epoch, version = await one.kafka_zk.register_controller_and_increment_epoch(B1)
        with pytest.raises(ControllerMovedError):
            await two.kafka_zk.register_controller_and_increment_epoch(B2)
        assert await two.kafka_zk.controller_id() == B1
        await one.kafka_zk.delete_controller(version)
        assert await two.kafka_zk.register_controller_and_increment_epoch(B2) == (epoch + 1, version + 1)
        with pytest.raises(ControllerMovedError):
            await one.kafka_zk.delete_controller(version)
        await one.client.close()
        await two.client.close()

    run(main)


def test_a_controllers_end_is_heard_and_its_successor_has_the_next_epoch(run: Run) -> None:
    async def main(world: World) -> None:
        one, two = await two_nodes(world)
        gone = world.runtime.promise()
        await one.kafka_zk.register_controller_and_increment_epoch(B1)
        handler = NodeHandler(deleted=lambda _: gone.resolve(None))
        assert await two.client.register_and_check_existence(paths.CONTROLLER, handler)
        await one.client.close()
        await gone.wait(BOUND_MS)
        assert await two.kafka_zk.register_controller_and_increment_epoch(B2) == (2, 2)
        await two.client.close()

    run(main)


def test_a_broker_registers_again_after_its_session_expired(run: Run) -> None:
    async def main(world: World) -> None:
        one, two = await two_nodes(world)
        reopened = world.runtime.promise()
        first = await one.kafka_zk.register_broker(registration(B1))
        with pytest.raises(NodeExistsError):
            await two.kafka_zk.register_broker(registration(B1))
        one.client.register_session_handler("test", SessionHandler(after_new_session=lambda _: reopened.resolve(None)))
        await one.client.session.expire()  # type: ignore[attr-defined]
        await reopened.wait(BOUND_MS)
        assert one.client.session_state is SessionState.CONNECTED
        second = await one.kafka_zk.register_broker(registration(B1))
        assert second > first
        assert await two.kafka_zk.all_brokers_with_epochs() == [(registration(B1), second)]
        await one.client.close()
        await two.client.close()

    run(main)


def test_a_connection_that_breaks_is_waited_for(run: Run) -> None:
    async def main(world: World) -> None:
        one, two = await two_nodes(world)
        session = one.client.session
        session.refuse_connections()  # type: ignore[attr-defined]
        await session.cut()  # type: ignore[attr-defined]
        registered = world.runtime.promise()

        async def register() -> None:
            registered.resolve(await one.kafka_zk.register_broker(registration(B1)))

        world.runtime.spawn("register", register())
        assert await two.kafka_zk.broker(B1) is None
        session.allow_connections()  # type: ignore[attr-defined]
        epoch = await registered.wait(BOUND_MS)
        assert await two.kafka_zk.all_brokers_with_epochs() == [(registration(B1), epoch)]
        await one.client.close()
        await two.client.close()

    run(main)


def test_thousands_of_states_are_created_read_written_and_deleted_in_batches(run: Run) -> None:
    async def main(world: World) -> None:
        one, two = await two_nodes(world)
        _, version = await one.kafka_zk.register_controller_and_increment_epoch(B1)
        partitions = [TopicPartition("orders", p) for p in range(PARTITIONS)]
        topic = TopicState({tp.partition: ReplicaAssignment((B1, B2)) for tp in partitions})
        await two.kafka_zk.create_topic("orders", topic)
        created = {tp: state(B1, 0, 0) for tp in partitions}
        assert set((await one.kafka_zk.create_partition_states(created, version)).values()) == {0}
        assert await two.kafka_zk.partition_states(partitions) == created
        written = {tp: state(B2, 1, 0) for tp in partitions}
        assert set((await one.kafka_zk.set_partition_states(written, version)).values()) == {1}
        assert await two.kafka_zk.partition_states(partitions) == {tp: state(B2, 1, 1) for tp in partitions}
        await one.kafka_zk.delete_topic("orders", version)
        assert await two.kafka_zk.all_topics() == ()
        await one.client.close()
        await two.client.close()

    run(main)
