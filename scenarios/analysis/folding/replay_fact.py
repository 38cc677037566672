"""One row of the event log as the fold reads it: the columns that it needs, and the partition that the row concerns."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kcsim.eventlog.events import Event, EventKind


class ReplayFact(NamedTuple):
    """The columns of the event log that a fold reads, under their names there.

    `topic` and `partition` also name the partition whose state znode changed, where the event log has only the path.
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
    how_many: int | None = None  # the column `count`; tuples have a method of that name
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
    started: Sequence[int] | None = None
    stopped: Sequence[int] | None = None
    bounced: Sequence[int] | None = None
    new_topics: Sequence[str] | None = None
    deleted_topics: Sequence[str] | None = None
    adding_replicas: Sequence[int] | None = None
    removing_replicas: Sequence[int] | None = None
    unclean_leader_election_enable: bool | None = None


FACT_COLUMNS = tuple("count" if name == "how_many" else name for name in ReplayFact._fields)

CREATED, CHANGED, DELETED = (str(k) for k in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED))
ZNODE_KINDS = frozenset({CREATED, CHANGED, DELETED})

STATE_PATH = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
STATE_PATH_SQL = "^/brokers/topics/([^/]+)/partitions/([0-9]+)/state$"
"""STATE_PATH for Spark SQL."""

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
"""The kinds of a partition's own events that are read, besides the changes of its state znode."""

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
"""The kinds of events of no single partition that are read, besides the changes of the znodes below."""

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
"""The controller events of which the begin event, or the queued event, is read."""


_CLUSTER_PATH = re.compile(CLUSTER_PATHS_PATTERN)


def fact_of(event: Event) -> ReplayFact | None:
    """Return the row of an event; None for an event that no fold reads."""
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


def facts_in_order(facts: Iterable[ReplayFact]) -> Iterator[ReplayFact]:
    """Return facts in the order of a dataset: cluster-wide ones first, then one partition after the other, each by seq."""
    return iter(sorted(facts, key=_place))


def _place(fact: ReplayFact) -> tuple[bool, str, int, int]:
    if fact.partition is None:
        return (False, "", -1, fact.seq)
    return (True, fact.topic or "", fact.partition, fact.seq)


def _fact(event: Event) -> ReplayFact:
    return ReplayFact._make(str(event.kind) if name == "kind" else getattr(event, name) for name in FACT_COLUMNS)
