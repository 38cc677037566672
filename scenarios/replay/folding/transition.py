"""One change of a partition's state, as ZooKeeper keeps it: what a replay yields, and what the analyses are made on."""

from collections.abc import Sequence
from typing import Any

import msgspec


class Transition(msgspec.Struct, frozen=True):
    """One row of the table of transitions. Within (batch, run, topic, partition), `n` counts from 0 without gaps.

    Attributes:
        batch, run: as in the table of events.
        seq, t_ms: of the event that is the change: in a recorded history the change of the state znode; in a derived one
            (see `derived`) what it follows from.
        kind: what changed it, in the words of EventKind: LeaderElection, ReplicaRemovedFromIsr, LeaderEpochBumped,
            IsrExpanded, IsrShrunk; ZnodeCreated and ZnodeChanged where somebody else wrote it; ZnodeDeleted at its end;
            PartitionReassignment where only the replicas changed. LeaderElection with `leader` null: nobody could be
            elected, nothing was written, and all else is as it was before.
        leader: -1 nobody; null when the state is gone, or nobody was elected.
        isr, replicas: as stored after the change. `replicas` is the assignment, those being added first as Kafka has them.
        adding, removing: of a running reassignment.
        controller_epoch: as stored with the state.
        zk_version: of the state znode after the change.
        strategy: how a leader was looked for, Kafka's name (Strategy), of elections alone.
        rule: what decided (ElectionRule), of elections alone.
        trigger: why, one word of Trigger.
        cause: seq of the event that led to it: the controller's, or a leader's.
        clean: False for an unclean election, True for a clean one, null for what is no election or found nobody.
        derived: whether the replay found by itself that this happens, in place of being told when.
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
    """The columns as a pyarrow.Schema, in the order of Transition."""
    import pyarrow as pa

    ints = {"partition", "n", "seq", "t_ms", "leader", "leader_epoch", "controller_epoch", "zk_version", "cause"}
    lists = {"isr", "replicas", "adding", "removing"}
    types = {
        name: pa.int64() if name in ints else pa.list_(pa.int64()) if name in lists else pa.string()
        for name in Transition.__struct_fields__
    } | {"clean": pa.bool_(), "derived": pa.bool_()}
    return pa.schema(list(types.items()))
