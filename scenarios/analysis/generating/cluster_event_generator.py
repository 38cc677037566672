"""The events of a cluster: brokers crash and return, restart in turn, lose sessions; racks lose power. Without partitions.

The generator emits the cluster-wide events that a run of the simulator would emit, in the same order and with the same
causes. Requests between brokers, and what clients read and write, are left out. What partitions depend on is kept in
ClusterHistory.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from random import Random

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind
from kcsim.scenarios.analysis.generating.cluster_history import ClusterHistory
from kcsim.scenarios.analysis.generating.controllers import EPOCH_MS, Controllers, GeneratedBrokers
from kcsim.scenarios.analysis.generating.event_scheduler import SESSION_TIMEOUT_MS, EventScheduler
from kcsim.scenarios.analysis.generating.layout import Layout
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.vocabulary import BrokerEpoch, BrokerId
from kcsim.znodes import paths

EARLIEST_EXPIRY_MS = SESSION_TIMEOUT_MS * 2 // 3  # the last heartbeat is up to a third of the time-out old
SHORTEST_OUTAGE_MS = SESSION_TIMEOUT_MS + 2_000  # a broker cannot register while the former session of its id lives
STAGGERED_MS = (0, 5_000)
RESTART_MS = (20_000, 90_000)
BETWEEN_RESTARTS_MS = (60_000, 180_000)
NEW_SESSION_MS = (500, 4_000)
SHARE_UNSEEN = 0.3
"""The share of expired sessions whose broker registers again before the controller has read the registrations."""
BETWEEN_TOPICS_MS = 60
TOPICS_AFTER_MS = 1_000
LATEST_CREATION = 0.9


class ClusterEventGenerator:
    """One cluster, from its start to the end of the history.

    Attributes:
        history: complete when all events have been taken.
    """

    def __init__(self, settings: Settings, layout: Layout) -> None:
        self.history = ClusterHistory(ended_ms=settings.length_ms)
        self._settings = settings
        self._layout = layout
        self._scheduler = EventScheduler(layout, Random(f"{settings.seed} cluster"))
        self._incarnations: dict[
            BrokerId, int
        ] = {}  # how often each broker was started: plans for a former incarnation are dropped
        self._brokers = GeneratedBrokers()
        self._controllers = Controllers(settings, layout, self._scheduler, self.history, self._brokers)

    def events(self) -> Iterator[Event]:
        """The cluster-wide events, in order."""
        self._begin()
        while self._scheduler.run_next(self._settings.length_ms - 1_000):
            yield from self._scheduler.take()
        self._scheduler.now = max(self._settings.length_ms, self._scheduler.now)
        self.history.ended_ms = self._scheduler.now
        self._scheduler.emit("scenario", EventKind.RUN_ENDED, 0)
        self._controllers.finish()
        self.history.index()
        yield from self._scheduler.take()

    def _begin(self) -> None:
        settings, scheduler = self._settings, self._scheduler
        scheduler.emit(
            "scenario",
            EventKind.RUN_STARTED,
            detail=f"made up: {settings.brokers} brokers, {settings.topics} topics, {settings.partitions} partitions",
            scenario=settings.batch,
            seed=settings.seed,
            schema_version=EVENT_SCHEMA_VERSION,
        )
        session = scheduler.open_session(0)
        made = [path for top in paths.TOP_LEVEL_PATHS for path in paths.lineage(top)]
        for path in dict.fromkeys(made):
            scheduler.write(EventKind.ZNODE_CREATED, path, session, 0)
        scheduler.write(EventKind.ZNODE_CREATED, paths.CONTROLLER_EPOCH, session, 0, data="0")
        started = self._emit_admin_act("start", [broker.id for broker in self._layout.brokers])
        for broker in self._layout.brokers:
            self._start(broker.id, started)
        self._controllers.vacant(started)
        scheduler.at(scheduler.now + TOPICS_AFTER_MS, self._plan_topics)
        if settings.rolling_restart_ms:
            scheduler.at(scheduler.now + settings.rolling_restart_ms, self._begin_rolling_restart)
        for rack in self._layout.racks:
            scheduler.after(settings.rack_mtbf_ms, partial(self._lose_rack, rack))
        scheduler.after(settings.controller_change_ms, self._change_controller)

    def _emit_admin_act(self, op: str, brokers: Iterable[BrokerId]) -> int:
        return self._scheduler.emit("scenario", EventKind.ADMIN_ACT, op=op, target=_names(brokers))

    # --- topics

    def _plan_topics(self) -> None:
        """Schedule the creation of topics: most with the cluster, one after the other; the late ones at any time."""
        scheduler = self._scheduler
        early = [topic.number for topic in self._layout.topics if not topic.is_late]
        for place, number in enumerate(early):
            scheduler.at(scheduler.now + BETWEEN_TOPICS_MS * place, partial(self._create, number))
        first = scheduler.now + BETWEEN_TOPICS_MS * len(early)
        last = max(first, int(self._settings.length_ms * LATEST_CREATION))
        for topic in self._layout.topics:
            if topic.is_late:
                scheduler.at(scheduler.between((first, last)), partial(self._create, topic.number))

    def _create(self, number: int) -> None:
        if self._controllers.is_ready:
            self._controllers.create_topic(self._layout.topics[number])
        else:
            self._scheduler.at(self._scheduler.now + 1_000, partial(self._create, number))

    # --- processes

    def _start(self, broker: BrokerId, cause: int) -> None:
        scheduler = self._scheduler
        self._incarnations[broker] = incarnation = self._incarnations.get(broker, 0) + 1
        self._brokers.running.add(broker)
        self._register(broker, scheduler.emit(f"broker-{broker}", EventKind.PROCESS_STATE, cause, state="running"))
        scheduler.after(self._settings.mtbf_ms, partial(self._crash, broker, incarnation))
        scheduler.after(self._settings.session_expiry_ms, partial(self._expire_now_and_then, broker, incarnation))

    def _register(self, broker: BrokerId, cause: int) -> None:
        scheduler = self._scheduler
        session = self._brokers.sessions[broker] = scheduler.open_session(cause)
        path, host, zxid = paths.broker_id(broker), f"broker-{broker}", scheduler.next_zxid
        created = scheduler.write(EventKind.ZNODE_CREATED, path, session, cause, ephemeral=True, zxid=zxid)
        data = (
            f'{{"features":{{}},"listener_security_protocol_map":{{"PLAINTEXT":"PLAINTEXT"}},"endpoints":["PLAINTEXT://{host}:9092"],'
            f'"jmx_port":-1,"port":9092,"host":"{host}","rack":"{self._layout.rack_of(broker)}","version":5,'
            f'"timestamp":"{EPOCH_MS + scheduler.now}"}}'
        )
        scheduler.write(EventKind.ZNODE_CHANGED, path, session, cause, data=data, zk_version=1, ephemeral=True, zxid=zxid)
        self._brokers.registered[broker] = BrokerEpoch(zxid)
        scheduler.emit(host, EventKind.BROKER_REGISTERED, cause, path=path, broker_id=broker, broker_epoch=zxid)
        self._controllers.look(created)

    def _is_incarnation(self, broker: BrokerId, incarnation: int) -> bool:
        """Return whether the broker runs and is still in the incarnation for which something was planned."""
        return broker in self._brokers.running and self._incarnations[broker] == incarnation

    def _crash(self, broker: BrokerId, incarnation: int) -> None:
        if self._is_incarnation(broker, incarnation):
            fault = self._scheduler.emit("scenario", EventKind.FAULT, fault="kill", target=f"broker-{broker}")
            self._die(broker, fault)
            self._bring_back(broker, self._scheduler.now + self._outage())

    def _outage(self) -> int:
        return max(SHORTEST_OUTAGE_MS, int(self._scheduler.random.expovariate(1 / self._settings.mttr_ms)))

    def _lose_rack(self, rack: str) -> None:
        """Kill all brokers of a rack at once, and bring them back one after the other."""
        scheduler = self._scheduler
        lost = [broker for broker in self._layout.on_rack(rack) if broker in self._brokers.running]
        if lost:
            dark = f"{rack} is without power"
            fault = scheduler.emit("scenario", EventKind.FAULT, fault="kill", target=_names(lost), detail=dark)
            for broker in lost:
                self._die(broker, fault)
            back = scheduler.now + self._outage()
            for broker in lost:
                self._bring_back(broker, back)
                back += scheduler.between(STAGGERED_MS)
        scheduler.after(self._settings.rack_mtbf_ms, partial(self._lose_rack, rack))

    def _die(self, broker: BrokerId, fault: int) -> None:
        scheduler, node = self._scheduler, f"broker-{broker}"
        scheduler.emit(node, EventKind.PROCESS_STATE, fault, state="dead")
        self._brokers.running.discard(broker)
        self._controllers.gone(broker)
        self._controllers.died(broker)
        session = self._brokers.sessions[broker]
        left = f"; session {session} left to expire" if broker in self._brokers.registered else ""
        confirmed = f"{node} is dead{left}"
        scheduler.emit("scenario", EventKind.FAULT_CONFIRMED, fault, fault="kill", target=node, detail=confirmed)
        if broker in self._brokers.registered:
            expires = scheduler.now + scheduler.between((EARLIEST_EXPIRY_MS, SESSION_TIMEOUT_MS))
            scheduler.at(expires, partial(self._close, broker, fault, "SESSIONEXPIRED"))

    def _bring_back(self, broker: BrokerId, t_ms: int) -> None:
        self._scheduler.at(t_ms, lambda: self._start(broker, self._emit_admin_act("start", [broker])))

    # --- sessions

    def _close(self, broker: BrokerId, cause: int, error: str | None = None) -> None:
        """End a broker's session, and delete its ephemeral znodes."""
        scheduler, session = self._scheduler, self._brokers.sessions[broker]
        zxid = scheduler.next_zxid
        fields = EventFields(zxid=zxid, session_id=session)
        if error is not None:
            fields["error"] = error
        closed = scheduler.emit("zookeeper", EventKind.SESSION_CLOSED, cause, **fields)
        self._controllers.gone(broker)
        del self._brokers.registered[broker]
        if self._controllers.broker == broker:
            self._controllers.deposed(session, zxid, closed)
        path = paths.broker_id(broker)
        gone = scheduler.write(EventKind.ZNODE_DELETED, path, session, closed, zk_version=1, ephemeral=True, zxid=zxid)
        self._controllers.look(gone)

    def _expire_now_and_then(self, broker: BrokerId, incarnation: int) -> None:
        if self._is_incarnation(broker, incarnation):
            self._expire(broker)
            again = partial(self._expire_now_and_then, broker, incarnation)
            self._scheduler.after(self._settings.session_expiry_ms, again)

    def _change_controller(self) -> None:
        if self._controllers.is_ready and self._controllers.broker is not None:
            self._expire(self._controllers.broker)
        self._scheduler.after(self._settings.controller_change_ms, self._change_controller)

    def _expire(self, broker: BrokerId) -> None:
        """Expire the session of a live process, which opens another, sometimes before the controller notices the expiry."""
        if broker not in self._brokers.registered:
            return
        scheduler, node, session = self._scheduler, f"broker-{broker}", self._brokers.sessions[broker]
        fault = scheduler.emit("scenario", EventKind.FAULT, fault="expire", target=node)
        self._close(broker, fault, "SESSIONEXPIRED")
        ended = f"session {session} has ended"
        scheduler.emit("scenario", EventKind.FAULT_CONFIRMED, fault, fault="expire", target=node, detail=ended)
        if scheduler.random.random() < SHARE_UNSEEN:
            self._register(broker, fault)
        else:
            back = scheduler.now + scheduler.between(NEW_SESSION_MS)
            scheduler.at(back, partial(self._register_again, broker, self._incarnations[broker], fault))

    def _register_again(self, broker: BrokerId, incarnation: int, cause: int) -> None:
        if self._is_incarnation(broker, incarnation):
            self._register(broker, cause)

    # --- rolling restarts

    def _begin_rolling_restart(self) -> None:
        self._restart_next([broker.id for broker in reversed(self._layout.brokers)])
        if self._settings.rolling_restart_ms:
            self._scheduler.at(self._scheduler.now + self._settings.rolling_restart_ms, self._begin_rolling_restart)

    def _restart_next(self, left: list[BrokerId]) -> None:
        """Restart the last of these by a controlled shutdown, then the others; skip those that do not run."""
        scheduler, controllers = self._scheduler, self._controllers
        while left and left[-1] not in self._brokers.running:
            left = left[:-1]
        if not left:
            return
        broker = left[-1]
        if not controllers.is_ready or broker not in self._brokers.registered:
            scheduler.at(scheduler.now + 5_000, partial(self._restart_next, left))
            return
        stopped = self._emit_admin_act("stop", [broker])
        controllers.shut_down(broker, stopped)
        self._brokers.running.discard(broker)
        self._close(broker, stopped)
        scheduler.emit(f"broker-{broker}", EventKind.PROCESS_STATE, stopped, state="stopped")
        back = scheduler.now + scheduler.between(RESTART_MS)
        self._bring_back(broker, back)
        scheduler.at(back + scheduler.between(BETWEEN_RESTARTS_MS), partial(self._restart_next, left[:-1]))


def _names(brokers: Iterable[BrokerId]) -> str:
    return ", ".join(f"broker-{broker}" for broker in brokers)
