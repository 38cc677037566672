"""The library's scenarios with nothing happening in them: what is expected of each must not hold then."""

from collections.abc import Mapping
from typing import Any

READY: dict[str, Any] = {"wait": {"event": {"kind": "ControllerFailover", "step": "Ready to serve as the new controller"}}}


def _with_topics(controller: int, brokers: int, **names: str) -> list[Any]:
    """Everybody starts, `controller` in that role, and the topics are created; then names are given, and that is all."""
    others = [f"broker-{broker}" for broker in range(1, brokers + 1) if broker != controller]
    return [
        {"start": f"broker-{controller}"},
        READY,
        {"start": others},
        {"wait": {"event": {"kind": "BrokerChange", "brokers": list(range(1, brokers + 1))}}},
        {"create-topic": "all"},
        {"wait": {"in-sync": "all"}},
        *({"reconnect": broker, "as": alias.replace("_", "-")} for alias, broker in names.items()),
    ]


_PLACED = {"version": 1, "partitions": {"0": [1, 2], "1": [2, 3], "2": [3, 4], "3": [4, 5]}}

HARMLESS: Mapping[str, list[Any]] = {
    "bounced-broker": _with_topics(1, 3),
    "broker-crash-and-return": _with_topics(1, 3, crashed="broker-2"),
    "controller-and-leader-lost": _with_topics(1, 4, controller_lost="broker-1", leader_lost="broker-2"),
    "controller-failover": [
        {"start": "all"},
        READY,
        {"reconnect": "controller", "as": "first"},
        {"reconnect": "controller", "as": "second"},
    ],
    "controller-race": [{"start": "broker-1"}, READY],
    "deletion-with-dead-broker": _with_topics(1, 3),
    "last-isr-member-lost": _with_topics(1, 3),
    # The hand-made write changes nothing; it is there because after it nobody can say which partitions are unknown.
    "partition-expansion": [*_with_topics(1, 6), {"zk-set": {"path": "/brokers/topics/orders", "data": _PLACED}}],
    "preferred-election-after-rolling-restart": _with_topics(1, 3),
    "rack-loss": _with_topics(3, 6),
    "reassignment-cancelled": _with_topics(1, 4),
    "reassignment-controller-killed": _with_topics(1, 4, first="broker-1"),
    "rolling-restart": _with_topics(1, 3),
    "rolling-restart-without-controlled-shutdown": _with_topics(1, 3),
    "session-expiry": [{"start": "all"}, READY, {"reconnect": "controller", "as": "victim"}],
    "zombie-controller": [
        {"start": "all"},
        READY,
        {"reconnect": "controller", "as": "first"},
        {"reconnect": "controller", "as": "second"},
    ],
    "zookeeper-leader-loss": [
        {"start": "all"},
        READY,
        {"zookeeper": {"pause": "follower"}, "as": "lost"},
        {"zookeeper": {"resume": "lost"}},
    ],
    "zookeeper-quorum-loss": [{"start": "all"}, READY, {"reconnect": "controller", "as": "lost"}],
}
"""Timetables in which nothing happens to anybody, but every name is given."""

SURVIVING: Mapping[str, list[str]] = {
    "bounced-broker": [
        "The partition it does not host was not touched.",
        "The controller woke up in time to keep its role.",
    ],
    "broker-crash-and-return": ["The controller was never in question."],
    "controller-failover": ["Nothing that it wrote after its freeze was applied."],
    "controller-race": ["One broker wins, and its controller epoch is 1.", "/controller names the winner"],
    "preferred-election-after-rolling-restart": [
        "Every partition is led by the first of its replicas again.",
        "The ISR was not touched.",
    ],
    "rack-loss": ["Placed by racks, no partition has both replicas in one", "Everybody is back and in sync."],
    "zombie-controller": ["The second one kept its session and its registration all along."],
    "zookeeper-leader-loss": [
        "Nobody loses the controller role.",
        "No session expires.",
        "/controller was there all the time.",
    ],
}
"""What holds all the same, of the others nothing: that something bad has not happened is true where nothing happens."""
