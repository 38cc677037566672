"""Admin acts end to end, on the model and on a real server: what a tool writes, it then reads."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kcsim.controller.admin.elections import request_preferred_election
from kcsim.controller.admin.entity_configs import change_broker_config, change_topic_config
from kcsim.controller.admin.reassignment_files import MovePlan
from kcsim.controller.admin.reassignments import TerseReassignmentFailureError, start_reassignment, verify_reassignment
from kcsim.controller.admin.topic_descriptions import describe_topics
from kcsim.controller.admin.topics import NewTopic, add_partitions, create_topic, delete_topic, matching_topics
from kcsim.controller.decisions.kafka_refusals import AdminOperationError, TopicExistsError
from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint, TopicPartition
from kcsim.zk.kafka.kafka_zk import KafkaZk, gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from tests.conformance.environment import BOUND_MS, LONGEST_TIMEOUT_MS, Environment, NoSink, Run

B1, B2 = BrokerId(1), BrokerId(2)
T0 = TopicPartition("t", 0)


@asynccontextmanager
async def tool(environment: Environment) -> AsyncIterator[KafkaZk]:
    """Open a tool's session, in a cluster of brokers 1 and 2."""
    client = ZooKeeperClient(environment.runtime, environment.zookeeper, NoSink(), LONGEST_TIMEOUT_MS, BOUND_MS)
    await client.connect()
    kafka_zk = gateways_on(client)
    await kafka_zk.cluster.create_top_level_paths()
    for broker in (B1, B2):
        await kafka_zk.brokers.register(BrokerInfo(broker, (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),)))
    yield kafka_zk
    await client.close()


async def create(kafka_zk: KafkaZk, wanted: NewTopic) -> None:
    await create_topic(kafka_zk, wanted, random.Random(1))


def test_a_topic_is_created_grown_described_and_deleted(run: Run) -> None:
    async def main(environment: Environment) -> None:
        async with tool(environment) as kafka_zk:
            await create(kafka_zk, NewTopic("t", assignment=[(B1, B2)], config={"min.insync.replicas": "2"}))
            await add_partitions(kafka_zk, "t", 3)
            await change_topic_config(kafka_zk, "t", {"preallocate": "true"}, ["min.insync.replicas"])
            assert await delete_topic(kafka_zk, "t")
            assert not await delete_topic(kafka_zk, "t")
            (described,) = await describe_topics(kafka_zk, await matching_topics(kafka_zk, "t|no"))
        assert [partition.assignment.replicas for partition in described.partitions] == [(B1, B2), (B2, B1), (B1, B2)]
        assert (described.config, described.min_insync_replicas) == ({"preallocate": "true"}, 1)
        assert described.is_marked_for_deletion

    run(main)


def test_the_minimum_in_sync_of_all_brokers_holds_where_a_topic_has_none_of_its_own(run: Run) -> None:
    async def main(environment: Environment) -> None:
        async with tool(environment) as kafka_zk:
            await create(kafka_zk, NewTopic("t"))
            await change_broker_config(kafka_zk, None, {"min.insync.replicas": "2"})
            (described,) = await describe_topics(kafka_zk, ["t"])
        assert described.min_insync_replicas == 2

    run(main)


def test_a_refused_topic_leaves_nothing_behind(run: Run) -> None:
    async def main(environment: Environment) -> None:
        async with tool(environment) as kafka_zk:
            await create(kafka_zk, NewTopic("t"))
            with pytest.raises(TopicExistsError):
                await create(kafka_zk, NewTopic("t", config={"preallocate": "true"}))
            assert await kafka_zk.configs.read_entity("topics", "t") == {}

    run(main)


def test_a_move_is_under_way_as_long_as_its_request_exists(run: Run) -> None:
    async def main(environment: Environment) -> None:
        plan = MovePlan(((T0, (B2,)),))
        async with tool(environment) as kafka_zk:
            await create(kafka_zk, NewTopic("t", assignment=[(B1,)]))
            assert await start_reassignment(kafka_zk, plan) == {T0: (B1,)}
            with pytest.raises(TerseReassignmentFailureError):
                await start_reassignment(kafka_zk, plan)
            found = await verify_reassignment(kafka_zk, plan)
        assert (found.moves[T0].current, found.moves[T0].is_under_way, found.is_anything_moving) == ((B1,), True, True)

    run(main)


def test_one_preferred_election_at_a_time(run: Run) -> None:
    async def main(environment: Environment) -> None:
        async with tool(environment) as kafka_zk:
            await create(kafka_zk, NewTopic("t"))
            asked = await request_preferred_election(kafka_zk, [TopicPartition("no", 1), T0])
            assert (asked.partitions, asked.unknown) == ((T0,), (TopicPartition("no", 1),))
            with pytest.raises(AdminOperationError, match=r"in progress for Set\(t-0\)"):
                await request_preferred_election(kafka_zk, [T0])

    run(main)
