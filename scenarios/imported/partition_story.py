"""What a write of a partition's state, or of a topic's assignment, was: as far as its content tells.

Pure. Whoever changes the leader epoch is a controller, whatever its version: leaders never do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcsim.scenarios.language.words import listed
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, PartitionState, ReplicaAssignment, TopicPartition


@dataclass(frozen=True, slots=True)
class Deed:
    """An event that a write gives evidence of. `is_decision`: it comes before the write, which follows from it."""

    kind: EventKind
    fields: EventFields
    is_decision: bool


def state_deed(tp: TopicPartition, before: PartitionState | None, after: PartitionState) -> Deed | None:
    """What a new state of a partition says; None if it says nothing new."""
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
        detail = f"{tp} begins with {_leader(new.leader)} as its leader"
        return Deed(EventKind.LEADER_ELECTION, EventFields(**fields, detail=detail), True)
    if new.leader_epoch != before.leader_and_isr.leader_epoch:
        return _decided(before.leader_and_isr, new, fields)
    return _kept(before.leader_and_isr, new, fields)


def _decided(old: LeaderAndIsr, new: LeaderAndIsr, fields: EventFields) -> Deed:
    removed = [b for b in old.isr if b not in new.isr]
    if new.leader is None and old.leader is not None:
        rule = "nobody else can lead"
        return Deed(EventKind.REPLICA_REMOVED_FROM_ISR, EventFields(**fields, broker_id=old.leader, rule=rule), True)
    if new.leader != old.leader:
        detail = f"{_leader(old.leader)} → {_leader(new.leader)}"
        return Deed(EventKind.LEADER_ELECTION, EventFields(**fields, detail=detail), True)
    if removed:
        rule = f"{listed(removed)} taken out, the leader stays"
        return Deed(EventKind.REPLICA_REMOVED_FROM_ISR, EventFields(**fields, broker_id=removed[0], rule=rule), True)
    if new.isr == old.isr:
        return Deed(EventKind.LEADER_EPOCH_BUMPED, EventFields(**fields, detail="leader and ISR stay"), True)
    return Deed(EventKind.LEADER_ELECTION, EventFields(**fields, detail=f"{_leader(new.leader)} stays"), True)


def _kept(old: LeaderAndIsr, new: LeaderAndIsr, fields: EventFields) -> Deed | None:
    added, removed = ([b for b in one if b not in other] for one, other in ((new.isr, old.isr), (old.isr, new.isr)))
    if removed:
        return Deed(EventKind.ISR_SHRUNK, EventFields(**fields, detail=f"{listed(removed)} dropped"), False)
    if added:
        return Deed(EventKind.ISR_EXPANDED, EventFields(**fields, broker_id=added[0]), False)
    return None


def assignment_deeds(
    topic: str, before: Mapping[int, ReplicaAssignment], after: Mapping[int, ReplicaAssignment]
) -> Iterator[Deed]:
    """Which reassignments a new assignment of a topic begins or ends. New partitions are none."""
    for number in sorted(before.keys() & after.keys()):
        old, new = before[number], after[number]
        if old != new and (step := _step(old, new)) is not None:
            adding, removing = listed(new.adding_replicas), listed(new.removing_replicas)
            tp = TopicPartition(topic, number)
            fields = EventFields(
                topic=topic,
                partition=number,
                step=step,
                replicas=new.replicas,
                inputs=f"adding {adding or 'none'}, removing {removing or 'none'}",
                detail=f"reassignment of {tp} to {list(new.target_replicas)} {step}",
            )
            yield Deed(EventKind.PARTITION_REASSIGNMENT, fields, True)


def _step(old: ReplicaAssignment, new: ReplicaAssignment) -> str:
    if new.is_being_reassigned:
        return "restarted" if old.is_being_reassigned else "started"
    # Versions before 2.4 do not write down what they add and remove.
    return "completed" if old.is_being_reassigned else "assigned"


def _leader(leader: BrokerId | None) -> str:
    return "nobody" if leader is None else f"broker-{leader}"
