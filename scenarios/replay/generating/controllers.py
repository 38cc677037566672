"""The controllers of a made-up cluster: who is in office, what it knows of the brokers, what it does when.

A controller takes its events one after the other; whatever it does leaves time enough for what follows in every partition.
Whether leadership has drifted far enough to be given back is judged by the time that replicas take to catch up in the mean,
as no partition knows of the others.
"""

from collections.abc import Mapping
from math import exp

from kcsim.controller.decisions.broker_changes import diff_brokers
from kcsim.scenarios.replay.generating.happenings import Happenings
from kcsim.scenarios.replay.generating.layout import Layout, Topic
from kcsim.scenarios.replay.generating.moments import WRITTEN_AFTER_MS, ClusterHistory, Deed, Moment, Spell, TopicCreation
from kcsim.scenarios.replay.generating.settings import Settings
from kcsim.zk import paths
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId

FIRST_REBALANCE_AFTER_MS = 5_000
REBALANCE_EVERY_MS = 300_000
REBALANCE_PERCENTAGE = 10
REACTION_MS = (3, 15)
HANDLING_MS = 40
"""What a controller takes for one event; longer than anything that it leads to in a partition."""
MOST_BROKERS_LISTED = 40
EPOCH_MS = 1_577_836_800_000
"""What the znodes' own clocks show at the beginning of a history."""
BROKER_CHANGE_RULE = "started: new ids; stopped: ids gone; bounced: same id, higher broker epoch"
WON_RULE = "the multi that creates /controller and raises /controller_epoch was applied"
READING_STEPS = (
    "Registering handlers",
    "Deleting log dir event and isr change notifications",
    "Initializing controller context",
    "Fetching topic deletions in progress",
    "Sending update metadata request",
)
LAST_STEPS = ("Resuming reassignments", "Resuming topic deletions", "Starting preferred replica leader election")


class Controllers:
    """Whoever is the controller.

    Args:
        registered: broker -> broker epoch, as ZooKeeper has it; kept up by somebody else.
        sessions: broker -> the id of its session; likewise.
        running: brokers whose process lives; likewise.

    Attributes:
        broker: who is the controller, in ZooKeeper's eyes; None: nobody.
        is_ready: whether it does anything.
    """

    def __init__(
        self,
        settings: Settings,
        layout: Layout,
        happenings: Happenings,
        history: ClusterHistory,
        registered: Mapping[BrokerId, BrokerEpoch],
        sessions: Mapping[BrokerId, str],
        running: set[BrokerId],
    ) -> None:
        self.broker: BrokerId | None = None
        self.is_ready = False
        self._settings = settings
        self._layout = layout
        self._happenings = happenings
        self._history = history
        self._registered = registered
        self._sessions = sessions
        self._running = running
        self._epoch = 0
        self._known: dict[BrokerId, BrokerEpoch] = {}
        self._free_at = 0
        self._vacant_since = 0  # seq of what has left the office empty
        self._serving: dict[BrokerId, int] = {}  # since when
        self._drifted: dict[BrokerId, int | None] = {}  # brokers that lost their leaderships -> since when they are back

    @property
    def name(self) -> str:
        return f"broker-{self.broker}"

    # --- who it is

    def died(self, broker: BrokerId) -> None:
        """Its process is no more; nobody else knows yet."""
        if self.broker == broker:
            self.is_ready = False

    def deposed(self, session: str, zxid: int, cause: int) -> None:
        """Its session has ended: tell that /controller goes, and have somebody elected."""
        gone = self._happenings.write(EventKind.ZNODE_DELETED, paths.CONTROLLER, session, cause, ephemeral=True, zxid=zxid)
        self.broker, self.is_ready = None, False
        self.vacant(gone)

    def vacant(self, since: int) -> None:
        """Nobody is the controller: somebody will be, soon."""
        self._vacant_since = since
        self._happenings.at(self._happenings.now + self._happenings.between(REACTION_MS), self._elect)

    def _elect(self) -> None:
        candidates = sorted(broker for broker in self._registered if broker in self._running)
        if self.broker is not None:
            return
        if not candidates:
            self._happenings.at(self._happenings.now + 1_000, self._elect)
            return
        happenings = self._happenings
        self.broker = happenings.random.choice(candidates)
        session = self._sessions[self.broker]
        self._epoch += 1
        started = happenings.tell(self.name, EventKind.ELECTION_STARTED, self._vacant_since, broker_id=self.broker)
        zxid = happenings.next_zxid
        data = f'{{"version":1,"brokerid":{self.broker},"timestamp":"{EPOCH_MS + happenings.now}"}}'
        happenings.write(EventKind.ZNODE_CREATED, paths.CONTROLLER, session, started, data=data, ephemeral=True, zxid=zxid)
        happenings.write(
            EventKind.ZNODE_CHANGED,
            paths.CONTROLLER_EPOCH,
            session,
            started,
            data=str(self._epoch),
            zk_version=self._epoch,
            zxid=zxid,
        )
        won = happenings.tell(
            self.name,
            EventKind.ELECTION_WON,
            started,
            controller_id=self.broker,
            controller_epoch=self._epoch,
            controller_epoch_zk_version=self._epoch,
            rule=WON_RULE,
        )
        self._fail_over(won)

    def _fail_over(self, won: int) -> None:
        happenings = self._happenings
        for step in READING_STEPS:
            self._step(step, won)
        self._known = dict(self._registered)
        replicas = self._step("Starting replica state machine", won)
        since = happenings.now
        happenings.now += HANDLING_MS
        partitions = self._step("Starting partition state machine", won)
        dead = [broker.id for broker in self._layout.brokers if broker.id not in self._known]
        self._keep(Deed.FAILOVER, (), replicas, since, (happenings.now, partitions))
        for broker in sorted(self._known):
            self._begin_spell(broker)
        for broker in dead:
            self._end_spell(broker)
        happenings.tell(
            self.name,
            EventKind.CONTROLLER_FAILOVER,
            won,
            step="Ready to serve as the new controller",
            controller_id=self.broker or 0,
            controller_epoch=self._epoch,
            brokers=sorted(self._known),
            detail=f"{len(self._known)} live brokers",
        )
        for step in LAST_STEPS:
            self._step(step, won)
        scheduler = self._step("Starting the controller scheduler", won)
        self.is_ready = True
        epoch = self._epoch
        if self._settings.rebalance:
            happenings.at(happenings.now + FIRST_REBALANCE_AFTER_MS, lambda: self._rebalance(epoch, scheduler))
        self.look(won)  # what has changed since it has read who is there

    def _step(self, step: str, won: int) -> int:
        return self._happenings.tell(self.name, EventKind.CONTROLLER_FAILOVER, won, step=step, controller_epoch=self._epoch)

    # --- what it does

    def _begin(self, event: str, cause: int | None) -> int:
        """Turn to the next event of its queue, when it is through with the one before."""
        self._happenings.now = max(self._happenings.now, self._free_at)
        return self._happenings.tell(self.name, EventKind.CONTROLLER_EVENT_BEGUN, cause, event=event)

    def _keep(
        self,
        deed: Deed,
        brokers: tuple[int, ...],
        seq: int,
        since: int | None = None,
        elections: tuple[int, int] | None = None,
    ) -> None:
        """Keep what partitions depend on; nothing else is done before they are through with it."""
        assert self.broker is not None
        happenings = self._happenings
        t_ms = happenings.now if since is None else since
        by = self.broker, self._epoch, self._sessions[self.broker]
        self._history.moments.append(Moment(t_ms, seq, deed, brokers, *by, *(elections or (t_ms, seq))))
        happenings.now += HANDLING_MS
        self._free_at = happenings.now

    def look(self, cause: int) -> None:
        """Registrations have changed: the controller looks, a little later."""
        epoch = self._epoch
        reaction = self._happenings.between(REACTION_MS)
        self._happenings.at(self._happenings.now + reaction, lambda: self._change_brokers(epoch, cause))

    def _change_brokers(self, epoch: int, cause: int) -> None:
        changes = diff_brokers(self._known, self._registered)
        if not self.is_ready or epoch != self._epoch or not changes:
            return
        begun = self._begin("BrokerChange", cause)
        fields = EventFields(
            brokers=sorted(self._registered),
            rule=BROKER_CHANGE_RULE,
            detail=f"started {list(changes.started)}, stopped {list(changes.stopped)}, bounced {list(changes.bounced)}",
        )
        if len(self._registered) <= MOST_BROKERS_LISTED:
            known, seen = dict(sorted(self._known.items())), dict(sorted(self._registered.items()))
            fields["inputs"] = f"known {known}, seen {seen}"
        changed = self._happenings.tell(self.name, EventKind.BROKER_CHANGE, begun, **fields)
        alive, self._known = set(self._known), dict(self._registered)
        is_first = True
        for step, deed, brokers in (
            ("started", Deed.STARTED, changes.started),
            ("bounced: gone", Deed.STOPPED, changes.bounced),
            ("bounced: back", Deed.STARTED, changes.bounced),
            ("stopped", Deed.STOPPED, changes.stopped),
        ):
            if not brokers:
                continue
            alive = alive.difference(brokers) if deed is Deed.STOPPED else alive.union(brokers)
            if not is_first:
                self._happenings.tell(self.name, EventKind.BROKER_CHANGE, changed, step=step, brokers=sorted(alive))
            self._keep(deed, brokers, changed)
            is_first = False
        for broker in changes.stopped:
            self._drift(broker, None)
        for broker in (*changes.bounced, *changes.started):
            self._begin_spell(broker)
            self._drift(broker, self._happenings.now)

    def shut_down(self, broker: BrokerId, cause: int) -> None:
        """A broker asks for a controlled shutdown, and is answered."""
        happenings = self._happenings
        epoch = self._registered[broker]
        asked = happenings.tell(
            f"broker-{broker}",
            EventKind.REQUEST_SENT,
            cause,
            broker_id=self.broker or 0,
            broker_epoch=epoch,
            event="ControlledShutdown",
        )
        begun = self._begin(f"ControlledShutdown({broker})", asked)
        self._end_spell(broker)
        self._keep(Deed.SHUTDOWN, (broker,), begun)
        happenings.tell(self.name, EventKind.CONTROLLED_SHUTDOWN, begun, step="answered", broker_id=broker, error="NONE")

    def take_note_of(self, topic: Topic) -> None:
        """An administrator creates a topic. That one's three writes are the topic's own events: see topic_history.py."""
        layout, happenings = self._layout, self._happenings
        asked = happenings.next_ms
        written = layout.seq(asked + WRITTEN_AFTER_MS, layout.place_of_topic(topic.number))
        happenings.now = asked + WRITTEN_AFTER_MS + 2
        session = happenings.new_session()
        begun = self._begin("TopicChange", written)
        noted = happenings.tell(
            self.name,
            EventKind.TOPIC_CHANGE,
            begun,
            count=topic.partitions,
            detail=f"new topics ['{topic.name}'], gone []",
        )
        assert self.broker is not None
        self._history.creations[topic.number] = TopicCreation(
            asked, session, happenings.now, noted, self.broker, self._epoch, self._sessions[self.broker]
        )
        self._free_at = happenings.now + HANDLING_MS // 2

    # --- leadership given back

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
        self._happenings.at(self._happenings.now + REBALANCE_EVERY_MS, lambda: self._rebalance(epoch, cause))

    def _give_back(self, broker: BrokerId, back_since: int | None, cause: int) -> None:
        happenings = self._happenings
        fields = EventFields(
            broker_id=broker,
            rule=f"more than {REBALANCE_PERCENTAGE} % of the partitions that broker {broker} should lead are led by others",
        )
        if back_since is None or broker not in self._known:
            fields |= {"count": 0, "detail": "none of them can be led by it"}
            happenings.tell(self.name, EventKind.LEADER_REBALANCE, cause, **fields)
            return
        told = happenings.tell(self.name, EventKind.LEADER_REBALANCE, cause, **fields)
        self._keep(Deed.REBALANCE, (broker,), told)
        not_yet = exp(-(happenings.now - back_since) / self._settings.catch_up_ms)
        if 100 * not_yet <= REBALANCE_PERCENTAGE:
            del self._drifted[broker]  # the few that were late stay with others until it loses its leaderships again

    # --- who serves

    def _begin_spell(self, broker: BrokerId) -> None:
        if broker in self._running and broker not in self._serving:
            self._serving[broker] = self._happenings.now

    def _end_spell(self, broker: BrokerId) -> None:
        since = self._serving.pop(broker, None)
        if since is not None:
            spell = Spell(since, self._happenings.now, self._sessions[broker])
            self._history.spells.setdefault(broker, []).append(spell)

    def gone(self, broker: BrokerId) -> None:
        """A broker does not serve any more, whoever knows: its process or its session has ended."""
        self._end_spell(broker)

    def finish(self) -> None:
        """The history ends."""
        for broker in sorted(self._serving):
            self._end_spell(broker)
