"""Writes the events of one partition as a run of the simulator writes them: decisions, and the writes that follow from them.

Each event has a millisecond of its own within the partition: the first free one from the time at which it is due.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.controller.decisions.election import Election, ElectionRule
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.step_names import ReassignmentStep
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.generating.layout import Layout
from kcsim.scenarios.analysis.generating.rows import GeneratedRow, Ids
from kcsim.scenarios.analysis.generating.stepped_simulator import Serving
from kcsim.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, LeaderEpoch, ReplicaAssignment, ZkVersion
from kcsim.znodes import partition_state_text

ELECTION = EventKind.LEADER_ELECTION.value
REMOVED = EventKind.REPLICA_REMOVED_FROM_ISR.value
BUMPED = EventKind.LEADER_EPOCH_BUMPED.value
REASSIGNMENT = EventKind.PARTITION_REASSIGNMENT.value
CREATED, CHANGED, DELETED = (k.value for k in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED))
ZOOKEEPER, ADMINISTRATOR = "zookeeper", "scenario"
LAG_RULE = "replica.lag.time.max.ms"
REACTION_MS = 2
REMEMBERED = 1 << 16


class DecisionContext(NamedTuple):
    """An action of a controller, from which decisions follow.

    Attributes:
        controller, session: of the acting controller.
        t_ms, cause: the time of the action, and the seq of its event.
        election_ms, election_cause: the same for elections, if they follow from a later event.
    """

    controller: int
    session: str
    t_ms: int
    cause: int
    election_ms: int
    election_cause: int


class PartitionEventWriter:
    """The rows of one partition, in order.

    Attributes:
        rows: all rows so far.
        last_ms: the time of the latest event; -1 before the first.
    """

    def __init__(self, layout: Layout, topic: str, partition: int, place: int) -> None:
        self.rows: list[GeneratedRow] = []
        self.last_ms = -1
        self.name = f"{topic}-{partition}"
        self._stride = layout.stride
        self._topic = topic
        self._partition = partition
        self._place = place
        self._path = f"/brokers/topics/{topic}/partitions/{partition}"
        self._state_path = f"{self._path}/state"
        self._exists = False
        self._leader: int | None = None
        self._leader_epoch = 0
        self._isr: Ids = ()

    def seq(self, t_ms: int) -> int:
        """Return the seq of an event of this partition: layout.seq without the calls."""
        return t_ms * self._stride + self._place

    def add(self, t_ms: int, node: str, kind: str, cause: int | None, **fields: Any) -> int:
        """Add an event at the time, or as soon after it as possible. Returns: its seq."""
        self.last_ms = t_ms = max(t_ms, self.last_ms + 1)
        seq = t_ms * self._stride + self._place
        self.rows.append(GeneratedRow(seq, t_ms, node, kind, cause, self._topic, self._partition, **fields))
        return seq

    # --- what a controller decides

    def decisions(self, transitions: Iterable[Transition], context: DecisionContext, serving: Serving) -> None:
        """Add the decisions that follow from a controller's action."""
        for transition in transitions:
            if transition.kind == ELECTION:
                self._election(transition, context, serving)
            elif transition.kind == REMOVED:
                self._removal(transition, context)
            elif transition.kind == BUMPED:
                self._bump(transition, context)

    def _election(self, transition: Transition, context: DecisionContext, serving: Serving) -> None:
        rule = transition.rule or ""
        candidates = tuple(transition.replicas)
        if rule == ElectionRule.REASSIGNMENT_TARGET:
            candidates = tuple(b for b in candidates if b not in transition.removing)
        election = _election_of(rule, candidates, self._isr, serving, transition.leader)
        fields: dict[str, Any] = {"replicas": candidates, "rule": rule, **election._asdict()}
        if transition.leader is not None:
            fields |= {"leader": transition.leader, "leader_epoch": transition.leader_epoch, "isr": transition.isr}
        due = context.election_ms + REACTION_MS
        seq = self.add(due, node_of(context.controller), ELECTION, context.election_cause, **fields)
        if transition.leader is not None:
            self._write(transition, context.session, seq)

    def _removal(self, transition: Transition, context: DecisionContext) -> None:
        before = self._isr
        gone = [b for b in before if b not in transition.isr]
        is_last = not gone
        seq = self.add(
            context.t_ms + REACTION_MS,
            node_of(context.controller),
            REMOVED,
            context.cause,
            broker_id=before[0] if is_last else gone[0],
            leader=transition.leader,
            leader_epoch=transition.leader_epoch,
            isr=transition.isr,
            rule=DecisionRule.LAST_STAYS_IN_ISR.value if is_last else DecisionRule.OFFLINE_LEAVES_ISR.value,
            inputs=f"leader {NO_LEADER if self._leader is None else self._leader}, ISR {list(before)}",
        )
        self._write(transition, context.session, seq)

    def _bump(self, transition: Transition, context: DecisionContext) -> None:
        seq = self.add(
            context.t_ms + REACTION_MS,
            node_of(context.controller),
            BUMPED,
            context.cause,
            leader=transition.leader,
            leader_epoch=transition.leader_epoch,
            isr=transition.isr,
            rule=DecisionRule.NEW_REPLICAS_NEW_EPOCH.value,
            inputs=f"leader epoch {self._leader_epoch}",
        )
        self._write(transition, context.session, seq)

    def step(self, t_ms: int, step: ReassignmentStep, assignment: ReplicaAssignment, controller: int, cause: int) -> int:
        """Add a step of a reassignment. Returns: its seq."""
        return self.add(
            t_ms,
            node_of(controller),
            REASSIGNMENT,
            cause,
            replicas=assignment.replicas,
            step=step.value,
            adding_replicas=assignment.adding_replicas,
            removing_replicas=assignment.removing_replicas,
            target_replicas=assignment.target_replicas,
            inputs=f"adding {list(assignment.adding_replicas)}, removing {list(assignment.removing_replicas)}",
            detail=f"reassignment of {self.name} to {list(assignment.target_replicas)} {step}",
        )

    # --- what leaders and administrators do

    def isr_change(self, transition: Transition, t_ms: int, session: str, cause: int | None, broker: int) -> int:
        """Add the leader's write of an ISR that changed because of one replica. Returns: the seq of the leader's event."""
        self._write(transition, session, cause, t_ms)
        fields: dict[str, Any] = {"broker_id": broker}
        if transition.kind == EventKind.ISR_SHRUNK.value:
            fields = {"brokers": (broker,), "rule": LAG_RULE}
        return self.add(
            t_ms,
            node_of(transition.leader or 0),
            transition.kind,
            cause,
            zk_version=transition.zk_version,
            controller_epoch=transition.controller_epoch,
            leader=transition.leader,
            leader_epoch=transition.leader_epoch,
            isr=transition.isr,
            **fields,
        )

    def requested(self, t_ms: int, op: str, detail: str) -> int:
        """Add an administrator's request. Returns: its seq."""
        return self.add(t_ms, ADMINISTRATOR, EventKind.ADMIN_ACT.value, None, op=op, detail=detail)

    def gone(self, t_ms: int, session: str, zk_version: int, cause: int) -> None:
        """Add the deletion of the partition's znodes."""
        self._znode(t_ms, DELETED, self._state_path, None, zk_version, session, cause)
        self._znode(t_ms, DELETED, self._path, None, 0, session, cause)
        self._exists = False

    # --- znodes

    def _write(self, transition: Transition, session: str, cause: int | None, t_ms: int = 0) -> None:
        self._leader = None if transition.leader == NO_LEADER else transition.leader
        self._leader_epoch, self._isr = transition.leader_epoch or 0, tuple(transition.isr)
        data = partition_state_text(self._leader, self._leader_epoch, self._isr, transition.controller_epoch or 0)
        kind = CHANGED
        if not self._exists:
            kind, self._exists = CREATED, True
            self._znode(t_ms, CREATED, self._path, None, 0, session, cause)
        self._znode(t_ms, kind, self._state_path, data, transition.zk_version or 0, session, cause)

    def _znode(
        self, t_ms: int, kind: str, path: str, data: str | None, zk_version: int, session: str, cause: int | None
    ) -> None:
        self.last_ms = t_ms = max(t_ms, self.last_ms + 1)
        seq = t_ms * self._stride + self._place  # also the zxid of the transaction
        self.rows.append(
            GeneratedRow(
                seq, t_ms, ZOOKEEPER, kind, cause, self._topic, self._partition, path, data, seq, zk_version, False, session
            )
        )


@cache
def node_of(broker: int) -> str:
    """Return the name of a broker's node."""
    return f"broker-{broker}"


class _ElectionColumns(NamedTuple):
    """The columns of an election that describe what it was held on."""

    previous_isr: Ids
    live_replicas: Ids
    inputs: str
    detail: str


@lru_cache(REMEMBERED)
def _election_of(rule: str, candidates: Ids, isr: Ids, serving: Serving, leader: int | None) -> _ElectionColumns:
    """Return what an election was held on, in columns, and as the controller words it."""
    rule = ElectionRule(rule)
    before = () if rule is ElectionRule.NEW_PARTITION else _brokers(isr)
    shutting_down = _brokers(serving.shutting_down) if rule is ElectionRule.CONTROLLED_SHUTDOWN else ()
    concerned = sorted({*candidates, *before})
    alive = {*serving.alive, *serving.shutting_down} if shutting_down else set(serving.alive)
    elected = None if leader is None else LeaderAndIsr(BrokerId(leader), LeaderEpoch(0), before, ZkVersion(0))
    election = Election(
        rule,
        _brokers(candidates),
        before,
        _brokers(tuple(b for b in concerned if b in alive)),
        _brokers(tuple(b for b in concerned if b in shutting_down)),
        elected,
    )
    return _ElectionColumns(election.isr, election.alive, election.inputs, str(election))


def _brokers(ids: Ids) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(b) for b in ids)
