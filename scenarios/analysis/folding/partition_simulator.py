"""The simulation of one partition when the replay itself finds out what the controller does.

The caller merges two streams by `seq`: the actions of the timeline (`advance`), which concern the cluster, and the events of
the partition alone (the other methods): it is created, reassigned or deleted, and replicas fall behind or catch up. Then the
caller takes the transitions. Actions that cannot concern the partition are skipped without being examined.

What the simulation leaves out: a controller's view of an ISR is always up to date; writes are never lost, refused or
interrupted; the elections of one action are not interleaved with changes of an ISR.
"""

from collections.abc import Collection, Iterable

from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.controller.decisions.partition_states import PartitionMachineState, next_partition_state
from kcsim.controller.decisions.reassignment import reassigned_to
from kcsim.eventlog.events import EventKind
from kcsim.jvm_hash_order import hash_order
from kcsim.scenarios.analysis.folding.controller_action import ControllerAction, ControllerActionKind, ControllerView
from kcsim.scenarios.analysis.folding.decision_cache import (
    NEW_PARTITION,
    could_be_unclean,
    elect,
    remove_from_isr,
    strategy_of,
)
from kcsim.scenarios.analysis.folding.partition_state import UNASSIGNED, PartitionKey, StateZnode, TransitionLog
from kcsim.scenarios.analysis.folding.timeline import NO_VIEW, Timeline
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.analysis.folding.what_if import AS_IT_WAS, WhatIf
from kcsim.vocabulary import BrokerId, ReplicaAssignment, without

WITHOUT_LEADER = (PartitionMachineState.NEW, PartitionMachineState.OFFLINE)


class PartitionSimulator:
    """One simulated partition.

    Attributes:
        stored: the partition's state now; None before the partition is created.
        assignment: the replicas that it should have; UNASSIGNED before the partition is created.
    """

    def __init__(self, key: PartitionKey, timeline: Timeline, what_if: WhatIf = AS_IT_WAS) -> None:
        self.key = key
        self.assignment = UNASSIGNED
        self.machine = PartitionMachineState.NON_EXISTENT
        self._log = TransitionLog(key, is_derived=True)
        self._timeline = timeline
        self._what_if = what_if
        self._place = 0
        self._view = NO_VIEW
        self._failed_dirs: frozenset[int] = frozenset()
        self._is_queued_for_deletion = False
        self._controller_writes_isrs = False
        self._at = (0, 0, None)  # type: tuple[int, int, int | None]

    @property
    def stored(self) -> StateZnode | None:
        return self._log.stored

    @property
    def view(self) -> ControllerView:
        """What the controller knows of the brokers as of the last action or fact."""
        return self._view

    def take(self) -> list[Transition]:
        """Return the transitions since the last call."""
        return self._log.take()

    # --- the cluster's actions

    def next_place(self) -> int:
        """Return the place of the next action that can concern the partition; past the end if there is none."""
        if self.machine in WITHOUT_LEADER:  # the controller tries again whenever a broker comes or goes
            return self._place
        return self._timeline.next_concerning(self._place, self.assignment.replicas)

    def advance(self, seq: int | None = None) -> None:
        """Apply all actions before the event `seq`; all remaining actions if `seq` is None."""
        actions = self._timeline.actions
        while True:
            place = self.next_place()
            if place >= len(actions) or (seq is not None and actions[place].seq >= seq):
                break
            self._place = place + 1
            self.apply(actions[place])
        if seq is not None and (place := self._timeline.place_of(seq)) > self._place:
            self._place = place
            self._view = actions[place - 1].view

    def step(self, place: int) -> None:
        """Apply only the action at `next_place`."""
        self._place = place + 1
        self.apply(self._timeline.actions[place])

    def apply(self, action: ControllerAction) -> None:
        """Apply one action."""
        self._view = action.view
        self._at = action.seq, action.t_ms, action.seq
        if not self.assignment.replicas or self._is_queued_for_deletion or not action.view.epoch:
            return
        match action.kind:
            case ControllerActionKind.FAILOVER:
                self._on_failover(action)
            case ControllerActionKind.STARTED:
                self._failed_dirs = self._failed_dirs.difference(action.brokers)
                self._bring_online(action.trigger)
                if self.assignment.is_being_reassigned and not set(action.brokers).isdisjoint(
                    self.assignment.target_replicas
                ):
                    self._reassign(self.assignment)
            case ControllerActionKind.STOPPED:
                self._failed_dirs = self._failed_dirs.difference(action.brokers)
                self._on_offline(action.brokers, action.trigger)
            case ControllerActionKind.LOG_DIRS_FAILED:
                if self.key[2:] in action.concerned:
                    self._failed_dirs = self._failed_dirs.union(action.brokers)
                    self._on_offline(action.brokers, action.trigger)
                else:
                    self._on_offline((), action.trigger)
            case ControllerActionKind.SHUTTING_DOWN:
                self._on_shutting_down(action.brokers[0])
            case ControllerActionKind.REBALANCE:
                if self._what_if.preferred_rebalance is None:
                    self._rebalance(action.brokers)
            case ControllerActionKind.UNCLEAN_ENABLED:
                if action.topic in (None, self.key.topic):
                    self._bring_online(Trigger.UNCLEAN_ELECTION)
            case ControllerActionKind.DELETION:
                if action.topic == self.key.topic:
                    self._on_deletion(action.brokers)

    def _on_failover(self, action: ControllerAction) -> None:
        self._failed_dirs = frozenset()
        if self.stored is not None:
            for broker in action.brokers or self._dead():
                self._remove(broker, Trigger.CONTROLLER_FAILOVER)
            online = self._online(self.assignment.replicas)
            is_led = self.stored.leader is not None and self.stored.leader in online
            self.machine = PartitionMachineState.ONLINE if is_led else PartitionMachineState.OFFLINE
        else:
            self.machine = PartitionMachineState.NEW
        self._bring_online(Trigger.CONTROLLER_FAILOVER)
        if self.assignment.is_being_reassigned:
            self._reassign(self.assignment)

    def _dead(self) -> list[int]:
        replicas = self.assignment.replicas
        alive = self._timeline.brokers.among(replicas, self._view.live)
        return [int(b) for b in hash_order(BrokerId(b) for b in replicas if b not in alive)]

    def _on_offline(self, brokers: Iterable[int], trigger: Trigger) -> None:
        stored = self.stored
        if stored is not None and (stored.leader is None or stored.leader not in self._online((stored.leader,))):
            self._move(PartitionMachineState.OFFLINE)
        self._bring_online(trigger)
        for broker in brokers:
            if broker in self.assignment.replicas:
                self._remove(broker, trigger)

    def _on_shutting_down(self, broker: int) -> None:
        stored, replicas = self.stored, self.assignment.replicas
        if stored is None or broker not in replicas or len(replicas) < 2:
            return
        if stored.leader == broker:
            self._elect(PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN, Trigger.CONTROLLED_SHUTDOWN)
        else:
            self._remove(broker, Trigger.CONTROLLED_SHUTDOWN)

    def _rebalance(self, brokers: tuple[int, ...]) -> None:
        if self.can_be_given_back and (not brokers or self.assignment.replicas[0] in brokers):
            self._elect(PartitionLeaderElectionStrategy.PREFERRED, Trigger.LEADER_REBALANCE)

    @property
    def can_be_given_back(self) -> bool:
        """Whether the leader is not the preferred leader, and the preferred leader could lead."""
        stored, replicas = self.stored, self.assignment.replicas
        return (
            stored is not None
            and self._is_known
            and stored.leader != replicas[0]
            and replicas[0] in stored.isr
            and bool(self._online(replicas[:1]))
            and not self.assignment.is_being_reassigned
        )

    def rebalanced(self, seq: int, t_ms: int) -> None:
        """Process the controller's check for leadership imbalance: move leadership back to the preferred leader."""
        self._begin(seq, t_ms)
        if self._view.epoch:
            self._rebalance(())

    def _on_deletion(self, order: tuple[int, ...]) -> None:
        self._is_queued_for_deletion = True
        self.machine = PartitionMachineState.NON_EXISTENT
        for broker in self._online(order or self.assignment.replicas):
            if broker in self.assignment.replicas:
                self._remove(broker, Trigger.TOPIC_DELETION)

    # --- events of the partition alone

    def created(self, assignment: ReplicaAssignment, seq: int, t_ms: int, is_seen: bool = True) -> None:
        """Create the partition. If the controller does not see it yet (`is_seen`), the next controller will."""
        self._begin(seq, t_ms)
        self.assignment = self._log.assignment = assignment
        self._is_queued_for_deletion = False
        if self._view.epoch and is_seen:
            self.machine = PartitionMachineState.NEW
            self._bring_online(Trigger.TOPIC_CREATED)

    def lags(self, broker: int, seq: int, t_ms: int) -> bool:
        """Remove a follower that fell too far behind from the ISR, as its leader does. Returns: whether the ISR changed."""
        return self.fell_behind((broker,), seq, t_ms)

    def fell_behind(self, brokers: Collection[int], seq: int, t_ms: int, keeps_epoch: bool | None = None) -> bool:
        """Remove several such followers at once.

        Args:
            keeps_epoch: whether the state kept its controller epoch, as when the leader writes it; from protocol version 2.7
                on the controller writes it, with its own. None: as at the last change of which this is known.

        Returns: whether the ISR changed.
        """
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is None or not self._has_live_leader():
            return False
        isr = tuple(b for b in stored.isr if b not in brokers or b == stored.leader)
        return self._change_isr(stored, isr, EventKind.ISR_SHRUNK, keeps_epoch)

    def caught_up(self, broker: int, seq: int, t_ms: int) -> bool:
        """Add a follower that caught up with its leader to the ISR. Returns: whether the ISR changed."""
        return self.have_caught_up((broker,), seq, t_ms)

    def have_caught_up(self, brokers: Iterable[int], seq: int, t_ms: int, keeps_epoch: bool | None = None) -> bool:
        """Add several such followers at once.

        Args:
            keeps_epoch: as in fell_behind.

        Returns: whether the ISR changed.
        """
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is None:
            return False
        isr = (*stored.isr, *filter(self.can_catch_up, brokers))
        return self._change_isr(stored, isr, EventKind.ISR_EXPANDED, keeps_epoch)

    def _change_isr(self, stored: StateZnode, isr: tuple[int, ...], kind: EventKind, keeps_epoch: bool | None) -> bool:
        if isr == stored.isr:
            return False
        controller_writes = self._controller_writes_isrs if keeps_epoch is None else not keeps_epoch
        if controller_writes or stored.controller_epoch != self._view.epoch:  # else both write the same epoch
            self._controller_writes_isrs = controller_writes
        epoch = self._view.epoch if controller_writes else stored.controller_epoch
        self._write(stored._replace(isr=isr, controller_epoch=epoch), kind, Trigger.LEADER)
        self._look_at_reassignment()
        return True

    def can_catch_up(self, broker: int) -> bool:
        """Return whether a broker's replica could join the ISR: it is alive and not in it, and the leader is alive."""
        stored = self.stored
        return (
            stored is not None
            and broker in self.assignment.replicas
            and broker not in stored.isr
            and self._has_live_leader()
            and bool(self._online((broker,)))
        )

    def preferred_election(self, seq: int, t_ms: int) -> None:
        """Process a request for a preferred leader election."""
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is not None and self._is_known and stored.leader != self.assignment.replicas[0]:
            self._elect(PartitionLeaderElectionStrategy.PREFERRED, Trigger.PREFERRED_ELECTION)

    def unclean_election(self, seq: int, t_ms: int) -> None:
        """Process a request for an unclean leader election."""
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is not None and self._is_known and not self._has_live_leader():
            self._elect(PartitionLeaderElectionStrategy.OFFLINE, Trigger.UNCLEAN_ELECTION, by_admin=True)

    def reassigned(self, target: tuple[int, ...], seq: int, t_ms: int) -> None:
        """Process a request to reassign the partition to `target`; its own brokers: cancel a running reassignment."""
        self._begin(seq, t_ms)
        if self._view.epoch and self._is_known:
            self._reassign(reassigned_to(self.assignment, tuple(BrokerId(b) for b in target)))

    def deletion(self, order: tuple[int, ...], seq: int, t_ms: int) -> None:
        """Begin the deletion of the topic; its replicas are deleted in this order."""
        self._begin(seq, t_ms)
        if not self._is_queued_for_deletion:
            self._on_deletion(order)

    def deleted(self, seq: int, t_ms: int) -> None:
        """Process the deletion of the partition's znodes."""
        self._begin(seq, t_ms)
        self.assignment, self.machine = UNASSIGNED, PartitionMachineState.NON_EXISTENT
        if self.stored is not None:
            self._log.stored = None
            trigger = Trigger.TOPIC_DELETION if self._is_queued_for_deletion else Trigger.WRITTEN
            self._log.append(*self._at[:2], EventKind.ZNODE_DELETED.value, trigger, self._at[2])
        self._log.assignment = UNASSIGNED

    def written(self, stored: StateZnode, seq: int, t_ms: int) -> None:
        """Process a state that was written by hand."""
        self._begin(seq, t_ms)
        kind = EventKind.ZNODE_CREATED if self.stored is None else EventKind.ZNODE_CHANGED
        self._write(stored, kind, Trigger.WRITTEN, raises_version=False)

    def _begin(self, seq: int, t_ms: int) -> None:
        self.advance(seq)
        self._at = seq, t_ms, seq

    # --- what the controller does

    @property
    def _is_known(self) -> bool:
        return bool(self.assignment.replicas) and not self._is_queued_for_deletion

    def _online(self, brokers: Iterable[int]) -> tuple[int, ...]:
        found = self._timeline.brokers.among(tuple(brokers), self._view.live & ~self._view.shutting_down)
        return tuple(b for b in found if b not in self._failed_dirs) if self._failed_dirs else found

    def _has_live_leader(self) -> bool:
        leader = None if self.stored is None else self.stored.leader
        return leader is not None and bool(self._timeline.brokers.among((leader,), self._view.live))

    def _move(self, target: PartitionMachineState) -> None:
        self.machine = next_partition_state(self.machine, target) or self.machine

    def _bring_online(self, trigger: Trigger) -> None:
        if self.machine in WITHOUT_LEADER:
            self._elect(
                NEW_PARTITION if self.machine is PartitionMachineState.NEW else PartitionLeaderElectionStrategy.OFFLINE,
                trigger,
            )

    def _elect(self, strategy: str, trigger: Trigger, by_admin: bool = False) -> None:
        stored, view, assignment = self.stored, self._view, self.assignment
        if stored is None and strategy != NEW_PARTITION:
            return
        leader, isr = (None, ()) if stored is None or strategy == NEW_PARTITION else (stored.leader, stored.isr)
        is_shutdown = strategy == PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN
        candidates = (
            assignment.target_replicas if strategy == PartitionLeaderElectionStrategy.REASSIGN else assignment.replicas
        )
        concerned = (*candidates, *isr)
        online = self._timeline.brokers.among(concerned, view.live) if is_shutdown else self._online(concerned)
        shutting_down = self._timeline.brokers.among(concerned, view.shutting_down) if is_shutdown else ()
        unclean = (
            strategy == PartitionLeaderElectionStrategy.OFFLINE
            and could_be_unclean(isr, online)
            and (by_admin or self._allows_unclean())
        )
        chosen = elect(str(strategy), candidates, leader, isr, online, shutting_down, unclean)
        kind, named, (seq, t_ms, cause) = EventKind.LEADER_ELECTION.value, strategy_of(strategy, by_admin), self._at
        if chosen.leader is None:
            self._log.append(seq, t_ms, kind, trigger, cause, strategy=named, rule=chosen.rule, no_leader=True)
            return
        self._move(PartitionMachineState.ONLINE)
        epoch = 0 if stored is None else stored.leader_epoch + 1
        version = 0 if stored is None else stored.zk_version + 1
        self._log.stored = StateZnode(chosen.leader, epoch, chosen.isr, view.epoch, version)
        self._log.append(seq, t_ms, kind, trigger, cause, strategy=named, rule=chosen.rule, clean=chosen.is_clean)

    def _allows_unclean(self) -> bool:
        topic = self.key.topic
        of_topic = self._timeline.topic_timeline(topic).unclean_at(self._at[0])
        return self._what_if.allows_unclean(topic, self._view.is_unclean_allowed if of_topic is None else of_topic)

    def _remove(self, broker: int, trigger: Trigger) -> None:
        stored = self.stored
        left = None if stored is None else remove_from_isr(stored.leader, stored.isr, broker)
        if stored is None or left is None:
            return
        now = StateZnode(left.leader, stored.leader_epoch + 1, left.isr, self._view.epoch, stored.zk_version)
        self._write(now, EventKind.REPLICA_REMOVED_FROM_ISR, trigger)

    def _bump(self) -> None:
        stored = self.stored
        if stored is not None:
            raised = stored._replace(leader_epoch=stored.leader_epoch + 1, controller_epoch=self._view.epoch)
            self._write(raised, EventKind.LEADER_EPOCH_BUMPED, Trigger.REASSIGNMENT)

    def _write(self, now: StateZnode, kind: EventKind, trigger: Trigger, *, raises_version: bool = True) -> None:
        self._log.stored = now._replace(zk_version=now.zk_version + 1) if raises_version else now
        self._log.append(*self._at[:2], kind.value, trigger, self._at[2])

    # --- reassignment

    def _reassign(self, wanted: ReplicaAssignment) -> None:
        current = self.assignment
        if current != wanted:
            self._place_on(wanted)
            for broker in hash_order(without(current.replicas, wanted.replicas)):
                self._remove(broker, Trigger.REASSIGNMENT)
        if self._is_complete():
            self._complete()
        else:
            self._bump()

    def _is_complete(self) -> bool:
        if not self.assignment.is_being_reassigned:
            return True
        return self.stored is not None and set(self.assignment.target_replicas) <= set(self.stored.isr)

    def _complete(self) -> None:
        leaving = self.assignment.removing_replicas
        self.assignment = ReplicaAssignment(self.assignment.target_replicas)
        leader = None if self.stored is None else self.stored.leader
        if leader is not None and leader in self.assignment.replicas and self._online((leader,)):
            self._bump()
        else:
            self._elect(PartitionLeaderElectionStrategy.REASSIGN, Trigger.REASSIGNMENT)
        for broker in hash_order(leaving):
            self._remove(broker, Trigger.REASSIGNMENT)
        self._place_on(self.assignment)

    def _place_on(self, assignment: ReplicaAssignment) -> None:
        """Write the assignment into the topic's znode."""
        self.assignment = assignment
        if self._log.assignment != assignment:
            self._log.assignment = assignment
            self._log.append(*self._at[:2], EventKind.PARTITION_REASSIGNMENT.value, Trigger.REASSIGNMENT, self._at[2])

    def _look_at_reassignment(self) -> None:
        if self.assignment.is_being_reassigned and self._is_complete():
            self._complete()
