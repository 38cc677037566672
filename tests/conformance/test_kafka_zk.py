"""Kafka's operations, end to end, on the model and on a real server: elections, fences, registrations, batches."""

import pytest

from kcsim.vocabulary import (
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
from kcsim.zk.errors import ControllerMovedError, NodeExistsError
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.kafka.zookeeper_client import NodeHandler, SessionHandler, ZooKeeperClient
from kcsim.zk.operations import SessionState
from kcsim.znodes import paths
from tests.conformance.environment import BOUND_MS, LIVE_IS_SLOW, LONGEST_TIMEOUT_MS, Environment, NoSink, Run

B1, B2 = BrokerId(1), BrokerId(2)
PARTITIONS = 2_500


def registration(broker_id: BrokerId) -> BrokerInfo:
    return BrokerInfo(broker_id, (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + broker_id),), rack="dc1")


def state(leader: BrokerId, epoch: int, version: int) -> PartitionState:
    return PartitionState(LeaderAndIsr(leader, LeaderEpoch(epoch), (B1, B2), ZkVersion(version)), ControllerEpoch(1))


class Node:
    """A broker's client and operations."""

    def __init__(self, environment: Environment) -> None:
        self.client = ZooKeeperClient(environment.runtime, environment.zookeeper, NoSink(), LONGEST_TIMEOUT_MS, BOUND_MS)
        self.kafka_zk = gateways_on(self.client)


async def two_nodes(environment: Environment) -> tuple[Node, Node]:
    nodes = Node(environment), Node(environment)
    for node in nodes:
        await node.client.connect()
        await node.kafka_zk.cluster.create_top_level_paths()
    return nodes


def test_one_of_two_is_elected_and_the_fence_keeps_the_former_out(run: Run) -> None:
    async def main(environment: Environment) -> None:
        one, two = await two_nodes(environment)
        epoch, version = await one.kafka_zk.controller.register_and_increment_epoch(B1)
        with pytest.raises(ControllerMovedError):
            await two.kafka_zk.controller.register_and_increment_epoch(B2)
        assert await two.kafka_zk.controller.read_id() == B1
        await one.kafka_zk.controller.delete(version)
        assert await two.kafka_zk.controller.register_and_increment_epoch(B2) == (epoch + 1, version + 1)
        with pytest.raises(ControllerMovedError):
            await one.kafka_zk.controller.delete(version)
        await one.client.close()
        await two.client.close()

    run(main)


def test_a_controllers_end_is_heard_and_its_successor_has_the_next_epoch(run: Run) -> None:
    async def main(environment: Environment) -> None:
        one, two = await two_nodes(environment)
        gone = environment.runtime.promise()
        await one.kafka_zk.controller.register_and_increment_epoch(B1)
        handler = NodeHandler(deleted=lambda _: gone.resolve(None))
        assert await two.client.register_and_check_existence(paths.CONTROLLER, handler)
        await one.client.close()
        await gone.wait(BOUND_MS)
        assert await two.kafka_zk.controller.register_and_increment_epoch(B2) == (2, 2)
        await two.client.close()

    run(main)


def test_a_broker_registers_again_after_its_session_expired(run: Run) -> None:
    async def main(environment: Environment) -> None:
        one, two = await two_nodes(environment)
        reopened = environment.runtime.promise()
        first = await one.kafka_zk.brokers.register(registration(B1))
        with pytest.raises(NodeExistsError):
            await two.kafka_zk.brokers.register(registration(B1))
        one.client.register_session_handler("test", SessionHandler(after_new_session=lambda _: reopened.resolve(None)))
        await one.client.session.expire()  # type: ignore[attr-defined]
        await reopened.wait(BOUND_MS)
        assert one.client.session_state is SessionState.CONNECTED
        second = await one.kafka_zk.brokers.register(registration(B1))
        assert second > first
        assert await two.kafka_zk.brokers.read_all_with_epochs(register_watch=True) == [(registration(B1), second)]
        await one.client.close()
        await two.client.close()

    run(main)


def test_a_connection_that_breaks_is_waited_for(run: Run) -> None:
    async def main(environment: Environment) -> None:
        one, two = await two_nodes(environment)
        session = one.client.session
        session.refuse_connections()  # type: ignore[attr-defined]
        await session.cut()  # type: ignore[attr-defined]
        registered = environment.runtime.promise()

        async def register() -> None:
            registered.resolve(await one.kafka_zk.brokers.register(registration(B1)))

        environment.runtime.spawn("register", register())
        assert await two.kafka_zk.brokers.read(B1) is None
        session.allow_connections()  # type: ignore[attr-defined]
        epoch = await registered.wait(BOUND_MS)
        assert await two.kafka_zk.brokers.read_all_with_epochs(register_watch=True) == [(registration(B1), epoch)]
        await one.client.close()
        await two.client.close()

    run(main)


@LIVE_IS_SLOW
def test_thousands_of_states_are_created_read_written_and_deleted_in_batches(run: Run) -> None:
    async def main(environment: Environment) -> None:
        one, two = await two_nodes(environment)
        _, version = await one.kafka_zk.controller.register_and_increment_epoch(B1)
        partitions = [TopicPartition("orders", p) for p in range(PARTITIONS)]
        topic = TopicState({tp.partition: ReplicaAssignment((B1, B2)) for tp in partitions})
        await two.kafka_zk.topics.create("orders", topic)
        created = {tp: state(B1, 0, 0) for tp in partitions}
        assert set((await one.kafka_zk.partition_states.create(created, version)).values()) == {0}
        assert await two.kafka_zk.partition_states.read(partitions) == created
        written = {tp: state(B2, 1, 0) for tp in partitions}
        assert set((await one.kafka_zk.partition_states.set(written, version)).values()) == {1}
        assert await two.kafka_zk.partition_states.read(partitions) == {tp: state(B2, 1, 1) for tp in partitions}
        await one.kafka_zk.topics.delete("orders", version)
        assert await two.kafka_zk.topics.names() == ()
        await one.client.close()
        await two.client.close()

    run(main)
