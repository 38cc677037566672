"""Partitions that a loss cannot change are not simulated: the answer is the same as if they were."""

import random

import msgspec
import pytest

from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    ElectionRequest,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)
from kcsim.scenarios.what_if import what_if_run
from kcsim.scenarios.what_if.untouched_partitions import untouched_partitions, without_partitions
from kcsim.scenarios.what_if.what_if_run import Loss, WhatIfQuestion, WhatIfStep, ask_what_if
from kcsim.vocabulary import TopicPartition
from tests.scenarios.what_if.test_what_if_run import led

BROKERS = range(1, 8)
ABSENT = 7


def drawn_snapshot(seed: int) -> ControlPlaneSnapshot:
    """Return six registered brokers and one that is absent, with partitions in all kinds of states."""
    numbers = random.Random(seed)
    topics = []
    for name in ("clicks", "orders"):
        partitions = []
        for number in range(8):
            replicas = tuple(numbers.sample(BROKERS, numbers.randint(1, 3)))
            alive = [replica for replica in replicas if replica != ABSENT]
            isr = tuple(alive if numbers.random() < 0.8 else alive[:1]) or replicas[:1]
            partitions.append(led(number, replicas, isr[0] if alive else None, isr))
        topics.append(SnapshotTopic(name, tuple(partitions)))
    brokers = tuple(SnapshotBroker(broker, broker) for broker in BROKERS if broker != ABSENT)
    return ControlPlaneSnapshot("drawn", "t", controller=3, controller_epoch=5, brokers=brokers, topics=tuple(topics))


def served(steps: tuple[WhatIfStep, ...]) -> list[object]:
    """Return what does not depend on the order in which random latencies are drawn."""
    return [
        (of.partitions, of.registered, of.under_replicated, of.shares, step.what, step.unclean, step.unavailable)
        for step in steps
        for of in [step.health]
    ]


@pytest.mark.parametrize("seed", range(6))
def test_the_answer_is_the_one_of_the_whole_cluster(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    snapshot = drawn_snapshot(seed)
    question = WhatIfQuestion((Loss("broker-3", (3,)), Loss("broker-1", (1,))))
    assert untouched_partitions(snapshot, {1, 3}, {})
    part = ask_what_if(snapshot, question)
    monkeypatch.setattr(what_if_run, "untouched_partitions", lambda *_: {})
    whole = ask_what_if(snapshot, question)
    assert served(part.steps) == served(whole.steps)


def test_a_partition_is_simulated_if_anything_about_it_can_change() -> None:
    partitions = (
        led(0, (1, 2), 1, (1, 2)),  # stays as it is without broker 3
        led(1, (1, 3), 1, (1, 3)),
        led(2, (1, 2), 1, (1,)),
        led(3, (1, 2), None, (1, 2)),
        led(4, (1, ABSENT), 1, (1,)),
        msgspec.structs.replace(led(5, (1, 2), 1, (1, 2)), adding=(2,)),
        led(6, (1, 2), 1, (1, 2)),  # an election was requested
        SnapshotPartition(7, (1, 2)),  # new, without a state
        msgspec.structs.replace(led(8, (1, 2), 1, (1, 2)), is_recovering=True),
    )
    topics = (SnapshotTopic("gone", (led(0, (1, 2), 1, (1, 2)),)), SnapshotTopic("orders", partitions))
    requests = (ElectionRequest("orders", 6),)
    brokers = tuple(SnapshotBroker(broker, broker) for broker in (1, 2, 3))
    snapshot = ControlPlaneSnapshot(
        "test", "t", brokers=brokers, topics=topics, topic_deletions=("gone",), election_requests=requests
    )
    found = untouched_partitions(snapshot, {3}, {})
    assert list(found) == [TopicPartition("orders", 0)]
    assert untouched_partitions(snapshot, {3}, {"auto.leader.rebalance.enable": True}) == {}
    left = without_partitions(snapshot, found)
    assert [len(topic.partitions) for topic in left.topics] == [1, 8]
    assert [topic.name for topic in without_partitions(snapshot, dict(snapshot.partitions())).topics] == []


def test_a_cluster_without_topics_can_lose_a_broker() -> None:
    snapshot = msgspec.structs.replace(drawn_snapshot(0), topics=())
    steps = ask_what_if(snapshot, WhatIfQuestion((Loss("broker-3", (3,)),))).steps
    assert [dict(step.health.partitions) for step in steps] == [{}, {}, {}]
    assert steps[1].health.controller not in (None, 3)


def test_nothing_is_left_out_of_a_rolling_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker is away for a time: its partitions get other leaders."""
    monkeypatch.setattr(what_if_run, "untouched_partitions", lambda *_: pytest.fail("asked for"))
    before, restarted = ask_what_if(drawn_snapshot(1), WhatIfQuestion(restarts=True)).steps
    assert restarted.health.led_otherwise(before.health)
