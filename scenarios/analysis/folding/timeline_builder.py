"""Builds a run's timeline from its cluster-wide events.

The timeline follows the controllers' views: what they read of /brokers/ids, and when; which brokers' controlled shutdowns
they accepted; that they resigned. Where an older history does not record what a new controller read, the brokers that were
registered at that time are used.
"""

from collections.abc import Callable, Iterable, Mapping

from kcsim import znodes
from kcsim.eventlog.events import ZNODE_CHANGES, EventKind
from kcsim.jvm_hash_order import hash_order
from kcsim.scenarios.analysis.folding.controller_action import ControllerAction, ControllerActionKind, ControllerView
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.folding.timeline import ControllerViews, Run, Timeline, TopicTimeline
from kcsim.scenarios.analysis.folding.timeline_state import (
    SavedPhase,
    TimelineState,
    restored_action,
    restored_timeline,
    restored_view,
    saved_view,
)
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.vocabulary import BrokerId, TopicState
from kcsim.znodes import BadZnodeError, paths

UNCLEAN_SETTING = "unclean.leader.election.enable"
REGISTERING, READ, STARTING_REPLICAS = (
    "Registering handlers",
    "Fetching topic deletions in progress",
    "Starting replica state machine",
)
REFUSED = frozenset({"STALE_BROKER_EPOCH", "BROKER_NOT_AVAILABLE"})
_TRIGGER_OF_EVENT = {
    "ControlledShutdown": Trigger.CONTROLLED_SHUTDOWN,
    "ReplicaLeaderElection": Trigger.PREFERRED_ELECTION,
    "UncleanLeaderElectionEnable": Trigger.UNCLEAN_ELECTION,
    "TopicUncleanLeaderElectionEnable": Trigger.UNCLEAN_ELECTION,
    "TopicDeletion": Trigger.TOPIC_DELETION,
    "TopicDeletionStopReplicaResponseReceived": Trigger.TOPIC_DELETION,
}

OF_BROKERS = frozenset({Trigger.BROKER_STARTED, Trigger.BROKER_FAILED, Trigger.BROKER_BOUNCED})
"""The triggers of a BrokerChange. Which of them applies changes during the BrokerChange: see ControllerView.phase."""


class TimelineBuilder:
    """Builds a timeline from facts in order of `seq`; the timeline is complete when all facts have been taken."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self._reported: list[ControllerAction] = []  # recorded by controllers
        self._registered = 0
        self._defaults: dict[str, bool] = {}  # node -> whether unclean elections are allowed
        self._hosts: dict[str, frozenset[int]] = {}
        self._epoch = 0
        self._next_phases: dict[str, list[tuple[str, ControllerView, ControllerActionKind, tuple[int, ...]]]] = {}
        self._handlers: Mapping[str, Callable[[ReplayFact], None]] = {
            EventKind.ELECTION_WON.value: self._on_won,
            EventKind.CONTROLLER_FAILOVER.value: self._on_failover_step,
            EventKind.CONTROLLER_RESIGNED.value: self._on_resigned,
            EventKind.CONTROLLER_EVENT_QUEUED.value: self._on_queued,
            EventKind.CONTROLLER_EVENT_BEGUN.value: self._on_begun,
            EventKind.BROKER_CHANGE.value: self._on_broker_change,
            EventKind.TOPIC_CHANGE.value: self._on_topic_change,
            EventKind.TOPIC_DELETION.value: self._on_topic_deletion,
            EventKind.CONTROLLED_SHUTDOWN.value: self._on_shutdown_answered,
            EventKind.LEADER_REBALANCE.value: self._on_rebalance,
            EventKind.LOG_DIR_FAILED.value: self._on_log_dir_failed,
            EventKind.PARTITION_STATE_CHANGE.value: self._on_move,
            EventKind.REPLICA_STATE_CHANGE.value: self._on_move,
        }

    def take(self, fact: ReplayFact) -> None:
        """Take in one fact that is not of one partition."""
        self.timeline.ended_ms = fact.t_ms
        if fact.kind in ZNODE_CHANGES:
            self._on_znode(fact)
            return
        handler = self._handlers.get(fact.kind)
        if handler is not None:
            handler(fact)

    # --- between two portions of a history

    def save(self) -> TimelineState:
        """Return the state for `restored`, and forget what no later event looks up."""
        last = self._reported[-1] if self._reported else None
        timeline = self.timeline
        timeline.forget_past()
        self._reported = timeline.actions if timeline.has_decisions else []
        views = {
            node: [(seq, saved_view(view)) for seq, view in zip(known.seqs, known.views, strict=True)]
            for node, known in timeline.views.items()
        }
        phases = {
            node: [SavedPhase(step, saved_view(view), kind, brokers) for step, view, kind, brokers in waiting]
            for node, waiting in self._next_phases.items()
            if waiting
        }
        return TimelineState(
            list(timeline.brokers.ids),
            views,
            timeline.topics,
            timeline.triggers,
            timeline.owners,
            [(*partition, failures) for partition, failures in timeline.log_dirs.items()],
            timeline.read_at,
            timeline.racks,
            timeline.ended_ms,
            timeline.has_decisions,
            f"{self._registered:x}",
            self._defaults,
            self._epoch,
            phases,
            None if last is None else (last.seq, last.kind),
        )

    @classmethod
    def restored(cls, state: TimelineState) -> "TimelineBuilder":
        """Return a builder that continues where another one was saved."""
        builder = cls()
        timeline = builder.timeline = restored_timeline(state)
        if timeline.has_decisions:
            builder._reported = timeline.actions
        if state.last_action is not None:
            builder._reported.append(restored_action(state.last_action))
        builder._registered = int(state.registered, 16)
        builder._defaults, builder._epoch = state.defaults, state.epoch
        for topic, known in timeline.topics.items():
            if known.versions:
                builder._hosts[topic] = _hosts_of(known.versions[-1][3])
        builder._next_phases = {
            node: [(phase.step, restored_view(phase.view), phase.kind, phase.brokers) for phase in waiting]
            for node, waiting in state.next_phases.items()
        }
        return builder

    # --- znodes

    def _on_znode(self, fact: ReplayFact) -> None:
        path = fact.path or ""
        parent, name = paths.parent(path), paths.name(path)
        if parent == paths.BROKER_IDS and name.isdigit():
            self._on_registration(fact, int(name))
        elif parent == paths.BROKER_TOPICS:
            content = None if fact.kind == EventKind.ZNODE_DELETED else _topic(path, fact.data)
            self._topic_timeline(name).versions.append((fact.seq, fact.t_ms, fact.cause, content))
            self._hosts[name] = _hosts_of(content)
            self.timeline.triggers[fact.seq] = Trigger.TOPIC_CREATED
        elif path.startswith("/config/topics/"):
            allowed = None if fact.kind == EventKind.ZNODE_DELETED else _unclean(path, fact.data)
            self._topic_timeline(name).unclean.append((fact.seq, allowed))
        elif path.startswith("/config/brokers/"):
            self._on_broker_settings(fact, name)

    def _on_registration(self, fact: ReplayFact, broker: int) -> None:
        bit = self.timeline.brokers.bit(broker)
        if fact.kind == EventKind.ZNODE_DELETED:
            self._registered &= ~bit
            self._may_happen(fact, ControllerActionKind.STOPPED, (broker,), Trigger.BROKER_FAILED)
        else:
            self._registered |= bit
        if fact.kind == EventKind.ZNODE_CREATED:
            self._may_happen(fact, ControllerActionKind.STARTED, (broker,), Trigger.BROKER_STARTED)
        if fact.kind == EventKind.ZNODE_CREATED and fact.session_id is not None:
            self.timeline.owners[fact.session_id] = broker
        if fact.data is not None:
            self.timeline.racks[broker] = _rack(fact.path or "", broker, fact.data)

    def _on_broker_settings(self, fact: ReplayFact, name: str) -> None:
        """Record that unclean elections are no longer allowed. Only the opposite has an event of its own: see _on_queued."""
        if fact.kind == EventKind.ZNODE_DELETED or _unclean(fact.path or "", fact.data) is not False:
            return
        nodes = [f"broker-{name}"] if name.isdigit() else list(self._defaults)
        for node in nodes:
            self._allow_unclean(node, fact.seq, False)

    def _topic_timeline(self, topic: str) -> TopicTimeline:
        return self.timeline.topics.setdefault(topic, TopicTimeline())

    # --- the controllers' terms

    def _views(self, node: str) -> ControllerViews:
        return self.timeline.views.setdefault(node, ControllerViews())

    def _see(self, fact: ReplayFact, view: ControllerView) -> ControllerView:
        self._views(fact.node).put(fact.seq, view)
        return view

    def _on_won(self, fact: ReplayFact) -> None:
        epoch = fact.controller_epoch or 0
        allowed = self._defaults.get(fact.node, False)
        self._see(fact, ControllerView(epoch, is_unclean_allowed=allowed, since=fact.seq))
        self._epoch = max(self._epoch, epoch)
        self._may_happen(fact, ControllerActionKind.FAILOVER, (), Trigger.CONTROLLER_FAILOVER)

    def _on_failover_step(self, fact: ReplayFact) -> None:
        view = self._views(fact.node).last
        trigger = Trigger.CONTROLLER_FAILOVER
        if not self.timeline.has_decisions:  # from here on controllers record what they do
            self.timeline.has_decisions, self.timeline.actions = True, self._reported
        match fact.step:
            case "Registering handlers":
                allowed = bool(fact.unclean_leader_election_enable) or self._defaults.get(fact.node, False)
                self._allow_unclean(fact.node, fact.seq, allowed)
            case "Fetching topic deletions in progress":
                self.timeline.read_at[view.since] = fact.seq
                live = self._registered if fact.brokers is None else self.timeline.brokers.set_of(fact.brokers)
                self._see(fact, view._replace(live=live, phase=trigger))
            case "Starting replica state machine":
                assigned = frozenset(b for hosts in self._hosts.values() for b in hosts)
                dead = assigned.difference(self.timeline.brokers.all_in(view.live))
                self._happens(fact, ControllerActionKind.FAILOVER, view, _in_hash_order(dead), trigger)
            case "Starting preferred replica leader election":
                trigger = Trigger.PREFERRED_ELECTION
            case _:
                pass
        self.timeline.triggers[fact.seq] = trigger

    def _on_resigned(self, fact: ReplayFact) -> None:
        self._see(fact, ControllerView(is_unclean_allowed=self._defaults.get(fact.node, False)))

    def _allow_unclean(self, node: str, seq: int, allowed: bool) -> None:
        self._defaults[node] = allowed
        views = self._views(node)
        views.put(seq, views.last._replace(is_unclean_allowed=allowed))

    # --- brokers

    def _on_broker_change(self, fact: ReplayFact) -> None:
        if fact.broker_id is not None:  # only its listeners have changed
            return
        self.timeline.triggers[fact.seq] = Trigger.BROKER_STARTED
        if fact.step is not None:
            waiting = self._next_phases.get(fact.node, [])
            while waiting:
                step, view, kind, brokers = waiting.pop(0)
                self._see(fact, view)
                if step == fact.step:
                    break
            return
        phases = self._phases(fact)
        for _, view, kind, brokers in phases:
            self._happens(fact, kind, view, brokers, view.phase)
        if phases:
            self._see(fact, phases[0][1])
        self._next_phases[fact.node] = phases[1:]

    def _phases(self, fact: ReplayFact) -> list[tuple[str, ControllerView, ControllerActionKind, tuple[int, ...]]]:
        """Return the phases of a BrokerChange, in order: (its first step, the view from then on, the kind, the brokers)."""
        brokers = self.timeline.brokers
        view = self._views(fact.node).last
        started, stopped, bounced = self._changes(fact, view)
        phases = []
        for step, kind, who, trigger in (
            ("started", ControllerActionKind.STARTED, started, Trigger.BROKER_STARTED),
            ("bounced: gone", ControllerActionKind.STOPPED, bounced, Trigger.BROKER_BOUNCED),
            ("bounced: back", ControllerActionKind.STARTED, bounced, Trigger.BROKER_BOUNCED),
            ("stopped", ControllerActionKind.STOPPED, stopped, Trigger.BROKER_FAILED),
        ):
            if not who:
                continue
            bits = brokers.set_of(who)
            if kind is ControllerActionKind.STARTED:
                view = view._replace(live=view.live | bits, phase=trigger)
                order = who
            else:
                view = view._replace(live=view.live & ~bits, shutting_down=view.shutting_down & ~bits, phase=trigger)
                order = _in_hash_order(who)
            phases.append((step, view, kind, order))
        return phases

    def _changes(self, fact: ReplayFact, view: ControllerView) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the brokers that started, stopped and bounced.

        Started and stopped brokers follow from the ids that the controller read, if they are recorded.
        """
        started, stopped, bounced = (tuple(brokers or ()) for brokers in (fact.started, fact.stopped, fact.bounced))
        if fact.brokers is not None:
            known, seen = set(self.timeline.brokers.all_in(view.live)), set(fact.brokers)
            started, stopped = tuple(sorted(seen - known)), tuple(sorted(known - seen))
        return started, stopped, bounced

    def _on_begun(self, fact: ReplayFact) -> None:
        name, _, argument = (fact.event or "").rstrip(")").partition("(")
        trigger = _TRIGGER_OF_EVENT.get(name)
        if trigger is None:
            return
        self.timeline.triggers[fact.seq] = trigger
        view = self._views(fact.node).last
        if name == "ControlledShutdown" and argument.isdigit():
            bit = self.timeline.brokers.bit(int(argument))
            if view.live & bit:
                view = self._see(fact, view._replace(shutting_down=view.shutting_down | bit))
                self._happens(fact, ControllerActionKind.SHUTTING_DOWN, view, (int(argument),), trigger)
        elif trigger is Trigger.UNCLEAN_ELECTION:
            self._happens(fact, ControllerActionKind.UNCLEAN_ENABLED, view, (), trigger, topic=argument or None)

    def _on_queued(self, fact: ReplayFact) -> None:
        if fact.event == "UncleanLeaderElectionEnable":
            self._allow_unclean(fact.node, fact.seq, True)

    def _on_shutdown_answered(self, fact: ReplayFact) -> None:
        if fact.error not in REFUSED or fact.broker_id is None:
            return
        actions, bit = self._reported, self.timeline.brokers.bit(fact.broker_id)
        if actions and actions[-1].seq == fact.cause and actions[-1].kind is ControllerActionKind.SHUTTING_DOWN:
            actions.pop()
            view = self._views(fact.node).last
            self._see(fact, view._replace(shutting_down=view.shutting_down & ~bit))

    def _on_log_dir_failed(self, fact: ReplayFact) -> None:
        if fact.broker_id is None or fact.partitions is None:
            return
        self.timeline.triggers[fact.seq] = Trigger.LOG_DIR_FAILED
        failed = []
        for name in fact.partitions:
            topic, _, partition = name.rpartition("-")
            failed.append((topic, int(partition)))
            self.timeline.log_dirs.setdefault(failed[-1], []).append((fact.seq, fact.node, fact.broker_id))
        view, trigger = self._views(fact.node).last, Trigger.LOG_DIR_FAILED
        concerned = frozenset(failed)
        self._happens(fact, ControllerActionKind.LOG_DIRS_FAILED, view, (fact.broker_id,), trigger, concerned=concerned)

    # --- topics, balance, moves

    def _on_topic_change(self, fact: ReplayFact) -> None:
        self.timeline.triggers[fact.seq] = Trigger.TOPIC_CREATED
        if fact.topic is not None:
            self._topic_timeline(fact.topic).noted.append((fact.seq, fact.node, True))
            return
        for topics, is_new in ((fact.new_topics, True), (fact.deleted_topics, False)):
            for topic in topics or ():
                self._topic_timeline(topic).noted.append((fact.seq, fact.node, is_new))

    def _on_topic_deletion(self, fact: ReplayFact) -> None:
        self.timeline.triggers[fact.seq] = Trigger.TOPIC_DELETION
        if fact.topic is None:
            return
        topic_timeline = self._topic_timeline(fact.topic)
        if fact.step == "started":
            order = _in_hash_order(self._hosts.get(fact.topic, ()))
            view = self._views(fact.node).last
            self._happens(fact, ControllerActionKind.DELETION, view, order, Trigger.TOPIC_DELETION, topic=fact.topic)
        elif fact.step == "completing":
            topic_timeline.completing.append(fact.seq)
        elif fact.step == "completed":
            topic_timeline.noted.append((fact.seq, fact.node, False))

    def _on_rebalance(self, fact: ReplayFact) -> None:
        self.timeline.triggers[fact.seq] = Trigger.LEADER_REBALANCE
        if fact.broker_id is not None and fact.count != 0:  # 0: no preferred leader could be elected
            view = self._views(fact.node).last
            self._happens(fact, ControllerActionKind.REBALANCE, view, (fact.broker_id,), Trigger.LEADER_REBALANCE)

    def _on_move(self, fact: ReplayFact) -> None:
        trigger = self.timeline.triggers.get(-1 if fact.cause is None else fact.cause)
        if trigger is not None:
            self.timeline.triggers[fact.seq] = trigger

    def _happens(
        self,
        fact: ReplayFact,
        kind: ControllerActionKind,
        view: ControllerView,
        brokers: tuple[int, ...],
        trigger: Trigger,
        topic: str | None = None,
        concerned: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        if view.epoch >= self._epoch:  # what a former controller does has no effect
            action = ControllerAction(fact.seq, fact.t_ms, kind, view, brokers, topic, trigger, concerned)
            self._reported.append(action)

    def _may_happen(self, fact: ReplayFact, kind: ControllerActionKind, brokers: tuple[int, ...], trigger: Trigger) -> None:
        """Add an action in a history without controllers' decisions: controllers act at once on what ZooKeeper shows."""
        self.timeline.triggers[fact.seq] = trigger
        if not self.timeline.has_decisions:
            view = ControllerView(self._epoch, self._registered, phase=trigger, since=self._epoch)
            self.timeline.actions.append(ControllerAction(fact.seq, fact.t_ms, kind, view, brokers, trigger=trigger))


def timelines_of(rows: Iterable[tuple[str, str, ReplayFact]]) -> dict[Run, Timeline]:
    """Return the timelines of a few runs, from rows of (batch, run, fact) in any order. No fact may be of a partition."""
    builders: dict[Run, TimelineBuilder] = {}
    for batch, run, fact in sorted(rows, key=lambda row: (row[0], row[1], row[2].seq)):
        builders.setdefault((batch, run), TimelineBuilder()).take(fact)
    return {run: builder.timeline for run, builder in builders.items()}


def _hosts_of(content: TopicState | None) -> frozenset[int]:
    return frozenset(() if content is None else (b for a in content.assignments.values() for b in a.replicas))


def _topic(path: str, data: str | None) -> TopicState | None:
    try:
        return znodes.decode_topic(path, None if data is None else data.encode(), _ignore)
    except BadZnodeError:
        return None


def _rack(path: str, broker: int, data: str) -> str | None:
    try:
        return znodes.decode_broker(path, BrokerId(broker), data.encode()).rack
    except BadZnodeError:
        return None


def _unclean(path: str, data: str | None) -> bool | None:
    try:
        config = znodes.decode_config(path, None if data is None else data.encode(), _ignore)
    except BadZnodeError:
        return None
    setting = config.get(UNCLEAN_SETTING)
    return None if setting is None else setting.lower() == "true"


def _ignore(path: str, reason: str) -> None:
    """Ignore a malformed znode: the brokers that read it report it."""


def _in_hash_order(brokers: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(b) for b in hash_order(BrokerId(b) for b in brokers))
