"""A batch of requests to brokers, gathered over one change of the cluster and flushed at once.

A batch is a value: an add returns a new batch, which shares its unchanged parts with the old one. The adds take many
partitions at once, since each copies the parts that it changes. The content for a partition is fixed when the partition is
added, from the controller's caches at that time. The live brokers and their broker epochs are fixed when the batch is
flushed.

request_recipients.py decides which brokers are added in which situation. Left out: request forms of other protocol versions.

Source: Kafka 2.8, AbstractControllerBrokerRequestBatch; docs/kafka/requests.md 2.1 and 2.2.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from kcsim.controller.decisions.broker_ids import NoBrokerIdError, check_broker_ids
from kcsim.controller.decisions.state_change_requests import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_LEADER_EPOCH,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LiveLeader,
    StateChangeRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    LeaderAndIsr,
    LeaderEpoch,
    NoBrokerId,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)

UNASSIGNED = ReplicaAssignment(())
"""The assignment that the controller uses for a partition without a known assignment."""

Addressed = tuple[BrokerId, StateChangeRequest]


class EndpointNotAvailableError(LookupError):
    """A leader is registered without the inter-broker listener. Nothing of the batch can be sent."""

    def __init__(self, broker: BrokerInfo, listener: str) -> None:
        offered = ", ".join(map(str, broker.endpoints)) or "none"
        super().__init__(f"broker {broker.broker_id} has no endpoint of listener {listener}; it registered {offered}")
        self.broker_id, self.listener = broker.broker_id, listener


class UnsendableReplicaError(NoBrokerIdError):
    """A partition is assigned to what is no broker id, so it cannot be added.

    Attributes:
        gathered: the batch as Kafka leaves it then.
    """

    def __init__(self, error: NoBrokerIdError, gathered: "RequestBatch") -> None:
        super().__init__(str(error))
        self.gathered = gathered


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The controller's caches at the time of an add or a flush; not to be kept longer.

    Attributes:
        live_brokers: registered brokers, including those that are shutting down; broker_epochs has the same keys.
        shutting_down: brokers whose controlled shutdown has begun.
        replicas_on_offline_dirs: per broker, the partitions whose replica there is in a failed log directory.
        inter_broker_listener: name of the listener by which brokers reach each other.
        topic_ids: by topic; None if requests do not carry them.
    """

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    live_brokers: Mapping[BrokerId, BrokerInfo]
    broker_epochs: Mapping[BrokerId, BrokerEpoch]
    leadership: Mapping[TopicPartition, PartitionState]
    assignments: Mapping[TopicPartition, ReplicaAssignment]
    topics_to_be_deleted: Collection[str] = frozenset()
    shutting_down: Collection[BrokerId] = frozenset()
    replicas_on_offline_dirs: Mapping[BrokerId, Collection[TopicPartition]] = field(default_factory=dict)
    inter_broker_listener: str = "PLAINTEXT"
    topic_ids: Mapping[str, str] | None = None

    def is_queued_for_deletion(self, tp: TopicPartition) -> bool:
        return tp.topic in self.topics_to_be_deleted


class RequestBatch(msgspec.Struct, frozen=True):
    """What has been added and not yet sent; an empty batch to begin with.

    Attributes:
        leader_and_isr: per recipient, per partition; recipients may be dead.
        stop_replica: the same.
        update_metadata_brokers: each of them gets all of update_metadata_partitions.
    """

    leader_and_isr: Mapping[BrokerId, Mapping[TopicPartition, LeaderAndIsrPartitionState]] = {}
    stop_replica: Mapping[BrokerId, Mapping[TopicPartition, StopReplicaPartitionState]] = {}
    update_metadata_brokers: frozenset[BrokerId] = frozenset()
    update_metadata_partitions: Mapping[TopicPartition, UpdateMetadataPartitionState] = {}

    @property
    def unsent(self) -> str | None:
        """Kafka's name of the first kind of request that a batch still holds; None for an empty batch.

        A batch that holds anything must not be used further: the change that filled it failed half-way.
        """
        if self.leader_and_isr:
            return "LeaderAndIsr"
        if self.stop_replica:
            return "StopReplica"
        return "UpdateMetadata" if self.update_metadata_brokers or self.update_metadata_partitions else None


# --- adding ----------------------------------------------------------------------------------------------------------------


def add_leader_and_isr(
    batch: RequestBatch,
    view: ClusterView,
    recipients: Mapping[TopicPartition, Iterable[BrokerId]],
    is_new: bool = False,
) -> RequestBatch:
    """Add LeaderAndIsr for these brokers, and UpdateMetadata of these partitions for all brokers.

    A partition that is added twice for one broker is sent as it was added last, but once it is new it stays new.

    Args:
        recipients: per partition; dead brokers are dropped at the flush, negative ids here. The partition's metadata goes to
            all live brokers even if no recipient remains.

    Raises: KeyError for a partition without leadership, for which there is nothing to send; UnsendableReplicaError.
    """
    if not recipients:
        return batch
    for tp, brokers in recipients.items():
        try:
            check_broker_ids(tp, view.assignments.get(tp, UNASSIGNED).replicas)
        except NoBrokerIdError as error:
            raise UnsendableReplicaError(error, _begun_for(batch, brokers)) from None
    touched: dict[BrokerId, dict[TopicPartition, LeaderAndIsrPartitionState]] = {}
    for tp, brokers in recipients.items():
        state = LeaderAndIsrPartitionState(view.leadership[tp], view.assignments.get(tp, UNASSIGNED), is_new)
        for broker in brokers:
            if broker < 0:
                continue
            if broker not in touched:
                touched[broker] = dict(batch.leader_and_isr.get(broker, {}))
            before = touched[broker].get(tp)
            was_new = before is not None and before.is_new
            touched[broker][tp] = replace(state, is_new=True) if was_new and not is_new else state
    added = replace(batch, leader_and_isr={**batch.leader_and_isr, **touched})
    return add_update_metadata(added, view, view.broker_epochs, recipients)


def add_update_metadata(
    batch: RequestBatch, view: ClusterView, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition] = ()
) -> RequestBatch:
    """Add UpdateMetadata with the live brokers and these partitions.

    Brokers and partitions apply to the whole batch: each broker added to it gets each partition added to it.

    Args:
        partitions: those without leadership are left out.

    Raises: UnsendableReplicaError; the brokers are added then.
    """
    online = frozenset(view.broker_epochs).difference(view.shutting_down)
    known = [tp for tp in partitions if tp in view.leadership]
    addressed = batch.update_metadata_brokers | {broker for broker in brokers if broker >= 0}
    for tp in known:
        try:
            check_broker_ids(tp, view.assignments.get(tp, UNASSIGNED).replicas)
        except NoBrokerIdError as error:
            raise UnsendableReplicaError(error, replace(batch, update_metadata_brokers=addressed)) from None
    states = {tp: _metadata_of(tp, view, online) for tp in known}
    return replace(
        batch,
        update_metadata_brokers=addressed,
        update_metadata_partitions={**batch.update_metadata_partitions, **states},
    )


def add_stop_replica(
    batch: RequestBatch, view: ClusterView, broker: BrokerId, partitions: Iterable[TopicPartition], delete: bool
) -> RequestBatch:
    """Add StopReplica for a broker's replicas of some partitions.

    A partition that is added twice is sent as it was added last, but once it is to be deleted it stays so.
    """
    added = dict(batch.stop_replica.get(broker, {}))
    for tp in partitions:
        before = added.get(tp)
        was_deleted = before is not None and before.delete_partition
        added[tp] = StopReplicaPartitionState(_stop_epoch(tp, view), delete or was_deleted)
    if not added or broker < 0:
        return batch
    return replace(batch, stop_replica={**batch.stop_replica, broker: added})


def _begun_for(batch: RequestBatch, brokers: Iterable[BrokerId]) -> RequestBatch:
    """Return the batch as Kafka leaves it when the first recipient's LeaderAndIsr fails: with one that has no partition.

    If a recipient itself is no broker id, none has begun.
    """
    recipients = tuple(brokers)
    if any(isinstance(broker, NoBrokerId) for broker in recipients):
        return batch
    begun = {broker: batch.leader_and_isr.get(broker, {}) for broker in recipients[:1]}
    return replace(batch, leader_and_isr={**batch.leader_and_isr, **begun})


def _metadata_of(tp: TopicPartition, view: ClusterView, online: Collection[BrokerId]) -> UpdateMetadataPartitionState:
    """Return a partition's part of UpdateMetadata. Args: online: live brokers that are not shutting down."""
    state = view.leadership[tp]
    if view.is_queued_for_deletion(tp):
        deleted = LeaderAndIsr(LEADER_DURING_DELETE, LeaderEpoch(0), state.leader_and_isr.isr, ZkVersion(0))
        state = PartitionState(deleted, state.controller_epoch)
    replicas = view.assignments.get(tp, UNASSIGNED).replicas
    failed = view.replicas_on_offline_dirs
    offline = tuple(b for b in replicas if b not in online or (b in failed and tp in failed[b]))
    return UpdateMetadataPartitionState(state, replicas, offline)


def _stop_epoch(tp: TopicPartition, view: ClusterView) -> LeaderEpoch:
    """Return the leader epoch of a StopReplica; a recipient that knows a later epoch may refuse to stop."""
    if view.is_queued_for_deletion(tp):
        return EPOCH_DURING_DELETE
    state = view.leadership.get(tp)
    return NO_LEADER_EPOCH if state is None else state.leader_and_isr.leader_epoch


# --- sending ---------------------------------------------------------------------------------------------------------------


def flush(batch: RequestBatch, view: ClusterView) -> tuple[Addressed, ...]:
    """Return the requests of a batch in the order in which they are to be queued; the batch must not be used afterwards.

    Returns: LeaderAndIsr, then UpdateMetadata, then StopReplica, each by broker id. Brokers that are neither live nor
    shutting down get nothing, and this is not reported.

    Raises: EndpointNotAvailableError; requests that Kafka would have sent before this error are not sent either.
    """
    return (*_leader_and_isr_requests(batch, view), *_update_metadata_requests(batch, view), *_stop_requests(batch, view))


def _leader_and_isr_requests(batch: RequestBatch, view: ClusterView) -> Iterable[Addressed]:
    for broker in _reachable(batch.leader_and_isr, view):
        states = batch.leader_and_isr[broker]
        leaders = {state.state.leader_and_isr.leader for state in states.values()}
        live_leaders = tuple(
            _live_leader(view.live_brokers[leader], view) for leader in sorted(view.live_brokers.keys() & leaders)
        )
        epoch = view.broker_epochs[broker]
        ids = _ids_of(states, view)
        yield broker, LeaderAndIsrRequest(view.controller_id, view.controller_epoch, epoch, states, live_leaders, ids)


def _update_metadata_requests(batch: RequestBatch, view: ClusterView) -> Iterable[Addressed]:
    known = (view.live_brokers[broker] for broker in sorted(view.live_brokers))
    live_brokers = tuple(UpdateMetadataBroker(info.broker_id, info.endpoints, info.rack) for info in known)
    states = batch.update_metadata_partitions
    ids = _ids_of(states, view)
    for broker in _reachable(batch.update_metadata_brokers, view):
        epoch = view.broker_epochs[broker]
        yield broker, UpdateMetadataRequest(view.controller_id, view.controller_epoch, epoch, states, live_brokers, ids)


def _stop_requests(batch: RequestBatch, view: ClusterView) -> Iterable[Addressed]:
    for broker in _reachable(batch.stop_replica, view):
        epoch, states = view.broker_epochs[broker], batch.stop_replica[broker]
        yield broker, StopReplicaRequest(view.controller_id, view.controller_epoch, epoch, states)


def _ids_of(partitions: Iterable[TopicPartition], view: ClusterView) -> Mapping[str, str] | None:
    """Return the known ids of the partitions' topics; None if requests do not carry ids."""
    known = view.topic_ids
    return known and {tp.topic: known[tp.topic] for tp in partitions if tp.topic in known}


def _reachable(brokers: Iterable[BrokerId], view: ClusterView) -> list[BrokerId]:
    return sorted(broker for broker in brokers if broker in view.broker_epochs)


def _live_leader(broker: BrokerInfo, view: ClusterView) -> LiveLeader:
    for endpoint in broker.endpoints:
        if endpoint.listener == view.inter_broker_listener:
            return LiveLeader(broker.broker_id, endpoint.host, endpoint.port)
    raise EndpointNotAvailableError(broker, view.inter_broker_listener)
