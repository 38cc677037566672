"""One partition's state as ZooKeeper keeps it, and the rows that record its changes."""

from typing import NamedTuple

from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.vocabulary import NO_LEADER, ReplicaAssignment
from kcsim.znodes import partition_state_text, partition_state_text_before_isr

UNASSIGNED = ReplicaAssignment(())


class StateZnode(NamedTuple):
    """The content of a state znode, and its version. `leader` None: there is no leader."""

    leader: int | None
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    zk_version: int

    @property
    def text_before_isr(self) -> str:
        """The data of the znode up to the members of the ISR."""
        return partition_state_text_before_isr(self.leader, self.leader_epoch, self.controller_epoch)

    @property
    def text(self) -> str:
        """The data of the znode, as the controller and leaders write it."""
        return partition_state_text(self.leader, self.leader_epoch, self.isr, self.controller_epoch)


class PartitionKey(NamedTuple):
    """A partition of a run."""

    batch: str
    run: str
    topic: str
    partition: int


class TransitionLog:
    """The state of one partition so far, and its transitions.

    Attributes:
        stored: the state; None while there is no state znode.
        assignment: as stored in the topic's znode.
        transitions: the rows recorded and not taken yet.
        n: the number of the next row.
    """

    def __init__(self, key: PartitionKey, is_derived: bool) -> None:
        self.key = key
        self.stored: StateZnode | None = None
        self.assignment = UNASSIGNED
        self.transitions: list[Transition] = []
        self._is_derived = is_derived
        self.n = 0

    def take(self) -> list[Transition]:
        """Return the rows since the last call."""
        taken, self.transitions = self.transitions, []
        return taken

    def append(
        self,
        seq: int,
        t_ms: int,
        kind: str,
        trigger: Trigger,
        cause: int | None,
        *,
        strategy: str | None = None,
        rule: str | None = None,
        clean: bool | None = None,
        no_leader: bool = False,
    ) -> None:
        """Record a change that was made to `stored` or `assignment`; `no_leader`: an election that changed nothing."""
        now = self.stored
        leader = None if now is None or no_leader else NO_LEADER if now.leader is None else now.leader
        assignment = self.assignment
        self.transitions.append(
            Transition(
                *self.key,
                self.n,
                seq,
                t_ms,
                kind,
                leader,
                None if now is None else now.leader_epoch,
                () if now is None else now.isr,
                assignment.replicas,
                assignment.adding_replicas,
                assignment.removing_replicas,
                None if now is None else now.controller_epoch,
                None if now is None else now.zk_version,
                strategy,
                rule,
                str(trigger),
                cause,
                clean,
                self._is_derived,
            )
        )
        self.n += 1
