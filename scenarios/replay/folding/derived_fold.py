"""One partition, when the replay finds by itself what the controller does: drive it with what happens, take the transitions.

Who drives it merges two streams by `seq`: the moments of the timeline (`advance`), which are the cluster's, and what happens
to the partition alone (the other methods): that it is created, moved or deleted, and who falls behind or catches up. A
moment that cannot concern the partition is passed over without a look.

What it leaves out: a controller's view of an ISR is always up to date, writes are never lost, refused or interrupted, and
elections of one moment are not mixed with changes of an ISR.
"""

from collections.abc import Collection, Iterable

from kcsim.controller.decisions.hash_order import hash_order
from kcsim.controller.decisions.partition_states import PartitionMachineState, next_partition_state
from kcsim.controller.decisions.reassignment import reassigned_to
from kcsim.controller.partition_state_machine import Strategy
from kcsim.scenarios.replay.folding.choices import NEW_PARTITION, choose, could_be_unclean, remove, strategy_of
from kcsim.scenarios.replay.folding.moment import Moment, MomentKind, View
from kcsim.scenarios.replay.folding.partition_story import UNASSIGNED, PartitionKey, PartitionStory, Stored
from kcsim.scenarios.replay.folding.timeline import NO_VIEW, Timeline
from kcsim.scenarios.replay.folding.transition import Transition
from kcsim.scenarios.replay.folding.trigger import Trigger
from kcsim.scenarios.replay.folding.what_if import AS_IT_WAS, WhatIf
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import BrokerId, ReplicaAssignment, without

WITHOUT_LEADER = (PartitionMachineState.NEW, PartitionMachineState.OFFLINE)


class DerivedFold:
    """`stored` is the partition's state as of now, `assignment` who is to host it; None and nobody before it is created."""

    def __init__(self, key: PartitionKey, timeline: Timeline, what_if: WhatIf = AS_IT_WAS) -> None:
        self.key = key
        self.assignment = UNASSIGNED
        self.machine = PartitionMachineState.NON_EXISTENT
        self._story = PartitionStory(key, is_derived=True)
        self._timeline = timeline
        self._what_if = what_if
        self._place = 0
        self._view = NO_VIEW
        self._failed_dirs: frozenset[int] = frozenset()
        self._is_queued_for_deletion = False
        self._at = (0, 0, None)  # type: tuple[int, int, int | None]

    @property
    def stored(self) -> Stored | None:
        return self._story.stored

    @property
    def view(self) -> View:
        """What the controller knows of the brokers as of the last moment or fact."""
        return self._view

    def take(self) -> list[Transition]:
        """The transitions since the last time."""
        return self._story.take()

    # --- the cluster's moments

    def next_place(self) -> int:
        """The place of the next moment that can concern the partition; past the end if there is none."""
        if self.machine in WITHOUT_LEADER:  # any broker that comes or goes has the controller try again
            return self._place
        return self._timeline.next_concerning(self._place, self.assignment.replicas)

    def advance(self, seq: int | None = None) -> None:
        """Let all moments before the event `seq` happen; all that are left if there is none."""
        moments = self._timeline.moments
        while True:
            place = self.next_place()
            if place >= len(moments) or (seq is not None and moments[place].seq >= seq):
                break
            self._place = place + 1
            self.apply(moments[place])
        if seq is not None and (place := self._timeline.place_of(seq)) > self._place:
            self._place = place
            self._view = moments[place - 1].view

    def step(self, place: int) -> None:
        """Let the moment at `next_place` happen, and none beside it."""
        self._place = place + 1
        self.apply(self._timeline.moments[place])

    def apply(self, moment: Moment) -> None:
        """Let one moment happen."""
        self._view = moment.view
        self._at = moment.seq, moment.t_ms, moment.seq
        if not self.assignment.replicas or self._is_queued_for_deletion or not moment.view.epoch:
            return
        match moment.kind:
            case MomentKind.FAILOVER:
                self._on_failover(moment)
            case MomentKind.STARTED:
                self._failed_dirs = self._failed_dirs.difference(moment.brokers)
                self._bring_online(moment.trigger)
                if self.assignment.is_being_reassigned and not set(moment.brokers).isdisjoint(
                    self.assignment.target_replicas
                ):
                    self._reassign(self.assignment)
            case MomentKind.STOPPED:
                self._failed_dirs = self._failed_dirs.difference(moment.brokers)
                self._on_offline(moment.brokers, moment.trigger)
            case MomentKind.LOG_DIRS_FAILED:
                if self.key[2:] in moment.concerned:
                    self._failed_dirs = self._failed_dirs.union(moment.brokers)
                    self._on_offline(moment.brokers, moment.trigger)
                else:
                    self._on_offline((), moment.trigger)
            case MomentKind.SHUTTING_DOWN:
                self._on_shutting_down(moment.brokers[0])
            case MomentKind.REBALANCE:
                if self._what_if.preferred_rebalance is None:
                    self._rebalance(moment.brokers)
            case MomentKind.UNCLEAN_ENABLED:
                if moment.topic in (None, self.key.topic):
                    self._bring_online(Trigger.UNCLEAN_ELECTION)
            case MomentKind.DELETION:
                if moment.topic == self.key.topic:
                    self._on_deletion(moment.brokers)

    def _on_failover(self, moment: Moment) -> None:
        self._failed_dirs = frozenset()
        if self.stored is not None:
            for broker in moment.brokers or self._dead():
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
            self._elect(Strategy.CONTROLLED_SHUTDOWN, Trigger.CONTROLLED_SHUTDOWN)
        else:
            self._remove(broker, Trigger.CONTROLLED_SHUTDOWN)

    def _rebalance(self, brokers: tuple[int, ...]) -> None:
        if self.can_be_given_back and (not brokers or self.assignment.replicas[0] in brokers):
            self._elect(Strategy.PREFERRED, Trigger.LEADER_REBALANCE)

    @property
    def can_be_given_back(self) -> bool:
        """Whether somebody else leads than the preferred leader, who could."""
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
        """The controller looks whether leadership has drifted away, and gives it back."""
        self._begin(seq, t_ms)
        if self._view.epoch:
            self._rebalance(())

    def _on_deletion(self, order: tuple[int, ...]) -> None:
        self._is_queued_for_deletion = True
        self.machine = PartitionMachineState.NON_EXISTENT
        for broker in self._online(order or self.assignment.replicas):
            if broker in self.assignment.replicas:
                self._remove(broker, Trigger.TOPIC_DELETION)

    # --- what happens to the partition alone

    def created(self, assignment: ReplicaAssignment, seq: int, t_ms: int, is_seen: bool = True) -> None:
        """The controller sees the partition for the first time; if nobody sees it yet, the next controller will."""
        self._begin(seq, t_ms)
        self.assignment = self._story.assignment = assignment
        self._is_queued_for_deletion = False
        if self._view.epoch and is_seen:
            self.machine = PartitionMachineState.NEW
            self._bring_online(Trigger.TOPIC_CREATED)

    def lags(self, broker: int, seq: int, t_ms: int) -> bool:
        """A follower falls too far behind its leader, which takes it out of the ISR. Returns: whether that makes sense."""
        return self.fell_behind((broker,), seq, t_ms)

    def fell_behind(self, brokers: Collection[int], seq: int, t_ms: int) -> bool:
        """The same of several at once. Returns: whether it makes sense of any."""
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is None or not self._has_live_leader():
            return False
        isr = tuple(b for b in stored.isr if b not in brokers or b == stored.leader)
        return self._change_isr(stored, isr, EventKind.ISR_SHRUNK)

    def caught_up(self, broker: int, seq: int, t_ms: int) -> bool:
        """A follower has all that its leader has, which takes it into the ISR. Returns: whether that makes sense."""
        return self.have_caught_up((broker,), seq, t_ms)

    def have_caught_up(self, brokers: Iterable[int], seq: int, t_ms: int) -> bool:
        """The same of several at once. Returns: whether it makes sense of any."""
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is None:
            return False
        isr = (*stored.isr, *filter(self.can_catch_up, brokers))
        return self._change_isr(stored, isr, EventKind.ISR_EXPANDED)

    def _change_isr(self, stored: Stored, isr: tuple[int, ...], kind: EventKind) -> bool:
        if isr == stored.isr:
            return False
        self._write(stored._replace(isr=isr), kind, Trigger.LEADER)
        self._look_at_reassignment()
        return True

    def can_catch_up(self, broker: int) -> bool:
        """Whether a broker has a replica that could join the ISR: it is alive, not in it, and somebody alive leads."""
        stored = self.stored
        return (
            stored is not None
            and broker in self.assignment.replicas
            and broker not in stored.isr
            and self._has_live_leader()
            and bool(self._online((broker,)))
        )

    def preferred_election(self, seq: int, t_ms: int) -> None:
        """Somebody asks for the preferred leader."""
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is not None and self._is_known and stored.leader != self.assignment.replicas[0]:
            self._elect(Strategy.PREFERRED, Trigger.PREFERRED_ELECTION)

    def unclean_election(self, seq: int, t_ms: int) -> None:
        """Somebody asks for a leader, in sync or not."""
        self._begin(seq, t_ms)
        stored = self.stored
        if stored is not None and self._is_known and not self._has_live_leader():
            self._elect(Strategy.OFFLINE, Trigger.UNCLEAN_ELECTION, by_admin=True)

    def reassigned(self, target: tuple[int, ...], seq: int, t_ms: int) -> None:
        """Somebody wants the partition on these brokers; its own brokers: a running reassignment is cancelled."""
        self._begin(seq, t_ms)
        if self._view.epoch and self._is_known:
            self._reassign(reassigned_to(self.assignment, tuple(BrokerId(b) for b in target)))

    def deletion(self, order: tuple[int, ...], seq: int, t_ms: int) -> None:
        """The topic's deletion begins; its replicas go in this order."""
        self._begin(seq, t_ms)
        if not self._is_queued_for_deletion:
            self._on_deletion(order)

    def deleted(self, seq: int, t_ms: int) -> None:
        """The partition's znodes are gone."""
        self._begin(seq, t_ms)
        self.assignment, self.machine = UNASSIGNED, PartitionMachineState.NON_EXISTENT
        if self.stored is not None:
            self._story.stored = None
            trigger = Trigger.TOPIC_DELETION if self._is_queued_for_deletion else Trigger.WRITTEN
            self._story.tell(*self._at[:2], EventKind.ZNODE_DELETED.value, trigger, self._at[2])
        self._story.assignment = UNASSIGNED

    def written(self, stored: Stored, seq: int, t_ms: int) -> None:
        """Somebody has written the partition's state by hand."""
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
            self._elect(NEW_PARTITION if self.machine is PartitionMachineState.NEW else Strategy.OFFLINE, trigger)

    def _elect(self, strategy: str, trigger: Trigger, by_admin: bool = False) -> None:
        stored, view, assignment = self.stored, self._view, self.assignment
        if stored is None and strategy != NEW_PARTITION:
            return
        leader, isr = (None, ()) if stored is None or strategy == NEW_PARTITION else (stored.leader, stored.isr)
        is_shutdown = strategy == Strategy.CONTROLLED_SHUTDOWN
        candidates = assignment.target_replicas if strategy == Strategy.REASSIGN else assignment.replicas
        concerned = (*candidates, *isr)
        online = self._timeline.brokers.among(concerned, view.live) if is_shutdown else self._online(concerned)
        shutting_down = self._timeline.brokers.among(concerned, view.shutting_down) if is_shutdown else ()
        unclean = strategy == Strategy.OFFLINE and could_be_unclean(isr, online) and (by_admin or self._allows_unclean())
        chosen = choose(str(strategy), candidates, leader, isr, online, shutting_down, unclean)
        kind, named, (seq, t_ms, cause) = EventKind.LEADER_ELECTION.value, strategy_of(strategy, by_admin), self._at
        if chosen.leader is None:
            self._story.tell(seq, t_ms, kind, trigger, cause, strategy=named, rule=chosen.rule, nobody=True)
            return
        self._move(PartitionMachineState.ONLINE)
        epoch = 0 if stored is None else stored.leader_epoch + 1
        version = 0 if stored is None else stored.zk_version + 1
        self._story.stored = Stored(chosen.leader, epoch, chosen.isr, view.epoch, version)
        self._story.tell(seq, t_ms, kind, trigger, cause, strategy=named, rule=chosen.rule, clean=chosen.is_clean)

    def _allows_unclean(self) -> bool:
        topic = self.key.topic
        of_topic = self._timeline.story(topic).unclean_at(self._at[0])
        return self._what_if.allows_unclean(topic, self._view.is_unclean_allowed if of_topic is None else of_topic)

    def _remove(self, broker: int, trigger: Trigger) -> None:
        stored = self.stored
        left = None if stored is None else remove(stored.leader, stored.isr, broker)
        if stored is None or left is None:
            return
        now = Stored(left.leader, stored.leader_epoch + 1, left.isr, self._view.epoch, stored.zk_version)
        self._write(now, EventKind.REPLICA_REMOVED_FROM_ISR, trigger)

    def _bump(self) -> None:
        stored = self.stored
        if stored is not None:
            raised = stored._replace(leader_epoch=stored.leader_epoch + 1, controller_epoch=self._view.epoch)
            self._write(raised, EventKind.LEADER_EPOCH_BUMPED, Trigger.REASSIGNMENT)

    def _write(self, now: Stored, kind: EventKind, trigger: Trigger, *, raises_version: bool = True) -> None:
        self._story.stored = now._replace(zk_version=now.zk_version + 1) if raises_version else now
        self._story.tell(*self._at[:2], kind.value, trigger, self._at[2])

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
            self._elect(Strategy.REASSIGN, Trigger.REASSIGNMENT)
        for broker in hash_order(leaving):
            self._remove(broker, Trigger.REASSIGNMENT)
        self._place_on(self.assignment)

    def _place_on(self, assignment: ReplicaAssignment) -> None:
        """The topic's znode is written."""
        self.assignment = assignment
        if self._story.assignment != assignment:
            self._story.assignment = assignment
            self._story.tell(*self._at[:2], EventKind.PARTITION_REASSIGNMENT.value, Trigger.REASSIGNMENT, self._at[2])

    def _look_at_reassignment(self) -> None:
        if self.assignment.is_being_reassigned and self._is_complete():
            self._complete()
