"""One change of a partition's state, as ZooKeeper keeps it: the output of a replay, and the input of the analyses."""

from collections.abc import Sequence
from typing import Any

import msgspec

from kcsim.eventlog.arrow_types import arrow_fields


class Transition(msgspec.Struct, frozen=True):
    """One row of the table of transitions. Within (batch, run, topic, partition), `n` counts from 0 without gaps.

    Attributes:
        batch, run: as in the table of events.
        seq, t_ms: of the event that is the change: in a recorded history the change of the state znode; in a derived one
            (see `derived`) the event that the change follows from.
        kind: what changed it, in the words of EventKind: LeaderElection, ReplicaRemovedFromIsr, LeaderEpochBumped,
            IsrExpanded, IsrShrunk; ZnodeCreated and ZnodeChanged where another client wrote it; ZnodeDeleted at its end;
            PartitionReassignment where only the replicas changed. LeaderElection with `leader` null: no leader could be
            elected, nothing was written, and everything else is unchanged.
        leader: -1: no leader; null when the state is deleted, or no leader could be elected.
        isr, replicas: as stored after the change. `replicas` is the assignment, those being added first as Kafka orders
            them.
        adding, removing: of a running reassignment.
        controller_epoch: as stored with the state.
        zk_version: of the state znode after the change.
        strategy: Kafka's name of the election strategy (PartitionLeaderElectionStrategy); only for elections.
        rule: what decided (ElectionRule); only for elections.
        trigger: the reason, a value of Trigger.
        cause: seq of the event that led to it: the controller's, or a leader's.
        clean: False for an unclean election, True for a clean one, null for other changes and for elections without a
            leader.
        derived: True if the replay itself found out that this happens, False if the history records when.
    """

    batch: str
    run: str
    topic: str
    partition: int
    n: int
    seq: int
    t_ms: int
    kind: str
    leader: int | None
    leader_epoch: int | None
    isr: Sequence[int]
    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]
    controller_epoch: int | None
    zk_version: int | None
    strategy: str | None
    rule: str | None
    trigger: str
    cause: int | None
    clean: bool | None
    derived: bool


def transitions_arrow_schema() -> Any:
    """Return the columns as a pyarrow.Schema, in the order of Transition."""
    import pyarrow as pa

    return pa.schema(arrow_fields(Transition))
