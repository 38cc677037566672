"""Infers events from the writes of partition states and topic assignments, as far as their content shows them.

Pure. A write that changes the leader epoch is a controller's, in every version of Kafka: leaders never change it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.step_names import ReassignmentStep
from kcsim.text import comma_separated
from kcsim.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, PartitionState, ReplicaAssignment, TopicPartition


@dataclass(frozen=True, slots=True)
class InferredEvent:
    """An event that a write implies. `is_decision`: the event comes before the write, and the write follows from it."""

    kind: EventKind
    fields: EventFields
    is_decision: bool


def infer_state_event(tp: TopicPartition, before: PartitionState | None, after: PartitionState) -> InferredEvent | None:
    """Return the event that a new partition state implies; None if leader, leader epoch and ISR members are unchanged."""
    new = after.leader_and_isr
    fields = EventFields(
        topic=tp.topic,
        partition=tp.partition,
        leader=NO_LEADER if new.leader is None else new.leader,
        leader_epoch=new.leader_epoch,
        isr=new.isr,
        controller_epoch=after.controller_epoch,
    )
    if before is None:
        detail = f"{tp} begins with {_leader(new.leader)}" + (" as its leader" if new.leader is not None else "")
        return InferredEvent(EventKind.LEADER_ELECTION, EventFields(**fields, detail=detail), True)
    if new.leader_epoch != before.leader_and_isr.leader_epoch:
        return _controller_event(before.leader_and_isr, new, fields)
    return _leader_event(before.leader_and_isr, new, fields)


def _controller_event(old: LeaderAndIsr, new: LeaderAndIsr, fields: EventFields) -> InferredEvent:
    removed = [b for b in old.isr if b not in new.isr]
    if new.leader is None and old.leader is not None:
        rule = "no other replica can lead"
        return InferredEvent(
            EventKind.REPLICA_REMOVED_FROM_ISR, EventFields(**fields, broker_id=old.leader, rule=rule), True
        )
    if new.leader != old.leader:
        detail = f"{_leader(old.leader)} → {_leader(new.leader)}"
        return InferredEvent(EventKind.LEADER_ELECTION, EventFields(**fields, detail=detail), True)
    if removed:
        rule = f"{comma_separated(removed)} taken out, the leader stays"
        return InferredEvent(
            EventKind.REPLICA_REMOVED_FROM_ISR, EventFields(**fields, broker_id=removed[0], rule=rule), True
        )
    if new.isr == old.isr:
        return InferredEvent(EventKind.LEADER_EPOCH_BUMPED, EventFields(**fields, detail="leader and ISR stay"), True)
    return InferredEvent(EventKind.LEADER_ELECTION, EventFields(**fields, detail=f"{_leader(new.leader)} stays"), True)


def _leader_event(old: LeaderAndIsr, new: LeaderAndIsr, fields: EventFields) -> InferredEvent | None:
    added, removed = ([b for b in one if b not in other] for one, other in ((new.isr, old.isr), (old.isr, new.isr)))
    if removed:
        return InferredEvent(
            EventKind.ISR_SHRUNK, EventFields(**fields, detail=f"{comma_separated(removed)} dropped"), False
        )
    if added:
        return InferredEvent(EventKind.ISR_EXPANDED, EventFields(**fields, broker_id=added[0]), False)
    return None


def infer_reassignment_events(
    topic: str, before: Mapping[int, ReplicaAssignment], after: Mapping[int, ReplicaAssignment]
) -> Iterator[InferredEvent]:
    """Yield the reassignments that a new assignment of a topic begins or ends. New partitions are not reassignments."""
    for number in sorted(before.keys() & after.keys()):
        old, new = before[number], after[number]
        if old != new and (step := _step(old, new)) is not None:
            adding, removing = comma_separated(new.adding_replicas), comma_separated(new.removing_replicas)
            tp = TopicPartition(topic, number)
            fields = EventFields(
                topic=topic,
                partition=number,
                step=step.value,
                replicas=new.replicas,
                adding_replicas=new.adding_replicas,
                removing_replicas=new.removing_replicas,
                target_replicas=new.target_replicas,
                inputs=f"adding {adding or 'none'}, removing {removing or 'none'}",
                detail=f"reassignment of {tp} to {list(new.target_replicas)} {step}",
            )
            yield InferredEvent(EventKind.PARTITION_REASSIGNMENT, fields, True)


def _step(old: ReplicaAssignment, new: ReplicaAssignment) -> ReassignmentStep:
    if new.is_being_reassigned:
        return ReassignmentStep.RESTARTED if old.is_being_reassigned else ReassignmentStep.STARTED
    # Kafka before 2.4 does not write adding and removing replicas.
    return ReassignmentStep.COMPLETED if old.is_being_reassigned else ReassignmentStep.ASSIGNED


def _leader(leader: BrokerId | None) -> str:
    return "no leader" if leader is None else f"broker-{leader}"
