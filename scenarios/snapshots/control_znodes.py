"""Makes a snapshot of the znodes of a cluster, wherever they were read from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from kcsim import znodes
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    ElectionRequest,
    ReassignmentRequest,
    Settings,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
    UnreadZnode,
)
from kcsim.vocabulary import (
    BrokerId,
    BrokerInfo,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
    Zxid,
)
from kcsim.znodes import BadZnodeError, Report, paths

T = TypeVar("T")

BELOW_BROKERS = f"{paths.BROKER_IDS}/"
BELOW_TOPICS = f"{paths.BROKER_TOPICS}/"
BELOW_TOPIC_CONFIGS = f"{paths.entity_type_config('topics')}/"
BELOW_BROKER_CONFIGS = f"{paths.entity_type_config('brokers')}/"
BELOW_DELETIONS = f"{paths.DELETE_TOPICS}/"

SECRET_WORDS = ("password", "secret", "jaas", "keystore.key", "certificate")
"""A setting whose name contains one of these is left out: ZooKeeper holds its value encrypted, or should."""


class NotAKafkaClusterError(Exception):
    """There is no cluster of Kafka in these znodes. The message is one line."""


class ControlZnode(NamedTuple):
    """What a snapshot needs to know of one znode."""

    data: bytes | None
    czxid: Zxid


@dataclass(frozen=True)
class ControlZnodes:
    """The znodes of a cluster's control state.

    Attributes:
        source: what they were read from, for people.
        taken: when they were as they are here: a time in ISO 8601, or the moment of a run.
        found: path below the chroot -> znode; other znodes than those of the control state may be there as well.
        unread: znodes that could not be read -> the reason.
    """

    source: str
    taken: str
    found: Mapping[str, ControlZnode]
    unread: Mapping[str, str] = field(default_factory=dict)


def snapshot_of(control: ControlZnodes) -> ControlPlaneSnapshot:
    """Return the snapshot of a cluster's znodes.

    A znode with malformed content counts as absent and is listed in `unread`, whatever Kafka's controller would make of it.

    Raises: NotAKafkaClusterError.
    """
    if not any(path.startswith((paths.BROKER_IDS, paths.BROKER_TOPICS)) for path in control.found):
        raise NotAKafkaClusterError(
            f"no broker of Kafka has ever registered in {control.source}: {paths.BROKER_IDS} does not exist"
        )
    return _SnapshotReader(control).read()


class _SnapshotReader:
    def __init__(self, control: ControlZnodes) -> None:
        self._control = control
        self._found = control.found
        self._unread = dict(control.unread)

    def read(self) -> ControlPlaneSnapshot:
        controller = self._decoded(paths.CONTROLLER, znodes.decode_controller)
        kraft = znodes.kraft_controller_in(self._data(paths.CONTROLLER), self._data(paths.MIGRATION))
        epoch = self._decoded(paths.CONTROLLER_EPOCH, lambda path, data, _: znodes.decode_controller_epoch(path, data))
        cluster_id = self._decoded(paths.CLUSTER_ID, lambda path, data, _: znodes.decode_cluster_id(path, data))
        moves = self._decoded(paths.REASSIGN_PARTITIONS, znodes.decode_reassignment) or {}
        elections = self._decoded(paths.PREFERRED_REPLICA_ELECTION, znodes.decode_preferred_election) or ()
        topics, brokers, configs = self._topics(), self._brokers(), self._configs(BELOW_BROKER_CONFIGS)
        return ControlPlaneSnapshot(
            source=self._control.source,
            taken=self._control.taken,
            cluster_id=cluster_id,
            controller=None if controller is None or kraft is not None else controller.broker_id,
            controller_epoch=epoch,
            kraft_controller=kraft,
            brokers=brokers,
            broker_configs=configs,
            topics=topics,
            topic_deletions=tuple(sorted(p.removeprefix(BELOW_DELETIONS) for p in self._below(BELOW_DELETIONS))),
            reassignment_requests=tuple(ReassignmentRequest(tp.topic, tp.partition, to) for tp, to in moves.items()),
            election_requests=tuple(ElectionRequest(tp.topic, tp.partition) for tp in elections),
            unread=tuple(UnreadZnode(path, reason) for path, reason in sorted(self._unread.items())),
        )

    # --- the parts

    def _brokers(self) -> tuple[SnapshotBroker, ...]:
        brokers = []
        for path in self._below(BELOW_BROKERS):
            name = paths.name(path)
            if not name.isdigit():
                continue
            # Log files show that a broker is registered, and not with what content.
            info = self._decoded(path, _decode_broker)
            endpoints = () if info is None else tuple(map(str, info.endpoints))
            rack = None if info is None else info.rack
            brokers.append(SnapshotBroker(int(name), self._found[path].czxid, rack, endpoints))
        return tuple(sorted(brokers, key=lambda broker: broker.id))

    def _topics(self) -> tuple[SnapshotTopic, ...]:
        configs = self._configs(BELOW_TOPIC_CONFIGS)
        topics = []
        for path in sorted(p for p in self._below(BELOW_TOPICS) if "/" not in p[len(BELOW_TOPICS) :]):
            state, topic = self._decoded(path, znodes.decode_topic), paths.name(path)
            if state is not None:
                topics.append(self._topic(topic, state, configs.get(topic, {})))
        return tuple(topics)

    def _topic(self, topic: str, state: TopicState, config: Settings) -> SnapshotTopic:
        partitions = (self._partition(TopicPartition(topic, number), of) for number, of in sorted(state.assignments.items()))
        return SnapshotTopic(topic, tuple(partitions), state.topic_id, config)

    def _partition(self, tp: TopicPartition, assignment: ReplicaAssignment) -> SnapshotPartition:
        path = paths.topic_partition_state(tp)
        state = self._decoded(path, _decode_state)
        lists = (assignment.replicas, assignment.adding_replicas, assignment.removing_replicas)
        if state is None:
            return SnapshotPartition(tp.partition, *lists)
        of = state.leader_and_isr
        return SnapshotPartition(
            tp.partition, *lists, of.leader, of.isr, of.leader_epoch, state.controller_epoch, of.is_recovering
        )

    def _configs(self, below: str) -> dict[str, Settings]:
        """Return the settings of each entity that has some, without those whose values are secret."""
        configs = {}
        for path in sorted(self._below(below)):
            if settings := self._decoded(path, znodes.decode_config):
                kept = {key: value for key, value in sorted(settings.items()) if not is_secret(key)}
                configs[path.removeprefix(below)] = kept
        return configs

    # --- znodes

    def _below(self, prefix: str) -> list[str]:
        return [path for path in self._found if path.startswith(prefix)]

    def _data(self, path: str) -> bytes | None:
        return self._found[path].data if path in self._found else None

    def _decoded(self, path: str, decode: Callable[[str, bytes | None, Report], T | None]) -> T | None:
        """Return the content of a znode; None if it does not exist, or if it was noted as unread."""
        if path not in self._found:
            return None
        try:
            content = decode(path, self._found[path].data, self._note)
        except BadZnodeError as error:
            self._note(error.path, error.reason)
        return None if path in self._unread else content

    def _note(self, path: str, reason: str) -> None:
        self._unread[path] = reason


def _decode_broker(path: str, data: bytes | None, report: Report) -> BrokerInfo:
    return znodes.decode_broker(path, BrokerId(int(paths.name(path))), data)


def _decode_state(path: str, data: bytes | None, report: Report) -> PartitionState | None:
    return znodes.decode_partition_state(path, data, ZkVersion(0), report)


def is_secret(setting: str) -> bool:
    """Return whether a setting's value does not belong into a snapshot."""
    return any(word in setting for word in SECRET_WORDS)
