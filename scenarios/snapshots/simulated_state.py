"""Brings a simulated cluster into the state of a snapshot.

The brokers register while another session holds /controller, so that no controller decides yet. Then the topics are written
with their assignments and states, and /controller is released: the elected controller finds the cluster as Kafka's does
after a failover, with the leaders and ISRs of the snapshot.

What a snapshot does not say is assumed:
- A replica in the ISR has all records of its leader. A replica outside it has fewer; it stays behind while its broker runs,
  because its lag is not known, and catches up once its broker has restarted.
- Brokers have Kafka's default settings, those in ZooKeeper, and those that the caller gives. Leaders are not balanced
  automatically unless the caller says so: the cluster is as its own balancing has left it.
"""

from collections.abc import Iterator, Mapping

from kcsim import znodes
from kcsim.brokers.cluster.broker_slots import disk_numbers
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec, max_session_timeout_ms
from kcsim.brokers.config import BrokerConfig, Value
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.records import Run
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotPartition, SnapshotTopic
from kcsim.vocabulary import (
    BrokerId,
    ControllerEpoch,
    ControllerNode,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.znodes import paths

NO_BALANCING: Mapping[str, Value] = {"auto.leader.rebalance.enable": False}
ELECTION_WITHIN_MS = 60_000
RECORD = ("before the snapshot", 0, 0, 1)
"""Writer, first sequence, timestamp and size of the only record in logs that differ."""


def cluster_spec(snapshot: ControlPlaneSnapshot, settings: Mapping[str, Value]) -> ClusterSpec:
    """Return the description of a simulated cluster with all brokers of a snapshot, the absent ones included."""
    racks = {broker.id: broker.rack for broker in snapshot.brokers}
    ids = sorted({*racks, *snapshot.absent_ids})
    given = {**NO_BALANCING, **settings}
    spec = ClusterSpec(tuple(BrokerSpec(broker, racks.get(broker)) for broker in ids), given)
    session_ms = {"zookeeper.session.timeout.ms": BrokerConfig.of(given).zookeeper_session_timeout_ms}
    return ClusterSpec(spec.brokers, given, max_session_timeout_ms=max_session_timeout_ms(session_ms, spec.tick_time_ms))


def disks_of(snapshot: ControlPlaneSnapshot, spec: ClusterSpec, seed: int) -> dict[str, Disk]:
    """Return the brokers' disks. Only partitions with a replica outside the ISR have a record: one on each of the others."""
    dirs = BrokerConfig.of(spec.settings).log_dir_names
    disks = {broker.name: Disk(dirs, disk_numbers(seed, broker)) for broker in spec.brokers}
    for tp, partition in snapshot.partitions():
        if not _lagging(partition) or not partition.isr:
            continue
        run = Run(0, 1, LeaderEpoch(partition.leader_epoch or 0), *RECORD)
        for replica in partition.replicas:
            log = disks[f"broker-{replica}"].create(tp)
            if replica in partition.isr:
                log.append_as_follower([run], 0)
                log.checkpointed_high_watermark = log.log_end_offset
    return disks


def _lagging(partition: SnapshotPartition) -> set[int]:
    return set(partition.replicas).difference(partition.isr)


async def bring_into_state(cluster: Cluster, snapshot: ControlPlaneSnapshot) -> None:
    """Start the registered brokers, write the snapshot's znodes, and let a controller be elected.

    Raises: ClusterError; TimedOutError if no controller is ready in time.
    """
    names = [f"broker-{broker}" for broker in snapshot.registered_ids]
    nobody = max((*snapshot.registered_ids, *snapshot.absent_ids), default=0) + 1
    await cluster.znodes.create_all(dict(_settings_znodes(snapshot)))
    holder = znodes.encode_controller(ControllerNode(BrokerId(nobody), 0)).decode()
    await cluster.znodes.create(paths.CONTROLLER, holder, ephemeral=True)
    await cluster.start(names)
    for name, held in _held(snapshot).items():
        cluster.broker(name).data.fetchers.hold(held)
    if of_topics := dict(_topic_znodes(snapshot)):
        await cluster.znodes.create_all(of_topics)
    # The brokers race for /controller. All but the snapshot's controller are frozen until it has won.
    is_known = snapshot.controller in snapshot.registered_ids
    frozen = [name for name in names if is_known and name != f"broker-{snapshot.controller}"]
    for name in frozen:
        await cluster.pause(name)
    await cluster.znodes.delete(paths.CONTROLLER)
    await cluster.wait_until(lambda: _no_controller(cluster), ELECTION_WITHIN_MS)
    for name in frozen:
        await cluster.resume(name)
    await wait_for_controller(cluster)


def _no_controller(cluster: Cluster) -> str | None:
    return "no broker has become the controller" if cluster.state.controller_id is None else None


async def wait_for_controller(cluster: Cluster) -> None:
    """Wait until a controller has completed its failover. Raises: TimedOutError."""

    def missing() -> str | None:
        return "no controller is ready" if cluster.state.working_controller is None else None

    await cluster.wait_until(missing, ELECTION_WITHIN_MS)


def _held(snapshot: ControlPlaneSnapshot) -> dict[str, list[TopicPartition]]:
    """Return the replicas outside the ISR by the name of their broker, which is registered."""
    held: dict[str, list[TopicPartition]] = {}
    for tp, partition in snapshot.partitions():
        for replica in _lagging(partition).intersection(snapshot.registered_ids):
            held.setdefault(f"broker-{replica}", []).append(tp)
    return held


# --- znodes


def _settings_znodes(snapshot: ControlPlaneSnapshot) -> Iterator[tuple[str, bytes | None]]:
    """Yield what is there before the first broker: settings, cluster id, and the epoch before the next controller's."""
    tops = dict.fromkeys(above for top in paths.TOP_LEVEL_PATHS for above in paths.lineage(top))
    yield from tops.items()
    for entity, config in snapshot.broker_configs.items():
        yield paths.entity_config("brokers", entity), znodes.encode_config(config)
    # A controller writes no state of a later epoch than its own. Log files may show states, and not the epoch.
    of_states = (partition.controller_epoch or 0 for _, partition in snapshot.partitions())
    latest = max((snapshot.controller_epoch or 0, *of_states))
    yield paths.CONTROLLER_EPOCH, znodes.encode_controller_epoch(ControllerEpoch(max(latest - 1, 0)))


def _topic_znodes(snapshot: ControlPlaneSnapshot) -> Iterator[tuple[str, bytes | None]]:
    for topic in snapshot.topics:
        yield paths.topic_config(topic.name), znodes.encode_config(topic.config)
        yield paths.topic(topic.name), znodes.encode_topic(_topic_state(topic))
        if any(partition.has_state for partition in topic.partitions):
            yield paths.topic_partitions(topic.name), None
        for partition in topic.partitions:
            if partition.has_state:
                tp = TopicPartition(topic.name, partition.partition)
                yield paths.topic_partition(tp), None
                yield paths.topic_partition_state(tp), znodes.encode_partition_state(_partition_state(partition))
    for topic_name in snapshot.topic_deletions:
        yield paths.delete_topic(topic_name), None
    if snapshot.reassignment_requests:
        moves = {TopicPartition(r.topic, r.partition): _ids(r.replicas) for r in snapshot.reassignment_requests}
        yield paths.REASSIGN_PARTITIONS, znodes.encode_reassignment(moves)
    if snapshot.election_requests:
        requested = [TopicPartition(request.topic, request.partition) for request in snapshot.election_requests]
        yield paths.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions(requested)


def _topic_state(topic: SnapshotTopic) -> TopicState:
    assignments = {p.partition: ReplicaAssignment(*map(_ids, (p.replicas, p.adding, p.removing))) for p in topic.partitions}
    return TopicState(assignments, topic.topic_id)


def _partition_state(partition: SnapshotPartition) -> PartitionState:
    leader = None if partition.leader is None else BrokerId(partition.leader)
    of = LeaderAndIsr(
        leader, LeaderEpoch(partition.leader_epoch or 0), _ids(partition.isr), ZkVersion(0), partition.is_recovering
    )
    return PartitionState(of, ControllerEpoch(partition.controller_epoch or 0))


def _ids(brokers: tuple[int, ...]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, brokers))
