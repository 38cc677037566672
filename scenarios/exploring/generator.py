"""Draws a whole scenario from a seed: a cluster, clients, and a timetable of faults and admin acts with pauses between.

What comes out is a tree as a scenario file has it, with every step passed over where it cannot be done. The same profile and
seed give the same tree, whatever else was drawn before.
"""

import random
from collections.abc import Mapping
from typing import Any

from kcsim.scenarios.exploring.deeds import DEEDS
from kcsim.scenarios.exploring.profile import Profile
from kcsim.scenarios.exploring.situation import Situation, one_or_list

Tree = dict[str, Any]
"""A scenario as a file has it: mappings, lists, text and numbers."""

TOPICS = ("orders", "clicks", "payments")
PRODUCERS = ("writer",)
CONSUMERS = ("reader-a", "reader-b")
GROUP = "readers"
TRIES = 100
"""How often a deed is drawn anew for want of anybody to do it to."""
CLUSTER_SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "zookeeper.session.timeout.ms": (1_000, 2_000, 4_000),
    "replica.lag.time.max.ms": (2_000, 4_000, 10_000),
    "replica.fetch.wait.max.ms": (200, 500),
    "auto.leader.rebalance.enable": (True, False),
    "leader.imbalance.check.interval.seconds": (5, 20),
    "leader.imbalance.per.broker.percentage": (0, 10),
    "unclean.leader.election.enable": (False, False, False, True),
    "min.insync.replicas": (1, 2),
    "controlled.shutdown.enable": (True, True, False),
    "controlled.shutdown.max.retries": (1, 3),
    "controlled.shutdown.retry.backoff.ms": (300, 1_000),
    "controller.socket.timeout.ms": (2_000, 30_000),
    "log.dirs": ("/disk-1", "/disk-1,/disk-2"),
}
"""What is drawn for a cluster, each evenly."""
FOR_CONSUMERS: Mapping[str, Any] = {
    "offsets.topic.num.partitions": 2,
    "offsets.topic.replication.factor": 2,
    "group.initial.rebalance.delay.ms": 500,
}
LOSS = "no-acknowledged-record-is-lost"
SETTLE: Tree = {"wait": {"event": {"kind": "RunStarted"}}, "after": "20s"}
"""The last step where nothing is healed: a while for what was done to take its course; what must hold then is judged."""
TAKEN_OVER = "Starting the controller scheduler"
"""The last step of a failover."""


def generate(profile: Profile, seed: int) -> Tree:
    """Draw the scenario of a seed; it loads without a problem."""
    numbers = random.Random(f"explore {profile.name} {seed}")
    cluster, situation = _cluster(profile, numbers)
    workload = _workload(profile, situation)
    if situation.consumers:
        cluster["settings"] |= FOR_CONSUMERS
    timetable = [*_beginning(situation), *_deeds(profile, situation)]
    is_healed = not situation.is_so(profile.unhealed)
    zookeeper = {"members": situation.members} if situation.members > 1 else None
    parts = {
        "name": f"explore-{profile.name}-{seed}",
        "description": f"A random timetable: profile {profile.name}, seed {seed}.",
        "cluster": cluster,
        "zookeeper": zookeeper,
        "workload": workload,
        "timetable": timetable if is_healed else [*timetable, SETTLE],
        "afterwards": {"heal": True, "within": "60s"} if is_healed else None,
        "invariants": _invariants(workload),
    }
    return {key: part for key, part in parts.items() if part is not None}


# --- the cluster -----------------------------------------------------------------------------------------------------------


def _cluster(profile: Profile, numbers: random.Random) -> tuple[Tree, Situation]:
    brokers = range(1, numbers.randint(*profile.brokers) + 1)
    racks = numbers.randint(2, 3) if numbers.random() < profile.racks else 0
    members = numbers.choice(profile.zookeeper_members)
    settings = {name: numbers.choice(values) for name, values in CLUSTER_SETTINGS.items()}
    situation = Situation(numbers, brokers, min(racks, len(brokers)), members, {})
    situation.up = situation.names
    for name in TOPICS[: numbers.randint(*profile.topics)]:
        factor = max(1, numbers.randint(*profile.replication_factor))
        situation.topics[name] = [situation.replicas(factor) for _ in range(numbers.randint(*profile.partitions))]
    situation.created = [name for name in situation.topics if not situation.is_so(profile.created_later)]
    topics = {name: {"assignment": dict(enumerate(map(list, parts)))} for name, parts in situation.topics.items()}
    cluster: Tree = {"brokers": len(brokers), "settings": settings, "topics": topics}
    if situation.racks:
        cluster["racks"] = situation.racks
    return cluster, situation


def _workload(profile: Profile, situation: Situation) -> Tree | None:
    workload: Tree = {}
    if not situation.created:  # nobody could begin
        return None
    if situation.is_so(profile.producers):
        acks = situation.one(("all", "all", "1", "0"))
        settings = {
            "acks": acks,
            "enable.idempotence": acks == "all" and situation.is_so(0.5),
            "linger.ms": 100,
            "request.timeout.ms": 2_000,
            "delivery.timeout.ms": 20_000,
        }
        producer = {"topics": one_or_list(list(situation.created)), "rate": situation.one((5, 20)), "settings": settings}
        workload["producers"] = dict.fromkeys(PRODUCERS, producer)
        situation.producers = PRODUCERS
    if situation.is_so(profile.consumers):
        group = {
            "members": list(CONSUMERS),
            "topics": one_or_list(list(situation.created)),
            "assignors": situation.one(("range", "roundrobin", "sticky", "cooperative-sticky")),
            "settings": {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000, "auto.offset.reset": "earliest"},
        }
        workload["groups"] = {GROUP: group}
        situation.consumers = CONSUMERS
    return workload or None


def _invariants(workload: Tree | None) -> Tree | None:
    """All of them, but for what was not promised: records that only the leader had to have may be lost with it."""
    producers = (workload or {}).get("producers", {}).values()
    promises_all = all(producer["settings"]["acks"] == "all" for producer in producers)
    return None if promises_all else {"except": [LOSS]}


# --- the timetable ---------------------------------------------------------------------------------------------------------


def _beginning(situation: Situation) -> list[Tree]:
    """Everybody starts, topics are made, and clients set to work; some topics are left for later."""
    steps: list[Tree] = [
        {"start": "all"},
        {"wait": {"registered": "all", "event": {"kind": "ControllerFailover", "step": TAKEN_OVER}, "within": "20s"}},
    ]
    if situation.created:
        steps.append({"create-topic": one_or_list(list(situation.created))})
        if situation.is_so(0.8):
            steps.append({"wait": {"offline-partitions": 0, "within": "20s"}, "if-possible": True})
    if situation.producers:
        steps.append({"start-workload": "all"})
    if situation.consumers:
        steps.append({"start-consumers": "all"})
    return steps


def _deeds(profile: Profile, situation: Situation) -> list[Tree]:
    shortest, longest = profile.shortest_pause, profile.longest_pause
    return [
        _one_deed(profile, situation) | {"after": situation.ms(shortest, longest), "if-possible": True}
        for _ in range(situation.numbers.randint(*profile.steps))
    ]


def _one_deed(profile: Profile, situation: Situation) -> Tree:
    names = [name for name in DEEDS if profile.weights.get(name, 0)]
    weights = [profile.weights[name] for name in names]
    for _ in range(TRIES):
        (name,) = situation.numbers.choices(names, weights)
        if (step := DEEDS[name](situation)) is not None:
            return step
    return {"zk-delete": "/controller"}  # every one of the profile's deeds needs somebody that there is not
