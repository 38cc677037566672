"""Tells what became of one partition as a run of the simulator tells it: decisions, the writes that follow from them.

Each event has a millisecond of its own within the partition: the first that is free from the time on at which it is due.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kcsim.controller.decisions.election import Election, ElectionRule
from kcsim.scenarios.replay.folding.transition import Transition
from kcsim.scenarios.replay.generating.layout import Layout
from kcsim.scenarios.replay.generating.rows import Ids, Row
from kcsim.scenarios.replay.generating.stepped_fold import Serving
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, LeaderEpoch, ReplicaAssignment, ZkVersion

ELECTION = EventKind.LEADER_ELECTION.value
REMOVED = EventKind.REPLICA_REMOVED_FROM_ISR.value
BUMPED = EventKind.LEADER_EPOCH_BUMPED.value
REASSIGNMENT = EventKind.PARTITION_REASSIGNMENT.value
CREATED, CHANGED, DELETED = (k.value for k in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED))
ZOOKEEPER, ADMINISTRATOR = "zookeeper", "scenario"
REMOVED_RULE = "a replica that goes offline leaves the ISR, one leader epoch later"
LAST_STAYS_RULE = "the last member stays in the ISR, so that it is known who has the data, but leads no more"
BUMPED_RULE = "a changed replica list needs a new leader epoch, or brokers would not take it in"
LAG_RULE = "replica.lag.time.max.ms"
REACTION_MS = 2
REMEMBERED = 1 << 16


class Act(NamedTuple):
    """A controller's deed, from which decisions follow.

    Attributes:
        controller, session: who acts.
        t_ms, cause: when, and the event that it is.
        election_ms, election_cause: the same of elections, if they follow from something later.
    """

    controller: int
    session: str
    t_ms: int
    cause: int
    election_ms: int
    election_cause: int


class PartitionTale:
    """The rows of one partition, in order.

    Attributes:
        rows: all that was told.
        last_ms: when the latest event is; -1 before the first.
    """

    def __init__(self, layout: Layout, topic: str, partition: int, place: int) -> None:
        self.rows: list[Row] = []
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
        """Of an event of this partition: layout.seq, without the way there."""
        return t_ms * self._stride + self._place

    def add(self, t_ms: int, node: str, kind: str, cause: int | None, **fields: Any) -> int:
        """Tell an event, then or as soon after as possible. Returns: its seq."""
        self.last_ms = t_ms = max(t_ms, self.last_ms + 1)
        seq = t_ms * self._stride + self._place
        self.rows.append(Row(seq, t_ms, node, kind, cause, self._topic, self._partition, **fields))
        return seq

    # --- what a controller decides

    def decisions(self, transitions: Iterable[Transition], act: Act, serving: Serving) -> None:
        """Tell what follows from a controller's deed."""
        for told in transitions:
            if told.kind == ELECTION:
                self._election(told, act, serving)
            elif told.kind == REMOVED:
                self._removal(told, act)
            elif told.kind == BUMPED:
                self._bump(told, act)

    def _election(self, told: Transition, act: Act, serving: Serving) -> None:
        rule = told.rule or ""
        candidates = tuple(told.replicas)
        if rule == ElectionRule.REASSIGNMENT_TARGET:
            candidates = tuple(b for b in candidates if b not in told.removing)
        inputs, detail = _wording(rule, candidates, self._isr, serving, told.leader)
        fields: dict[str, Any] = {"replicas": candidates, "rule": rule, "inputs": inputs, "detail": detail}
        if told.leader is not None:
            fields |= {"leader": told.leader, "leader_epoch": told.leader_epoch, "isr": told.isr}
        due = act.election_ms + REACTION_MS
        seq = self.add(due, node_of(act.controller), ELECTION, act.election_cause, **fields)
        if told.leader is not None:
            self._write(told, act.session, seq)

    def _removal(self, told: Transition, act: Act) -> None:
        before = self._isr
        gone = [b for b in before if b not in told.isr]
        is_last = not gone
        seq = self.add(
            act.t_ms + REACTION_MS,
            node_of(act.controller),
            REMOVED,
            act.cause,
            broker_id=before[0] if is_last else gone[0],
            leader=told.leader,
            leader_epoch=told.leader_epoch,
            isr=told.isr,
            rule=LAST_STAYS_RULE if is_last else REMOVED_RULE,
            inputs=f"leader {NO_LEADER if self._leader is None else self._leader}, ISR {list(before)}",
        )
        self._write(told, act.session, seq)

    def _bump(self, told: Transition, act: Act) -> None:
        seq = self.add(
            act.t_ms + REACTION_MS,
            node_of(act.controller),
            BUMPED,
            act.cause,
            leader=told.leader,
            leader_epoch=told.leader_epoch,
            isr=told.isr,
            rule=BUMPED_RULE,
            inputs=f"leader epoch {self._leader_epoch}",
        )
        self._write(told, act.session, seq)

    def step(self, t_ms: int, step: str, assignment: ReplicaAssignment, controller: int, cause: int) -> int:
        """Tell a step of a reassignment. Returns: its seq."""
        return self.add(
            t_ms,
            node_of(controller),
            REASSIGNMENT,
            cause,
            replicas=assignment.replicas,
            step=step,
            inputs=f"adding {list(assignment.adding_replicas)}, removing {list(assignment.removing_replicas)}",
            detail=f"reassignment of {self.name} to {list(assignment.target_replicas)} {step}",
        )

    # --- what leaders and administrators do

    def isr_change(self, told: Transition, t_ms: int, session: str, cause: int | None, broker: int) -> int:
        """Tell that the leader has written another ISR, for the sake of one replica. Returns: the seq of its event."""
        self._write(told, session, cause, t_ms)
        fields: dict[str, Any] = {"broker_id": broker}
        if told.kind == EventKind.ISR_SHRUNK.value:
            fields = {"brokers": (broker,), "rule": LAG_RULE}
        return self.add(
            t_ms,
            node_of(told.leader or 0),
            told.kind,
            cause,
            zk_version=told.zk_version,
            controller_epoch=told.controller_epoch,
            leader=told.leader,
            leader_epoch=told.leader_epoch,
            isr=told.isr,
            **fields,
        )

    def asked(self, t_ms: int, op: str, detail: str) -> int:
        """Tell an administrator's wish. Returns: its seq."""
        return self.add(t_ms, ADMINISTRATOR, EventKind.ADMIN_ACT.value, None, op=op, detail=detail)

    def gone(self, t_ms: int, session: str, zk_version: int, cause: int) -> None:
        """Tell that the znodes are deleted."""
        self._znode(t_ms, DELETED, self._state_path, None, zk_version, session, cause)
        self._znode(t_ms, DELETED, self._path, None, 0, session, cause)
        self._exists = False

    # --- znodes

    def _write(self, told: Transition, session: str, cause: int | None, t_ms: int = 0) -> None:
        self._leader = None if told.leader == NO_LEADER else told.leader
        self._leader_epoch, self._isr = told.leader_epoch or 0, tuple(told.isr)
        data = (
            f'{{"controller_epoch":{told.controller_epoch},"leader":{told.leader},"version":1,'
            f'"leader_epoch":{told.leader_epoch},"isr":[{_listed(self._isr)}]}}'
        )
        kind = CHANGED
        if not self._exists:
            kind, self._exists = CREATED, True
            self._znode(t_ms, CREATED, self._path, None, 0, session, cause)
        self._znode(t_ms, kind, self._state_path, data, told.zk_version or 0, session, cause)

    def _znode(
        self, t_ms: int, kind: str, path: str, data: str | None, zk_version: int, session: str, cause: int | None
    ) -> None:
        self.last_ms = t_ms = max(t_ms, self.last_ms + 1)
        seq = t_ms * self._stride + self._place  # of the transaction, too
        self.rows.append(
            Row(seq, t_ms, ZOOKEEPER, kind, cause, self._topic, self._partition, path, data, seq, zk_version, False, session)
        )


@cache
def node_of(broker: int) -> str:
    """A broker's name."""
    return f"broker-{broker}"


@lru_cache(REMEMBERED)
def _listed(brokers: Ids) -> str:
    return ",".join(map(str, brokers))


@lru_cache(REMEMBERED)
def _wording(rule: str, candidates: Ids, isr: Ids, serving: Serving, leader: int | None) -> tuple[str, str]:
    """An election's inputs and its sentence, as the controller words them."""
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
    return election.inputs, str(election)


def _brokers(ids: Ids) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(b) for b in ids)
