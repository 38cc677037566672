"""One row of the event log as a fold reads it: which events and which columns, and the partition that a row concerns.

The rows are declared once, as rules: here for events, in arrow_rows.py for record batches, in replay.py for Spark.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import defstruct, structs

from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.znodes import paths

FACT_COLUMNS = (
    *("seq", "t_ms", "node", "kind", "cause", "path", "data", "zk_version", "session_id", "count", "broker_id"),
    *("controller_epoch", "topic", "partition", "leader", "leader_epoch", "isr", "replicas", "brokers", "partitions"),
    *("event", "state", "step", "error", "rule", "started", "stopped", "bounced", "new_topics", "deleted_topics"),
    *("adding_replicas", "removing_replicas", "unclean_leader_election_enable"),
)
"""The columns of the event log that a fold reads."""

if TYPE_CHECKING:
    ReplayFact = Event
else:
    _columns = {field.name: (field.name, field.type, field.default) for field in structs.fields(Event)}
    ReplayFact = defstruct(
        "ReplayFact", [_columns[name] for name in FACT_COLUMNS], module=__name__, frozen=True, array_like=True
    )
"""An event with FACT_COLUMNS only: no other column can be read. Where it was read from a table, `kind` is plain text.

Encoded it is an array in the order of FACT_COLUMNS: a change of them is one of streaming/followed.py's VERSION.

`topic` and `partition` also name the partition whose state znode changed, where the event log has only the path.
"""


class FactRule(NamedTuple):
    """Events that a fold reads: those that meet all conditions.

    Attributes:
        kinds: of the events.
        path: a regular expression for all of the column `path`; None: any path, or none.
        event: a regular expression for the beginning of the column `event`, where it is set; None: anything.
        names_partition: whether the column `partition` is set; None: either.
    """

    kinds: frozenset[EventKind]
    path: str | None = None
    event: str | None = None
    names_partition: bool | None = None

    def covers(self, event: Event) -> bool:
        return (
            event.kind in self.kinds
            and (self.path is None or _is_path(self.path, event.path or ""))
            and (self.event is None or event.event is None or re.match(self.event, event.event) is not None)
            and self.names_partition in (None, event.partition is not None)
        )


STATE_PATH = f"^{paths.BROKER_TOPICS}/([^/]+)/partitions/([0-9]+)/state$"
CLUSTER_PATHS = r"^(/brokers/ids/[^/]+|/brokers/topics/[^/]+|/config/topics/[^/]+|/config/brokers/[^/]+|/controller_epoch)$"
"""The znodes whose changes a timeline reads: registrations, topics, settings of topics and brokers."""
EVENTS_BEGUN = (
    "^(ControlledShutdown|ReplicaLeaderElection|UncleanLeaderElectionEnable|TopicUncleanLeaderElectionEnable|TopicDeletion)"
)
"""The controller events of which the begin event, or the queued event, is read."""
PATHS_REMEMBERED = 1 << 17

PARTITION_FACTS = (
    FactRule(ZNODE_CHANGES, path=STATE_PATH),
    FactRule(
        frozenset(
            {
                EventKind.LEADER_ELECTION,
                EventKind.REPLICA_REMOVED_FROM_ISR,
                EventKind.LEADER_EPOCH_BUMPED,
                EventKind.PARTITION_REASSIGNMENT,
                EventKind.PARTITION_STATE_CHANGE,
                EventKind.REPLICA_STATE_CHANGE,
            }
        ),
        names_partition=True,
    ),
)
"""What is read of a partition: the changes of its state znode, and its own events."""

CLUSTER_FACTS = (
    FactRule(ZNODE_CHANGES, path=CLUSTER_PATHS),
    FactRule(
        frozenset(
            {
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
            }
        ),
        event=EVENTS_BEGUN,
        names_partition=False,
    ),
)
"""What is read of no single partition."""


_columns_of = attrgetter(*FACT_COLUMNS)
_RULES = {
    kind: tuple(rule for rule in (*PARTITION_FACTS, *CLUSTER_FACTS) if kind in rule.kinds)
    for kind in EventKind
    if any(kind in rule.kinds for rule in (*PARTITION_FACTS, *CLUSTER_FACTS))
}


def fact_of(event: Event) -> ReplayFact | None:
    """Return the row of an event; None for an event that no fold reads."""
    if not any(rule.covers(event) for rule in _RULES.get(event.kind, ())):
        return None
    return as_fact(event)


def as_fact(event: Event) -> ReplayFact:
    """Return the row of an event, whether or not a fold reads it."""
    fact = ReplayFact(*_columns_of(event))
    of_state = _partition_of_state(event.path or "") if event.kind in ZNODE_CHANGES else None
    return fact if of_state is None else structs.replace(fact, topic=of_state[0], partition=of_state[1])


# The paths of a run are few, and each is there often.


@lru_cache(PATHS_REMEMBERED)
def _is_path(pattern: str, path: str) -> bool:
    return re.fullmatch(pattern, path) is not None


@lru_cache(PATHS_REMEMBERED)
def _partition_of_state(path: str) -> tuple[str, int] | None:
    """Return topic and partition of a state znode; None for another one."""
    found = re.fullmatch(STATE_PATH, path)
    return None if found is None else (found[1], int(found[2]))


def facts_in_order(facts: Iterable[ReplayFact]) -> Iterator[ReplayFact]:
    """Return facts in the order of a dataset: cluster-wide ones first, then one partition after the other, each by seq."""
    return iter(sorted(facts, key=_place))


def _place(fact: ReplayFact) -> tuple[bool, str, int, int]:
    if fact.partition is None:
        return (False, "", -1, fact.seq)
    return (True, fact.topic or "", fact.partition, fact.seq)
