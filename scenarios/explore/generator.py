"""Generate a whole scenario from a seed: a cluster, clients, and a timetable of faults and admin actions with pauses.

The result is a tree as in a scenario file, in which every step is skipped if it cannot be executed. The same profile and
seed give the same tree, whatever else was generated before.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.controller.capabilities import RELEASES, is_known_to
from kcsim.scenarios.explore.generator_state import GeneratorState, Upgrades, one_or_list
from kcsim.scenarios.explore.profile import Profile
from kcsim.scenarios.explore.step_generators import STEP_GENERATORS

Tree = dict[str, Any]
"""A scenario as in a file: mappings, lists, text and numbers."""

TOPICS = ("orders", "clicks", "payments")
PRODUCERS = ("writer",)
CONSUMERS = ("reader-a", "reader-b")
GROUP = "readers"
TRIES = 100
"""How often another action is drawn if the drawn one has no possible target."""
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
"""The values that are drawn for a cluster's settings, each with equal probability."""
FOR_CONSUMERS: Mapping[str, Any] = {
    "offsets.topic.num.partitions": 2,
    "offsets.topic.replication.factor": 2,
    "group.initial.rebalance.delay.ms": 500,
}
LOSS = "no-acknowledged-record-is-lost"
SETTLE: Tree = {"wait": {"event": {"kind": "RunStarted"}}, "after": "20s"}
"""The last step of a scenario without healing: time for the consequences of its steps; invariants are judged after it."""
TAKEN_OVER = "Starting the controller scheduler"
"""The last step of a failover."""


def generate(profile: Profile, seed: int) -> Tree:
    """Generate the scenario of a seed; it loads without problems."""
    numbers = random.Random(f"explore {profile.name} {seed}")
    cluster, state = _cluster(profile, numbers)
    workload = _workload(profile, state)
    if state.consumers:
        cluster["settings"] |= FOR_CONSUMERS
    timetable = [*_beginning(state), *_random_steps(profile, state)]
    is_healed = not state.chance(profile.unhealed)
    zookeeper = {"members": state.members} if state.members > 1 else None
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


def _cluster(profile: Profile, numbers: random.Random) -> tuple[Tree, GeneratorState]:
    brokers = range(1, numbers.randint(*profile.brokers) + 1)
    racks = numbers.randint(2, 3) if numbers.random() < profile.racks else 0
    members = numbers.choice(profile.zookeeper_members)
    settings = {name: numbers.choice(values) for name, values in CLUSTER_SETTINGS.items()}
    upgrades = _upgrades(profile, numbers)
    versions = upgrades.versions
    settings[PROTOCOL_VERSION] = numbers.choice(versions) if len(versions) > 1 else versions[0]
    state = GeneratorState(numbers, brokers, min(racks, len(brokers)), members, {})
    state.upgrades = replace(upgrades, version_of=dict.fromkeys(state.names, settings[PROTOCOL_VERSION]))
    state.up = state.names
    for name in TOPICS[: numbers.randint(*profile.topics)]:
        factor = max(1, numbers.randint(*profile.replication_factor))
        state.topics[name] = [state.replicas(factor) for _ in range(numbers.randint(*profile.partitions))]
    state.created = [name for name in state.topics if not state.chance(profile.created_later)]
    topics = {name: {"assignment": dict(enumerate(map(list, parts)))} for name, parts in state.topics.items()}
    cluster: Tree = {"brokers": len(brokers), "settings": settings, "topics": topics}
    if upgrades.releases:
        cluster["release"] = upgrades.releases[0]
    if state.racks:
        cluster["racks"] = state.racks
    return cluster, state


def _upgrades(profile: Profile, numbers: random.Random) -> Upgrades:
    """Draw the oldest release of a cluster, from which the others that its brokers may have follow."""
    if not profile.releases:
        return Upgrades([], profile.protocol_versions)
    oldest = numbers.choice(profile.releases)
    releases = sorted((release for release in profile.releases if is_known_to(oldest, release)), key=RELEASES.index)
    versions = [version for version in profile.protocol_versions if is_known_to(version, oldest)]
    return Upgrades(releases, versions)


def _workload(profile: Profile, state: GeneratorState) -> Tree | None:
    workload: Tree = {}
    if not state.created:  # the clients would have no topic
        return None
    if state.chance(profile.producers):
        acks = state.choose(("all", "all", "1", "0"))
        settings = {
            "acks": acks,
            "enable.idempotence": acks == "all" and state.chance(0.5),
            "linger.ms": 100,
            "request.timeout.ms": 2_000,
            "delivery.timeout.ms": 20_000,
        }
        producer = {"topics": one_or_list(list(state.created)), "rate": state.choose((5, 20)), "settings": settings}
        workload["producers"] = dict.fromkeys(PRODUCERS, producer)
        state.producers = PRODUCERS
    if state.chance(profile.consumers):
        group = {
            "members": list(CONSUMERS),
            "topics": one_or_list(list(state.created)),
            "assignors": state.choose(("range", "roundrobin", "sticky", "cooperative-sticky")),
            "settings": {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000, "auto.offset.reset": "earliest"},
        }
        workload["groups"] = {GROUP: group}
        state.consumers = CONSUMERS
    return workload or None


def _invariants(workload: Tree | None) -> Tree | None:
    """Return the selection of invariants: None for all, or all except LOSS if a producer has other acks than "all".

    Without acks=all nothing promises LOSS: a record may be on the leader alone, and be lost with it.
    """
    producers = (workload or {}).get("producers", {}).values()
    promises_all = all(producer["settings"]["acks"] == "all" for producer in producers)
    return None if promises_all else {"except": [LOSS]}


# --- the timetable ---------------------------------------------------------------------------------------------------------


def _beginning(state: GeneratorState) -> list[Tree]:
    """Return the first steps: all brokers start, topics are created, clients are started; some topics are left for later."""
    steps: list[Tree] = [
        {"start": "all"},
        {"wait": {"registered": "all", "event": {"kind": "ControllerFailover", "step": TAKEN_OVER}, "within": "20s"}},
    ]
    if state.created:
        steps.append({"create-topic": one_or_list(list(state.created))})
        if state.chance(0.8):
            steps.append({"wait": {"offline-partitions": 0, "within": "20s"}, "if-possible": True})
    if state.producers:
        steps.append({"start-workload": "all"})
    if state.consumers:
        steps.append({"start-consumers": "all"})
    return steps


def _random_steps(profile: Profile, state: GeneratorState) -> list[Tree]:
    shortest, longest = profile.shortest_pause, profile.longest_pause
    return [
        _random_step(profile, state) | {"after": state.ms(shortest, longest), "if-possible": True}
        for _ in range(state.rng.randint(*profile.steps))
    ]


def _random_step(profile: Profile, state: GeneratorState) -> Tree:
    names = [name for name in STEP_GENERATORS if profile.weights.get(name, 0)]
    weights = [profile.weights[name] for name in names]
    for _ in range(TRIES):
        (name,) = state.rng.choices(names, weights)
        if (step := STEP_GENERATORS[name](state)) is not None:
            return step
    return {"zk-delete": "/controller"}  # no action of the profile has a possible target
