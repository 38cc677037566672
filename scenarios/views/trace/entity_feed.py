"""The changes that each event makes to the cluster, as new values of named entities, as JSON has them.

A page computes the state at any point in time from them. ClusterState keeps the state itself, and lists what each event
changes; this module names the entities that a page shows, and takes their values. The value None means that the entity no
longer exists.

Entity types, names, and the values in each:

    process    broker-1, consumer-c, member-2,  running, paused, stopped, dead; a producer runs as long as its workload does
               producer-p
    role       broker-1                         the controller epoch under which the broker believes to be the controller
    link       broker-1                         [session id, state as the node sees it, open or closed as the server sees it]
    registered broker-1                         [broker epoch, rack or None], as its znode in /brokers/ids has it
    controller (no name)                        the broker that /controller names
    epoch      (no name)                        the number in /controller_epoch
    owned      consumer-c                       [[partitions that it consumes], its group]
    znode      /path                            [data, version, zxid of its creation, of its last change, ephemeral, owner]
    session    session id                       open, closed
    partition  orders-0                         [replicas, leader, leader epoch, ISR, flags, adding, removing]
    group      group id                         [state, generation]
    metric     name                             its sum over all brokers

Flags of a partition: o offline, u under-replicated, d its topic is to be deleted. No leader: -1.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, assert_never

from kcsim.eventlog.cluster_state import BELOW_BROKER_IDS, SERVER_PREFIX, ClusterState
from kcsim.eventlog.events import Event
from kcsim.eventlog.state_changes import (
    ControllerChanged,
    ControllerEpochChanged,
    GroupChanged,
    LinkChanged,
    MetricChanged,
    OwnershipChanged,
    PartitionChanged,
    ProcessChanged,
    RegistrationChanged,
    RoleChanged,
    SessionChanged,
    StateChange,
    TopicChanged,
    TopicDeletionChanged,
    ZnodeChanged,
)
from kcsim.vocabulary import TopicPartition, TopicState
from kcsim.znodes import paths

LANE_ENTITY_TYPES = ("process", "role", "link", "registered", "controller", "epoch", "owned", "group")
STATE_ENTITY_TYPES = ("znode", "session", "partition", "metric")
ENTITY_TYPES = (*LANE_ENTITY_TYPES, *STATE_ENTITY_TYPES)

MEMBER, BROKER = SERVER_PREFIX, "broker-"


class EntityChange(NamedTuple):
    """A new value of an entity, as JSON has it."""

    entity_type: str
    name: str
    value: Any


class EntityFeed:
    """Collects the changes of one run. Apply every event in order, and take the changes whenever they are needed."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self._dirty: dict[tuple[str, str], None] = {}

    def apply(self, event: Event) -> None:
        """Apply one event to the state, and mark the entities that it may have changed."""
        self.state.apply(event)
        for change in self.state.changes:
            for entity in self._changed(change):
                self._dirty[entity] = None

    def take(self, entity_types: Iterable[str] = ENTITY_TYPES) -> Iterator[EntityChange]:
        """Yield each entity of these types that may have changed since it was last taken, with its present value."""
        wanted = frozenset(entity_types)
        taken = [(entity_type, name) for entity_type, name in self._dirty if entity_type in wanted]
        for entity_type, name in taken:
            del self._dirty[entity_type, name]
            yield EntityChange(entity_type, name, self._value(entity_type, name))

    # --- changed entities

    def _changed(self, change: StateChange) -> Iterator[tuple[str, str]]:
        """Yield type and name of each entity whose value may depend on what has changed."""
        state = self.state
        match change:
            case ZnodeChanged(path=path):
                yield "znode", path
            case ControllerChanged():
                yield "controller", ""
            case ControllerEpochChanged():
                yield "epoch", ""
            case RegistrationChanged(broker=broker):
                yield "registered", f"{BROKER}{broker}"
                states = state.of_topics.states
                yield from (_partition(tp) for tp, of in states.items() if of.leader_and_isr.leader == broker)
            case TopicChanged(topic=topic, before=before, after=after):
                yield from (_partition(tp) for tp in _partitions(topic, before))
                yield from (_partition(tp) for tp in _partitions(topic, after))
            case TopicDeletionChanged(topic=topic):
                yield from (_partition(tp) for tp in _partitions(topic, state.of_topics.topics.get(topic)))
            case PartitionChanged(partition=tp):
                yield _partition(tp)
            case SessionChanged(session_id=session_id):
                yield "session", session_id
                if (node := state.session_owners.get(session_id)) is not None:
                    yield "link", node
            case LinkChanged(node=node):
                yield "link", node
            case RoleChanged(node=node):
                yield "role", node
            case ProcessChanged(node=node):
                yield "process", node
            case OwnershipChanged(node=node):
                yield "owned", node
            case GroupChanged(group=group):
                yield "group", group
            case MetricChanged(metric=metric):
                yield "metric", metric
            case _:
                assert_never(change)

    # --- present values

    def _value(self, entity_type: str, name: str) -> Any:
        state = self.state
        match entity_type:
            case "process":
                return state.servers.get(name) or state.producers.get(name) or state.processes.get(name)
            case "role":
                return state.roles.get(name)
            case "link":
                session_id, seen = state.links[name]
                return [session_id, seen, state.sessions.get(session_id)]
            case "registered":
                return self._registration(name.removeprefix(BROKER))
            case "controller":
                return state.controller_id
            case "epoch":
                return state.controller_epoch
            case "owned":
                return [list(state.of_consumers.owned.get(name, ())), state.of_consumers.group_of.get(name)]
            case "znode":
                return self._znode(name)
            case "session":
                return state.sessions.get(name)
            case "partition":
                return self._partition(name)
            case "group":
                group = state.of_consumers.groups[name]
                return [group.state, group.generation]
            case _:
                return state.of_metrics.now.get(name)

    def _znode(self, path: str) -> Any:
        znode = self.state.znodes.get(path)
        if znode is None:
            return None
        return [znode.data, znode.zk_version, znode.czxid, znode.zxid, int(znode.ephemeral), znode.session_id]

    def _registration(self, number: str) -> Any:
        znode = self.state.znodes.get(f"{BELOW_BROKER_IDS}{number}")
        if znode is None:
            return None
        try:
            content = json.loads(znode.data or "")
        except ValueError:
            content = None
        return [znode.czxid, content.get("rack") if isinstance(content, dict) else None]

    def _partition(self, name: str) -> Any:
        topic, _, number = name.rpartition("-")
        partition, topics = TopicPartition(topic, int(number)), self.state.of_topics
        assignment, state = topics.assignment(partition), topics.states.get(partition)
        if assignment is None:
            return None
        leader = topics.leader(partition)
        isr = topics.isr(partition)
        is_offline = leader is None or paths.broker_id(leader) not in self.state.znodes
        is_behind = len(isr) < len(assignment.origin_replicas)
        flags = "d" if topic in topics.deleting else "o" * is_offline + "u" * is_behind
        epoch = state.leader_and_isr.leader_epoch if state else None
        return [
            list(assignment.replicas),
            -1 if leader is None else leader,
            epoch,
            list(isr),
            flags,
            list(assignment.adding_replicas),
            list(assignment.removing_replicas),
        ]


def _partition(tp: TopicPartition) -> tuple[str, str]:
    return "partition", str(tp)


def _partitions(topic: str, state: TopicState | None) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in state.assignments] if state else []
