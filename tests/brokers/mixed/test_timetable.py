"""Timetables of mixed clusters are the same for the same seed, and every step is possible where the cluster then is."""

from collections import Counter

import pytest

from kcsim.vocabulary import BrokerId
from tests.brokers.mixed.timetable import (
    LEAST_RUNNING,
    PARTITIONS,
    REPLICAS,
    VERSIONS,
    CreateTopic,
    DeleteTopic,
    KillBroker,
    MoveController,
    PauseBroker,
    ReassignPartition,
    ResumeBroker,
    Side,
    StartBroker,
    Timetable,
    draw_timetable,
)

SEEDS = range(50)


def test_a_seed_has_one_timetable_and_another_seed_another_one() -> None:
    assert [draw_timetable(seed) for seed in SEEDS] == [draw_timetable(seed) for seed in SEEDS]
    assert len({draw_timetable(seed).steps for seed in SEEDS}) == len(SEEDS)


def test_every_version_is_drawn_and_each_side_has_two_or_three_brokers() -> None:
    drawn = [draw_timetable(seed) for seed in SEEDS]
    assert {timetable.kafka for timetable in drawn} == {*VERSIONS}
    assert {(len(timetable.ours), len(timetable.kafkas)) for timetable in drawn} == {(2, 2), (2, 3), (3, 2)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_timetable_kills_on_both_sides_and_moves_the_controller_twice(seed: int) -> None:
    timetable = draw_timetable(seed)
    killed = {timetable.side_of(step.broker) for _, step in timetable.steps if isinstance(step, KillBroker)}
    kinds = Counter(type(step) for _, step in timetable.steps)
    assert killed == {*Side}
    assert kinds[MoveController] >= 2
    assert all(kinds[kind] for kind in (PauseBroker, ReassignPartition, CreateTopic))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_is_possible(seed: int) -> None:
    timetable = draw_timetable(seed)
    cluster = _Cluster(timetable)
    for _, step in timetable.steps:
        match step:
            case KillBroker(broker):
                cluster.move(broker, cluster.running, cluster.dead)
            case PauseBroker(broker):
                cluster.move(broker, cluster.running, cluster.paused)
            case StartBroker(broker):
                cluster.move(broker, cluster.dead, cluster.running)
            case ResumeBroker(broker):
                cluster.move(broker, cluster.paused, cluster.running)
            case MoveController():
                pass
            case ReassignPartition(partition, replicas):
                assert partition.partition in range(PARTITIONS)
                assert len({*replicas}) == REPLICAS
                assert {*replicas} <= cluster.running
            case CreateTopic(topic, replicas):
                assert topic not in cluster.topics
                assert LEAST_RUNNING <= len({*replicas}) <= REPLICAS
                assert {*replicas} <= cluster.running
                cluster.topics.add(topic)
            case DeleteTopic(topic):
                cluster.topics.remove(topic)
        assert len(cluster.running) >= LEAST_RUNNING


class _Cluster:
    """The brokers by state, and the topics."""

    def __init__(self, timetable: Timetable) -> None:
        self.running: set[BrokerId] = {*timetable.ours, *timetable.kafkas}
        self.dead: set[BrokerId] = set()
        self.paused: set[BrokerId] = set()
        self.topics: set[str] = set()

    def move(self, broker: BrokerId, before: set[BrokerId], after: set[BrokerId]) -> None:
        before.remove(broker)
        after.add(broker)
