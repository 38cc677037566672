"""The recipients of requests, for each kind of change.

Elections name their recipients themselves (Election.recipients, for add_leader_and_isr); this module has all others. A
replica that is stopped or deleted concerns its own broker only: add_stop_replica.

Source: Kafka 2.8, KafkaController and ZkReplicaStateMachine; docs/kafka/requests.md 2.3.
"""

from collections.abc import Iterable, Mapping

from kcsim.controller.decisions.request_batch import (
    UNASSIGNED,
    ClusterView,
    RequestBatch,
    add_leader_and_isr,
    add_update_metadata,
)
from kcsim.vocabulary import BrokerId, TopicPartition


def add_replicas_to_serve(
    batch: RequestBatch, view: ClusterView, replicas: Mapping[TopicPartition, Iterable[BrokerId]], is_new: bool
) -> RequestBatch:
    """Add LeaderAndIsr for brokers that are to serve their replicas, new or existing ones.

    Args:
        replicas: per partition, the brokers; partitions without leadership are left out. A new replica that goes online must
            not be given: its broker got the request when the replica became new. One call for all brokers costs a third of
            one call per broker and has the same result.
    """
    return add_leader_and_isr(batch, view, {tp: on for tp, on in replicas.items() if tp in view.leadership}, is_new)


def add_replicas_gone_offline(
    batch: RequestBatch, view: ClusterView, broker: BrokerId, partitions: Iterable[TopicPartition]
) -> RequestBatch:
    """Add requests to the other brokers about a broker's replicas that went offline.

    The broker's own StopReplica was added before the ISR changed. The other replicas of the assignment get the leader and
    the ISR that remain, changed or not; partitions of topics queued for deletion are left out. A partition without
    leadership has no state to send, but all brokers get the list of live brokers.

    Args:
        partitions: those for which the removal from the ISR did not fail.
    """
    given = tuple(partitions)
    others = {
        tp: tuple(replica for replica in view.assignments.get(tp, UNASSIGNED).replicas if replica != broker)
        for tp in given
        if tp in view.leadership and not view.is_queued_for_deletion(tp)
    }
    updated = add_leader_and_isr(batch, view, others)
    leaderless = [tp for tp in given if tp not in view.leadership]
    return add_metadata_for_all(updated, view, leaderless) if leaderless else updated


def add_epoch_bump(batch: RequestBatch, view: ClusterView, tp: TopicPartition) -> RequestBatch:
    """Add LeaderAndIsr with the new leader epoch for all replicas of a reassigned partition; it is new for adding replicas.

    In the last step of a reassignment the target is the whole assignment, and no replica is new.
    """
    assignment = view.assignments[tp]
    updated = add_leader_and_isr(batch, view, {tp: assignment.origin_replicas})
    return add_leader_and_isr(updated, view, {tp: assignment.adding_replicas}, is_new=True)


def add_metadata_for_all(batch: RequestBatch, view: ClusterView, partitions: Iterable[TopicPartition] = ()) -> RequestBatch:
    """Add UpdateMetadata with the live brokers and these partitions for every broker, shutting down or not."""
    return add_update_metadata(batch, view, view.broker_epochs, partitions)


def add_metadata_for_existing(batch: RequestBatch, view: ClusterView, started: Iterable[BrokerId]) -> RequestBatch:
    """Add UpdateMetadata without partitions for the brokers that did not just start.

    When brokers start, the others are notified first: flush this batch before add_metadata_for_started.
    """
    return add_update_metadata(batch, view, view.broker_epochs.keys() - set(started))


def add_metadata_for_started(batch: RequestBatch, view: ClusterView, started: Iterable[BrokerId]) -> RequestBatch:
    """Add UpdateMetadata with every partition that has, or had, a leader for brokers that have started.

    Partitions of topics queued for deletion are left out.
    """
    partitions = (tp for tp in view.leadership if not view.is_queued_for_deletion(tp))
    return add_update_metadata(batch, view, started, partitions)
