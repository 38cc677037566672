"""One row of the event log as the fold reads it: the columns that it needs, and which partition the row is about."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kcsim.zk.events import Event, EventKind


class Fact(NamedTuple):
    """The columns of the event log that a fold reads, under their names there.

    `topic` and `partition` also say whose state znode a change is of, where the event log has its path alone.
    """

    seq: int
    t_ms: int
    node: str
    kind: str
    cause: int | None = None
    path: str | None = None
    data: str | None = None
    zk_version: int | None = None
    session_id: str | None = None
    how_many: int | None = None  # the column `count`, which is what a tuple calls something else
    broker_id: int | None = None
    controller_epoch: int | None = None
    topic: str | None = None
    partition: int | None = None
    leader: int | None = None
    leader_epoch: int | None = None
    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    brokers: Sequence[int] | None = None
    partitions: Sequence[str] | None = None
    event: str | None = None
    state: str | None = None
    step: str | None = None
    error: str | None = None
    rule: str | None = None
    inputs: str | None = None
    detail: str | None = None


FACT_COLUMNS = tuple("count" if name == "how_many" else name for name in Fact._fields)

CREATED, CHANGED, DELETED = (str(k) for k in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED))
ZNODE_KINDS = frozenset({CREATED, CHANGED, DELETED})

STATE_PATH = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
STATE_PATH_SQL = "^/brokers/topics/([^/]+)/partitions/([0-9]+)/state$"
"""The same for Spark SQL."""

PARTITION_KINDS = frozenset(
    str(kind)
    for kind in (
        EventKind.LEADER_ELECTION,
        EventKind.REPLICA_REMOVED_FROM_ISR,
        EventKind.LEADER_EPOCH_BUMPED,
        EventKind.PARTITION_REASSIGNMENT,
        EventKind.PARTITION_STATE_CHANGE,
        EventKind.REPLICA_STATE_CHANGE,
    )
)
"""What is read of a partition's own events, beside the changes of its state znode."""

CLUSTER_KINDS = frozenset(
    str(kind)
    for kind in (
        EventKind.ELECTION_WON,
        EventKind.CONTROLLER_FAILOVER,
        EventKind.CONTROLLER_RESIGNED,
        EventKind.CONTROLLER_EVENT_QUEUED,
        EventKind.CONTROLLER_EVENT_BEGUN,
        EventKind.BROKER_CHANGE,
        EventKind.TOPIC_CHANGE,
        EventKind.TOPIC_DELETION,
        EventKind.CONTROLLED_SHUTDOWN,
        EventKind.LEADER_REBALANCE,
        EventKind.LOG_DIR_FAILED,
        EventKind.PARTITION_STATE_CHANGE,
        EventKind.REPLICA_STATE_CHANGE,
    )
)
"""What is read of the events that are not of one partition, beside the changes of the znodes below."""

CLUSTER_PATHS_PATTERN = (
    r"^(/brokers/ids/[^/]+|/brokers/topics/[^/]+|/config/topics/[^/]+|/config/brokers/[^/]+|/controller_epoch)$"
)
"""The znodes whose changes a timeline reads: registrations, topics, settings of topics and brokers."""

EVENTS_BEGUN = (
    "ControlledShutdown",
    "ReplicaLeaderElection",
    "UncleanLeaderElectionEnable",
    "TopicUncleanLeaderElectionEnable",
    "TopicDeletion",
)
"""The controller events whose beginning, or queueing, is read."""


_CLUSTER_PATH = re.compile(CLUSTER_PATHS_PATTERN)


def fact_of(event: Event) -> Fact | None:
    """The row of an event; None for one that no fold reads."""
    kind = str(event.kind)
    if kind in ZNODE_KINDS:
        path = event.path or ""
        of_state = STATE_PATH.fullmatch(path)
        if of_state is None:
            return _fact(event) if _CLUSTER_PATH.match(path) else None
        return _fact(event)._replace(topic=of_state[1], partition=int(of_state[2]))
    if event.partition is not None:
        return _fact(event) if kind in PARTITION_KINDS else None
    if kind not in CLUSTER_KINDS or (event.event is not None and not event.event.startswith(EVENTS_BEGUN)):
        return None
    return _fact(event)


def facts_in_order(facts: Iterable[Fact]) -> Iterator[Fact]:
    """As a dataset has them: cluster-wide ones first, then one partition after the other, each by seq."""
    return iter(sorted(facts, key=_place))


def _place(fact: Fact) -> tuple[bool, str, int, int]:
    if fact.partition is None:
        return (False, "", -1, fact.seq)
    return (True, fact.topic or "", fact.partition, fact.seq)


def _fact(event: Event) -> Fact:
    return Fact._make(str(event.kind) if name == "kind" else getattr(event, name) for name in FACT_COLUMNS)
