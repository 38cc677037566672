"""__consumer_offsets on a cluster: its creation on first use, and the groups stored in it.

Source: docs/kafka/consumer_groups.md 9, 10.
"""

from kcsim.brokers.groups.group_metadata import GroupRecord, OffsetRecord
from kcsim.brokers.groups.offsets_topic import partition_for
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import OFFSETS_TOPIC, BrokerId, TopicPartition
from kcsim.znodes import paths
from tests.brokers.cluster.consuming import GROUP, Consuming, consumer, play

MINE = TopicPartition(OFFSETS_TOPIC, partition_for(GROUP, 50))


async def one_consumer(run: Consuming) -> None:
    run.cluster.consumers.declare([consumer("c1", auto_offset_reset="earliest")])
    await run.cluster.consumers.start(["c1"])
    await run.until_stable(1, "c1")


def test_it_is_made_when_somebody_looks_for_a_coordinator_with_kafkas_defaults() -> None:
    async def script(run: Consuming) -> None:
        assert OFFSETS_TOPIC not in run.cluster.state.of_topics.topics
        await one_consumer(run)
        made = run.cluster.state.of_topics.topics[OFFSETS_TOPIC]
        assert len(made.assignments) == 50
        assert {len(assignment.replicas) for assignment in made.assignments.values()} == {3}
        config = run.cluster.state.znodes[paths.entity_config("topics", OFFSETS_TOPIC)].data
        assert '"cleanup.policy":"compact"' in (config or "")

    play(script, offsets_topic_num_partitions=50)


def test_the_leader_of_the_groups_partition_coordinates_it_and_every_replica_has_its_records() -> None:
    async def script(run: Consuming) -> None:
        await one_consumer(run)
        await run.write(TopicPartition("orders", 3), 4)
        await run.until(
            lambda: any("orders-3 at 4" in (e.detail or "") for e in run.of_kind(EventKind.OFFSETS_COMMITTED)), ""
        )
        (stable,) = run.of_kind(EventKind.GROUP_STABLE)
        leader = run.cluster.state.of_topics.leader(MINE)
        assert stable.node == f"broker-{leader}"
        await run.cluster.runtime.sleep_ms(2_000)
        logs = run.cluster.replica_logs(MINE)
        assert logs.keys() == {BrokerId(1), BrokerId(2), BrokerId(3)}
        stored = [[payload for r in log.runs for payload in r.payloads] for log in logs.values()]
        assert stored[0] == stored[1] == stored[2]
        assert isinstance(stored[0][0], GroupRecord)
        assert OffsetRecord(GROUP, TopicPartition("orders", 3), 4) in stored[0]

    play(script, offsets_topic_num_partitions=50)


def test_what_is_not_on_enough_replicas_is_handed_out_to_nobody() -> None:
    """acks=all: with fewer in sync than min.insync.replicas the assignment cannot be stored, and the group tries again."""

    async def script(run: Consuming) -> None:
        await one_consumer(run)
        coordinator = run.coordinator()
        await run.cluster.topics.change_topic_config(OFFSETS_TOPIC, {"min.insync.replicas": "3"})
        await run.cluster.kill(next(name for name in run.cluster.broker_names if name != coordinator))
        states = run.cluster.state.of_topics
        await run.until(lambda: len(states.isr(TopicPartition(OFFSETS_TOPIC, 0))) == 2, "two are in sync")
        run.cluster.consumers.declare([consumer("c2")])
        await run.cluster.consumers.start(["c2"])
        await run.cluster.runtime.sleep_ms(20_000)
        assert [e.generation for e in run.of_kind(EventKind.GROUP_STABLE)] == [1]
        assert any("could not be stored" in (e.rule or "") for e in run.of_kind(EventKind.GROUP_REBALANCE))
        await run.cluster.topics.change_topic_config(OFFSETS_TOPIC, {"min.insync.replicas": "2"})
        await run.until(lambda: len(run.of_kind(EventKind.GROUP_STABLE)) == 2, "it is stored now")

    play(script, zookeeper_session_timeout_ms=2_000)
