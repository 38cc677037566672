"""The library's scenarios with timetables in which nothing happens: the expectations of each must then be violated."""

from collections.abc import Mapping
from typing import Any

READY: dict[str, Any] = {"wait": {"event": {"kind": "ControllerFailover", "step": "Starting the controller scheduler"}}}


_NOTHING: list[Any] = [{"start": "all"}, READY]


def _with_topics(controller: int, brokers: int, **names: str) -> list[Any]:
    """Return a timetable that starts the brokers, with `controller` in that role, and creates the topics.

    Its only further steps bind the names.
    """
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


def _with_consumers(group: str) -> list[Any]:
    """Return a timetable in which all topics exist when the consumers start, and no consumer leaves."""
    stable = {"wait": {"groups": {group: {"state": "Stable", "generation": 1}}, "within": "30s"}}
    heard = {"wait": {"events": {"of": {"kind": "PartitionsAssigned", "generation": 1}, "at-least": 2}}}
    return [*_with_topics(1, 3), {"start-consumers": "all"}, stable, heard]


def _naming(*paths: str) -> list[Any]:
    """Return steps that do nothing but name znodes that nobody creates, so that expectations may name them."""
    return [{"zk-set": {"path": path, "data": None}, "if-possible": True} for path in paths]


_ONE_PLACED = {"version": 1, "partitions": {"0": [1, 2]}}
_PLACED = {"version": 1, "partitions": {"0": [1, 2], "1": [2, 3], "2": [3, 4], "3": [4, 5]}}

HARMLESS: Mapping[str, list[Any]] = {
    "bounced-broker": _with_topics(1, 3),
    "broker-crash-and-return": _with_topics(1, 3, crashed="broker-2"),
    "broker-without-replicas-dies": _with_topics(1, 4),
    "consumer-crash-cooperative-sticky": _with_consumers("billing"),
    "consumer-crash-range": _with_consumers("billing"),
    "consumer-crash-round-robin": _with_consumers("billing"),
    "consumer-crash-sticky": _with_consumers("billing"),
    "controller-and-leader-lost": _with_topics(1, 4, controller_lost="broker-1", leader_lost="broker-2"),
    "controller-failover": [
        {"start": "all"},
        READY,
        {"reconnect": "controller", "as": "first"},
        {"reconnect": "controller", "as": "second"},
    ],
    "controller-frozen-under-producers": _with_topics(1, 3),
    "controller-lost-with-its-replicas": _with_topics(1, 3, controller_lost="broker-1"),
    "controller-race": [{"start": "broker-1"}, READY],
    "deletion-with-dead-broker": _with_topics(1, 3),
    "fault-cancelled-to-dead-replicas": _with_topics(1, 3),
    "fault-controller-deleted-during-failover": _NOTHING,
    "fault-controller-epoch-lowered": _with_topics(1, 3),
    "fault-controller-epoch-touched": _with_topics(1, 3),
    "fault-controller-epoch-unreadable": _NOTHING,
    "fault-controller-overwritten": _with_topics(1, 3),
    "fault-controller-unreadable": _with_topics(1, 3),
    "fault-deletion-during-reassignment": _with_topics(1, 3),
    "fault-deletion-stuck-in-reassignment": _with_topics(1, 3),
    "fault-deletion-without-state": _with_topics(1, 3),
    "fault-elections-without-end": _with_topics(1, 3),
    "fault-elections-without-end-reassigned": _with_topics(1, 4),
    "fault-empty-replica-list": [*_with_topics(1, 2), *_naming("/brokers/topics/hollow")],
    "fault-isr-change-is-not-repeated": _with_topics(1, 3),
    "fault-isr-change-is-refused-after-a-lost-answer": _with_topics(1, 3),
    "fault-isr-change-stays-pending": _with_topics(1, 3),
    "fault-isr-names-no-replica": _with_topics(1, 4),
    "fault-leader-without-a-successor": _with_topics(1, 3),
    "fault-left-over-state": [*_with_topics(1, 2), {"zk-set": {"path": "/brokers/topics/orders", "data": _ONE_PLACED}}],
    "fault-leftover-requests": _with_topics(1, 2),
    "fault-log-of-a-deleted-topic": _with_topics(2, 3),
    "fault-own-id-in-controller": _with_topics(1, 2),
    "fault-reassigned-anew": _with_topics(4, 4),
    "fault-reassigned-to-nobody": _with_topics(1, 2),
    "fault-recreated-over-deleted-znodes": _with_topics(1, 2),
    "fault-replica-named-twice": [*_NOTHING, *_naming("/brokers/topics/doubled")],
    "fault-replaced-reassignment-takes-the-leader": _with_topics(4, 4),
    "fault-replicas-removed-by-hand": _with_topics(1, 2),
    "fault-request-unseen": _with_topics(1, 3),
    "fault-stray-replica": _with_topics(1, 3),
    "fault-unreadable-registration": [*_with_topics(1, 3), *_naming("/brokers/ids/7")],
    "fault-unreadable-request": _NOTHING,
    "fault-unreadable-state": _with_topics(1, 2),
    "fault-unreadable-topic": [*_with_topics(1, 2), *_naming("/brokers/topics/torn")],
    "fault-reassigned-without-state": _with_topics(1, 2),
    "fault-registration-deleted": _with_topics(1, 2),
    "fault-state-deleted": _with_topics(1, 3),
    "follower-leads-before-it-hears": _with_topics(1, 4),
    "follower-outlives-its-session": _with_topics(1, 3),
    "isr-below-min-insync-replicas": _with_topics(1, 3),
    "isr-change-asked-of-a-frozen-broker": _with_topics(1, 3),
    "isr-shrinks-without-zookeeper": _with_topics(1, 3),
    "last-isr-member-lost": _with_topics(1, 3),
    "leader-asks-a-former-controller": _with_topics(1, 3),
    "leader-crash-acks-all": _with_topics(1, 3, crashed="broker-2"),
    "leader-crash-acks-one": _with_topics(1, 3),
    "leader-cut-off-from-controller": _with_topics(1, 3),
    "leader-cut-off-from-followers": _with_topics(1, 4),
    "leader-cut-off-from-zookeeper": _with_topics(1, 3),
    "lost-answer-duplicates": _with_topics(1, 3),
    "migration-to-kraft": _with_topics(1, 3),
    "min-insync-replicas-refuse": _with_topics(1, 3),
    "one-way-partition": _with_topics(1, 3, crashed="broker-2"),
    # The hand-made write changes nothing. It is there because afterwards the loader cannot know which partitions exist.
    "partition-expansion": [*_with_topics(1, 6), {"zk-set": {"path": "/brokers/topics/orders", "data": _PLACED}}],
    "preferred-election-after-rolling-restart": _with_topics(1, 3),
    "producer-ids-without-a-controller": _with_topics(1, 3),
    "protocol-version-lowered": _with_topics(1, 3),
    "rack-loss": _with_topics(3, 6),
    "reassignment-cancelled": _with_topics(1, 4),
    "reassignment-controller-killed": _with_topics(1, 4, first="broker-1"),
    "reassignment-waits-for-a-dead-broker": _with_topics(1, 3),
    "regex-subscription-meets-new-topic": _with_consumers("shipping"),
    "restart-unseen": _with_topics(1, 3),
    "rolling-restart": _with_topics(1, 3),
    "rolling-restart-without-controlled-shutdown": _with_topics(1, 3),
    "rolling-restart-of-twelve": _with_topics(1, 12),
    "rolling-upgrade": _with_topics(1, 3),
    "segments-rolled": _with_topics(1, 2),
    "session-expiry": [{"start": "all"}, READY, {"reconnect": "controller", "as": "victim"}],
    "slow-follower-leaves-and-rejoins": _with_topics(1, 4),
    "stale-event-after-expiry": _with_topics(1, 2),
    "topic-deleted-after-a-refused-replica": _with_topics(1, 3),
    "topic-recreated-while-a-broker-was-away": _with_topics(1, 3),
    "two-racks-lost": _with_topics(1, 6),
    "unclean-election-loses-counted-records": _with_topics(1, 3),
    "zombie-controller": [
        {"start": "all"},
        READY,
        {"reconnect": "controller", "as": "first"},
        {"reconnect": "controller", "as": "second"},
    ],
    "zombie-deletes-topic": _with_topics(1, 3, zombie="broker-1"),
    "zookeeper-leader-loss": [
        {"start": "all"},
        READY,
        {"zookeeper": {"pause": "follower"}, "as": "lost"},
        {"zookeeper": {"resume": "lost"}},
    ],
    "zookeeper-quorum-loss": [{"start": "all"}, READY, {"reconnect": "controller", "as": "lost"}],
    "zookeeper-quorum-lost-under-producers": _with_topics(1, 3),
}
"""Timetables without any fault, in which every name that the expectations use is still bound."""

SURVIVING: Mapping[str, list[str]] = {
    "bounced-broker": [
        "The partition it does not host was not touched.",
        "The controller woke up in time to keep its role.",
    ],
    "broker-crash-and-return": ["The controller was never in question."],
    "consumer-crash-cooperative-sticky": ["No member gives up a partition"],
    "controller-failover": ["Nothing that it wrote after its freeze was applied."],
    "controller-frozen-under-producers": ["The controller stays the controller"],
    "controller-race": ["One broker wins, and its controller epoch is 1.", "/controller names the winner"],
    "isr-shrinks-without-zookeeper": ["Nobody has lost a session"],
    "leader-cut-off-from-controller": ["The controller stays the controller"],
    "leader-cut-off-from-followers": ["Where nothing is written", "No session expired and no leader was elected."],
    "preferred-election-after-rolling-restart": [
        "Every partition is led by the first of its replicas again.",
        "The ISR was not touched.",
    ],
    "rack-loss": ["Placed by racks, no partition has both replicas in one", "All brokers are back and in sync."],
    "rolling-restart-of-twelve": ["All are in sync again."],
    "rolling-upgrade": ["In the end all brokers run"],
    "two-racks-lost": ["All brokers are back and in sync"],
    "slow-follower-leaves-and-rejoins": ["No broker died and no leader was elected for it"],
    "regex-subscription-meets-new-topic": [
        "The topic that does not match is assigned to no member",
        "The new topic was consumed as soon as it was assigned",
    ],
    "zombie-controller": ["The second one kept its session and its registration all along."],
    "zookeeper-leader-loss": [
        "No broker loses the controller role.",
        "No session expires.",
        "/controller was there all the time.",
    ],
    "zookeeper-quorum-lost-under-producers": ["No session expires"],
}
"""Scenario -> the beginnings of those of its claims that hold all the same.

Such a claim states that something bad has not happened, which is true where nothing happens. No other claim holds.
"""
