"""The controllers of a generated cluster: which broker is the controller, what it knows of the brokers, what it does when.

A controller processes its events one after the other. Each of its actions leaves enough time for everything that follows
from it in every partition. Whether the leadership imbalance is large enough for a preferred leader election is estimated
from the mean time that replicas take to catch up, because partitions are generated independently of each other.
"""

from dataclasses import dataclass, field
from math import exp

from kcsim.controller.decisions.broker_changes import diff_brokers
from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.step_names import BrokerChangeStep, ControllerFailoverStep
from kcsim.scenarios.analysis.generating.cluster_history import (
    WRITTEN_AFTER_MS,
    ClusterHistory,
    GeneratedAction,
    GeneratedActionKind,
    ServingInterval,
    TopicCreation,
)
from kcsim.scenarios.analysis.generating.event_scheduler import EventScheduler
from kcsim.scenarios.analysis.generating.layout import Layout, Topic
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.vocabulary import BrokerEpoch, BrokerId
from kcsim.znodes import paths

FIRST_REBALANCE_AFTER_MS = 5_000
REBALANCE_EVERY_MS = 300_000
REBALANCE_PERCENTAGE = 10
REACTION_MS = (3, 15)
HANDLING_MS = 40
"""What a controller takes for one event; longer than everything that follows from the event in a partition."""
MOST_BROKERS_LISTED = 40
EPOCH_MS = 1_577_836_800_000
"""The wall-clock time in znodes at the beginning of a history, in ms since 1970."""
READING_STEPS = (
    ControllerFailoverStep.REGISTERING_HANDLERS,
    ControllerFailoverStep.DELETING_NOTIFICATIONS,
    ControllerFailoverStep.INITIALIZING_CONTEXT,
    ControllerFailoverStep.FETCHING_DELETIONS,
    ControllerFailoverStep.SENDING_UPDATE_METADATA,
)
LAST_STEPS = (
    ControllerFailoverStep.RESUMING_REASSIGNMENTS,
    ControllerFailoverStep.RESUMING_DELETIONS,
    ControllerFailoverStep.STARTING_PREFERRED_ELECTION,
)


@dataclass
class GeneratedBrokers:
    """The brokers of a generated cluster at the present time.

    Attributes:
        registered: broker -> broker epoch, as in ZooKeeper.
        sessions: broker -> the id of its last session.
        running: brokers whose process lives.
    """

    registered: dict[BrokerId, BrokerEpoch] = field(default_factory=dict)
    sessions: dict[BrokerId, str] = field(default_factory=dict)
    running: set[BrokerId] = field(default_factory=set)


class Controllers:
    """The controller of the cluster, whichever broker it is.

    Args:
        brokers: as they are now; the caller keeps them up to date.

    Attributes:
        broker: the controller according to ZooKeeper; None: there is none.
        is_ready: whether the controller processes events.
    """

    def __init__(
        self,
        settings: Settings,
        layout: Layout,
        scheduler: EventScheduler,
        history: ClusterHistory,
        brokers: GeneratedBrokers,
    ) -> None:
        self.broker: BrokerId | None = None
        self.is_ready = False
        self._settings = settings
        self._layout = layout
        self._scheduler = scheduler
        self._history = history
        self._brokers = brokers
        self._epoch = 0
        self._known: dict[BrokerId, BrokerEpoch] = {}
        self._free_at = 0
        self._vacant_since = 0  # seq of the event since which there is no controller
        self._serving: dict[BrokerId, int] = {}  # since when
        self._drifted: dict[BrokerId, int | None] = {}  # brokers that lost their leaderships -> since when they are back

    @property
    def name(self) -> str:
        return f"broker-{self.broker}"

    # --- which broker it is

    def died(self, broker: BrokerId) -> None:
        """Record that a broker's process died; the other brokers do not know yet."""
        if self.broker == broker:
            self.is_ready = False

    def deposed(self, session: str, zxid: int, cause: int) -> None:
        """Process the end of the controller's session: delete /controller, and have another controller elected."""
        gone = self._scheduler.write(EventKind.ZNODE_DELETED, paths.CONTROLLER, session, cause, ephemeral=True, zxid=zxid)
        self.broker, self.is_ready = None, False
        self.vacant(gone)

    def vacant(self, since: int) -> None:
        """Schedule an election, because there is no controller."""
        self._vacant_since = since
        self._scheduler.at(self._scheduler.now + self._scheduler.between(REACTION_MS), self._elect)

    def _elect(self) -> None:
        candidates = sorted(broker for broker in self._brokers.registered if broker in self._brokers.running)
        if self.broker is not None:
            return
        if not candidates:
            self._scheduler.at(self._scheduler.now + 1_000, self._elect)
            return
        scheduler = self._scheduler
        self.broker = scheduler.random.choice(candidates)
        session = self._brokers.sessions[self.broker]
        self._epoch += 1
        started = scheduler.emit(self.name, EventKind.ELECTION_STARTED, self._vacant_since, broker_id=self.broker)
        zxid = scheduler.next_zxid
        data = f'{{"version":1,"brokerid":{self.broker},"timestamp":"{EPOCH_MS + scheduler.now}"}}'
        scheduler.write(EventKind.ZNODE_CREATED, paths.CONTROLLER, session, started, data=data, ephemeral=True, zxid=zxid)
        scheduler.write(
            EventKind.ZNODE_CHANGED,
            paths.CONTROLLER_EPOCH,
            session,
            started,
            data=str(self._epoch),
            zk_version=self._epoch,
            zxid=zxid,
        )
        won = scheduler.emit(
            self.name,
            EventKind.ELECTION_WON,
            started,
            controller_id=self.broker,
            controller_epoch=self._epoch,
            controller_epoch_zk_version=self._epoch,
            rule=DecisionRule.ELECTION_APPLIED.value,
        )
        self._fail_over(won)

    def _fail_over(self, won: int) -> None:
        scheduler = self._scheduler
        for step in READING_STEPS:
            self._step(step, won)
        self._known = dict(self._brokers.registered)
        replicas = self._step(ControllerFailoverStep.STARTING_REPLICA_STATE_MACHINE, won)
        since = scheduler.now
        scheduler.now += HANDLING_MS
        partitions = self._step(ControllerFailoverStep.STARTING_PARTITION_STATE_MACHINE, won)
        dead = [broker.id for broker in self._layout.brokers if broker.id not in self._known]
        self._keep(GeneratedActionKind.FAILOVER, (), replicas, since, (scheduler.now, partitions))
        for broker in sorted(self._known):
            self._begin_serving(broker)
        for broker in dead:
            self._end_serving(broker)
        scheduler.emit(
            self.name,
            EventKind.CONTROLLER_FAILOVER,
            won,
            step=ControllerFailoverStep.READY.value,
            controller_id=self.broker or 0,
            controller_epoch=self._epoch,
            brokers=sorted(self._known),
            detail=f"{len(self._known)} live brokers",
        )
        for step in LAST_STEPS:
            self._step(step, won)
        scheduler_step = self._step(ControllerFailoverStep.STARTING_SCHEDULER, won)
        self.is_ready = True
        epoch = self._epoch
        if self._settings.rebalance:
            scheduler.at(scheduler.now + FIRST_REBALANCE_AFTER_MS, lambda: self._rebalance(epoch, scheduler_step))
        self.look(won)  # process changes since the new controller read the registrations

    def _step(self, step: ControllerFailoverStep, won: int) -> int:
        fields = EventFields(step=step.value, controller_epoch=self._epoch)
        return self._scheduler.emit(self.name, EventKind.CONTROLLER_FAILOVER, won, **fields)

    # --- what it does

    def _begin(self, event: str, cause: int | None) -> int:
        """Begin the next event of the controller's queue when the one before is complete."""
        self._scheduler.now = max(self._scheduler.now, self._free_at)
        return self._scheduler.emit(self.name, EventKind.CONTROLLER_EVENT_BEGUN, cause, event=event)

    def _keep(
        self,
        kind: GeneratedActionKind,
        brokers: tuple[int, ...],
        seq: int,
        since: int | None = None,
        elections: tuple[int, int] | None = None,
    ) -> None:
        """Record an action that partitions depend on; the controller does nothing else until they have processed it."""
        assert self.broker is not None
        scheduler = self._scheduler
        t_ms = scheduler.now if since is None else since
        by = self.broker, self._epoch, self._brokers.sessions[self.broker]
        self._history.actions.append(GeneratedAction(t_ms, seq, kind, brokers, *by, *(elections or (t_ms, seq))))
        scheduler.now += HANDLING_MS
        self._free_at = scheduler.now

    def look(self, cause: int) -> None:
        """Have the controller process changed registrations, a little later."""
        epoch = self._epoch
        reaction = self._scheduler.between(REACTION_MS)
        self._scheduler.at(self._scheduler.now + reaction, lambda: self._change_brokers(epoch, cause))

    def _change_brokers(self, epoch: int, cause: int) -> None:
        changes = diff_brokers(self._known, self._brokers.registered)
        if not self.is_ready or epoch != self._epoch or not changes:
            return
        begun = self._begin("BrokerChange", cause)
        fields = EventFields(
            brokers=sorted(self._brokers.registered),
            rule=DecisionRule.BROKERS_COMPARED.value,
            started=changes.started,
            stopped=changes.stopped,
            bounced=changes.bounced,
            detail=f"started {list(changes.started)}, stopped {list(changes.stopped)}, bounced {list(changes.bounced)}",
        )
        if len(self._brokers.registered) <= MOST_BROKERS_LISTED:
            known, seen = dict(sorted(self._known.items())), dict(sorted(self._brokers.registered.items()))
            fields["inputs"] = f"known {known}, seen {seen}"
        changed = self._scheduler.emit(self.name, EventKind.BROKER_CHANGE, begun, **fields)
        alive, self._known = set(self._known), dict(self._brokers.registered)
        is_first = True
        for step, kind, brokers in (
            ("started", GeneratedActionKind.STARTED, changes.started),
            (BrokerChangeStep.BOUNCED_GONE.value, GeneratedActionKind.STOPPED, changes.bounced),
            (BrokerChangeStep.BOUNCED_BACK.value, GeneratedActionKind.STARTED, changes.bounced),
            (BrokerChangeStep.STOPPED.value, GeneratedActionKind.STOPPED, changes.stopped),
        ):
            if not brokers:
                continue
            alive = alive.difference(brokers) if kind is GeneratedActionKind.STOPPED else alive.union(brokers)
            if not is_first:
                self._scheduler.emit(self.name, EventKind.BROKER_CHANGE, changed, step=step, brokers=sorted(alive))
            self._keep(kind, brokers, changed)
            is_first = False
        for broker in changes.stopped:
            self._drift(broker, None)
        for broker in (*changes.bounced, *changes.started):
            self._begin_serving(broker)
            self._drift(broker, self._scheduler.now)

    def shut_down(self, broker: BrokerId, cause: int) -> None:
        """Process a broker's request for a controlled shutdown."""
        scheduler = self._scheduler
        epoch = self._brokers.registered[broker]
        requested = scheduler.emit(
            f"broker-{broker}",
            EventKind.REQUEST_SENT,
            cause,
            broker_id=self.broker or 0,
            broker_epoch=epoch,
            event="ControlledShutdown",
        )
        begun = self._begin(f"ControlledShutdown({broker})", requested)
        self._end_serving(broker)
        self._keep(GeneratedActionKind.SHUTDOWN, (broker,), begun)
        scheduler.emit(self.name, EventKind.CONTROLLED_SHUTDOWN, begun, step="answered", broker_id=broker, error="NONE")

    def create_topic(self, topic: Topic) -> None:
        """Create a topic for an administrator, whose three writes are the topic's own events: see topic_history.py."""
        layout, scheduler = self._layout, self._scheduler
        requested = scheduler.next_ms
        written = layout.seq(requested + WRITTEN_AFTER_MS, layout.place_of_topic(topic.number))
        scheduler.now = requested + WRITTEN_AFTER_MS + 2
        session = scheduler.new_session()
        begun = self._begin("TopicChange", written)
        noted = scheduler.emit(
            self.name,
            EventKind.TOPIC_CHANGE,
            begun,
            count=topic.partitions,
            new_topics=[topic.name],
            deleted_topics=[],
            detail=f"new topics ['{topic.name}'], gone []",
        )
        assert self.broker is not None
        self._history.creations[topic.number] = TopicCreation(
            requested, session, scheduler.now, noted, self.broker, self._epoch, self._brokers.sessions[self.broker]
        )
        self._free_at = scheduler.now + HANDLING_MS // 2

    # --- preferred leader elections

    def _drift(self, broker: BrokerId, back_since: int | None) -> None:
        if self._layout.replication_factor > 1:
            self._drifted[broker] = back_since

    def _rebalance(self, epoch: int, cause: int) -> None:
        if epoch != self._epoch:
            return
        if self.is_ready and self._drifted:
            begun = self._begin("AutoPreferredReplicaLeaderElection", cause)
            for broker in sorted(self._drifted):
                self._give_back(broker, self._drifted[broker], begun)
        self._scheduler.at(self._scheduler.now + REBALANCE_EVERY_MS, lambda: self._rebalance(epoch, cause))

    def _give_back(self, broker: BrokerId, back_since: int | None, cause: int) -> None:
        scheduler = self._scheduler
        fields = EventFields(
            broker_id=broker,
            rule=f"more than {REBALANCE_PERCENTAGE} % of the partitions that broker {broker} should lead are led by others",
        )
        if back_since is None or broker not in self._known:
            fields |= {"count": 0, "detail": "none of them can be led by it"}
            scheduler.emit(self.name, EventKind.LEADER_REBALANCE, cause, **fields)
            return
        rebalance = scheduler.emit(self.name, EventKind.LEADER_REBALANCE, cause, **fields)
        self._keep(GeneratedActionKind.REBALANCE, (broker,), rebalance)
        not_yet = exp(-(scheduler.now - back_since) / self._settings.catch_up_ms)
        if 100 * not_yet <= REBALANCE_PERCENTAGE:
            del self._drifted[broker]  # few are still out of sync: other brokers lead them until it loses leadership again

    # --- serving intervals

    def _begin_serving(self, broker: BrokerId) -> None:
        if broker in self._brokers.running and broker not in self._serving:
            self._serving[broker] = self._scheduler.now

    def _end_serving(self, broker: BrokerId) -> None:
        since = self._serving.pop(broker, None)
        if since is not None:
            interval = ServingInterval(since, self._scheduler.now, self._brokers.sessions[broker])
            self._history.serving_intervals.setdefault(broker, []).append(interval)

    def gone(self, broker: BrokerId) -> None:
        """End a broker's serving interval, because its process or its session ended; the controller may not know it yet."""
        self._end_serving(broker)

    def finish(self) -> None:
        """End all serving intervals at the end of the history."""
        for broker in sorted(self._serving):
            self._end_serving(broker)
