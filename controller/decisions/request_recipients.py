"""Who is told of which change.

Elections name their recipients themselves (Election.recipients, for add_leader_and_isr); here are all others. A replica
that is stopped, or deleted, concerns its own broker alone: add_stop_replica.

Source: Kafka 2.8, KafkaController and ZkReplicaStateMachine; reference requests.md 2.3.
"""

from collections.abc import Iterable, Mapping

from kcsim.controller.decisions.request_batch import (
    UNASSIGNED,
    ClusterView,
    RequestBatch,
    add_leader_and_isr,
    add_update_metadata,
)
from kcsim.zk.vocabulary import BrokerId, TopicPartition


def add_replicas_to_serve(
    batch: RequestBatch, view: ClusterView, replicas: Mapping[TopicPartition, Iterable[BrokerId]], is_new: bool
) -> RequestBatch:
    """Brokers are to serve their replicas, new ones or such as they had before.

    Args:
        replicas: per partition, the brokers; those of partitions without leadership are left out. A new replica that goes
            online is not to be given: its broker was told when it became new. Giving those of all brokers at once costs a
            third of giving them broker by broker, and comes to the same.
    """
    return add_leader_and_isr(batch, view, {tp: on for tp, on in replicas.items() if tp in view.leadership}, is_new)


def add_replicas_gone_offline(
    batch: RequestBatch, view: ClusterView, broker: BrokerId, partitions: Iterable[TopicPartition]
) -> RequestBatch:
    """Others are to know that a broker's replicas serve no more; its own StopReplica was added before the ISR changed.

    The rest of the assignment gets the leader and the ISR that remain, changed or not; of a topic queued for deletion nobody
    hears. A partition without leadership has nothing to tell, but makes everybody hear who is alive.

    Args:
        partitions: those for which the removal from the ISR did not fail.
    """
    given = tuple(partitions)
    others = {
        tp: tuple(replica for replica in view.assignments.get(tp, UNASSIGNED).replicas if replica != broker)
        for tp in given
        if tp in view.leadership and not view.is_queued_for_deletion(tp)
    }
    told = add_leader_and_isr(batch, view, others)
    leaderless = [tp for tp in given if tp not in view.leadership]
    return add_metadata_for_all(told, view, leaderless) if leaderless else told


def add_epoch_bump(batch: RequestBatch, view: ClusterView, tp: TopicPartition) -> RequestBatch:
    """All replicas of a reassigned partition are to know its new leader epoch, and those being added that they exist.

    With the reassignment's last step the target is the whole assignment, and nobody is new.
    """
    assignment = view.assignments[tp]
    told = add_leader_and_isr(batch, view, {tp: assignment.origin_replicas})
    return add_leader_and_isr(told, view, {tp: assignment.adding_replicas}, is_new=True)


def add_metadata_for_all(batch: RequestBatch, view: ClusterView, partitions: Iterable[TopicPartition] = ()) -> RequestBatch:
    """Every broker, shutting down or not, is to know who is alive, and these partitions."""
    return add_update_metadata(batch, view, view.broker_epochs, partitions)


def add_metadata_for_existing(batch: RequestBatch, view: ClusterView, started: Iterable[BrokerId]) -> RequestBatch:
    """When brokers start, the others are told first, of brokers only; to be flushed before add_metadata_for_started."""
    return add_update_metadata(batch, view, view.broker_epochs.keys() - set(started))


def add_metadata_for_started(batch: RequestBatch, view: ClusterView, started: Iterable[BrokerId]) -> RequestBatch:
    """Brokers that start are told of every partition that has, or had, a leader; not those of topics queued for deletion."""
    partitions = (tp for tp in view.leadership if not view.is_queued_for_deletion(tp))
    return add_update_metadata(batch, view, started, partitions)
