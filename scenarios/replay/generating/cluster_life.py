"""The life of a cluster: brokers crash and return, restart in turn, lose sessions; racks go dark. No partition is looked at.

What it tells are the cluster-wide events that a run of the simulator would tell, in the same order and with the same causes;
requests between brokers, and what clients read and write, are left out. What partitions depend on is kept in ClusterHistory.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from random import Random

from kcsim.scenarios.replay.generating.controllers import EPOCH_MS, Controllers
from kcsim.scenarios.replay.generating.happenings import SESSION_TIMEOUT_MS, Happenings
from kcsim.scenarios.replay.generating.layout import Layout
from kcsim.scenarios.replay.generating.moments import ClusterHistory
from kcsim.scenarios.replay.generating.settings import Settings
from kcsim.zk import paths
from kcsim.zk.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId

EARLIEST_EXPIRY_MS = SESSION_TIMEOUT_MS * 2 // 3  # the last heartbeat is up to a third of the time-out old
SHORTEST_OUTAGE_MS = SESSION_TIMEOUT_MS + 2_000  # nobody can register under an id whose former session lives
STAGGERED_MS = (0, 5_000)
RESTART_MS = (20_000, 90_000)
BETWEEN_RESTARTS_MS = (60_000, 180_000)
NEW_SESSION_MS = (500, 4_000)
SHARE_UNSEEN = 0.3
"""Of the expired sessions, those whose broker is back before the controller has looked."""
BETWEEN_TOPICS_MS = 60
TOPICS_AFTER_MS = 1_000
LATEST_CREATION = 0.9


class ClusterLife:
    """One cluster, from its start to the end of the history.

    Attributes:
        history: complete when all events have been taken.
    """

    def __init__(self, settings: Settings, layout: Layout) -> None:
        self.history = ClusterHistory(ended_ms=settings.length_ms)
        self._settings = settings
        self._layout = layout
        self._happenings = Happenings(layout, Random(f"{settings.seed} cluster"))
        self._lives: dict[BrokerId, int] = {}  # how often it was started: what was planned for a former life is dropped
        self._running: set[BrokerId] = set()
        self._sessions: dict[BrokerId, str] = {}
        self._registered: dict[BrokerId, BrokerEpoch] = {}
        self._controllers = Controllers(
            settings, layout, self._happenings, self.history, self._registered, self._sessions, self._running
        )

    def events(self) -> Iterator[Event]:
        """The cluster-wide events, in order."""
        self._begin()
        while self._happenings.go_on(self._settings.length_ms - 1_000):
            yield from self._happenings.take()
        self._happenings.now = max(self._settings.length_ms, self._happenings.now)
        self.history.ended_ms = self._happenings.now
        self._happenings.tell("scenario", EventKind.RUN_ENDED, 0)
        self._controllers.finish()
        self.history.index()
        yield from self._happenings.take()

    def _begin(self) -> None:
        settings, happenings = self._settings, self._happenings
        happenings.tell(
            "scenario",
            EventKind.RUN_STARTED,
            detail=f"made up: {settings.brokers} brokers, {settings.topics} topics, {settings.partitions} partitions",
            scenario=settings.batch,
            seed=settings.seed,
            schema_version=EVENT_SCHEMA_VERSION,
        )
        session = happenings.open_session(0)
        made = [path for top in paths.TOP_LEVEL_PATHS for path in paths.lineage(top)]
        for path in dict.fromkeys(made):
            happenings.write(EventKind.ZNODE_CREATED, path, session, 0)
        happenings.write(EventKind.ZNODE_CREATED, paths.CONTROLLER_EPOCH, session, 0, data="0")
        started = self._tell_act("start", [broker.id for broker in self._layout.brokers])
        for broker in self._layout.brokers:
            self._start(broker.id, started)
        self._controllers.vacant(started)
        happenings.at(happenings.now + TOPICS_AFTER_MS, self._plan_topics)
        if settings.rolling_restart_ms:
            happenings.at(happenings.now + settings.rolling_restart_ms, self._begin_rolling_restart)
        for rack in self._layout.racks:
            happenings.after(settings.rack_mtbf_ms, partial(self._lose_rack, rack))
        happenings.after(settings.controller_change_ms, self._change_controller)

    def _tell_act(self, op: str, brokers: Iterable[BrokerId]) -> int:
        return self._happenings.tell("scenario", EventKind.ADMIN_ACT, op=op, target=_names(brokers))

    # --- topics

    def _plan_topics(self) -> None:
        """Most are created with the cluster, one after the other; the late ones at any time."""
        happenings = self._happenings
        early = [topic.number for topic in self._layout.topics if not topic.is_late]
        for place, number in enumerate(early):
            happenings.at(happenings.now + BETWEEN_TOPICS_MS * place, partial(self._create, number))
        first = happenings.now + BETWEEN_TOPICS_MS * len(early)
        last = max(first, int(self._settings.length_ms * LATEST_CREATION))
        for topic in self._layout.topics:
            if topic.is_late:
                happenings.at(happenings.between((first, last)), partial(self._create, topic.number))

    def _create(self, number: int) -> None:
        if self._controllers.is_ready:
            self._controllers.take_note_of(self._layout.topics[number])
        else:
            self._happenings.at(self._happenings.now + 1_000, partial(self._create, number))

    # --- processes

    def _start(self, broker: BrokerId, cause: int) -> None:
        happenings = self._happenings
        self._lives[broker] = life = self._lives.get(broker, 0) + 1
        self._running.add(broker)
        self._register(broker, happenings.tell(f"broker-{broker}", EventKind.PROCESS_STATE, cause, state="running"))
        happenings.after(self._settings.mtbf_ms, partial(self._crash, broker, life))
        happenings.after(self._settings.session_expiry_ms, partial(self._expire_now_and_then, broker, life))

    def _register(self, broker: BrokerId, cause: int) -> None:
        happenings = self._happenings
        session = self._sessions[broker] = happenings.open_session(cause)
        path, host, zxid = paths.broker_id(broker), f"broker-{broker}", happenings.next_zxid
        created = happenings.write(EventKind.ZNODE_CREATED, path, session, cause, ephemeral=True, zxid=zxid)
        data = (
            f'{{"features":{{}},"listener_security_protocol_map":{{"PLAINTEXT":"PLAINTEXT"}},"endpoints":["PLAINTEXT://{host}:9092"],'
            f'"jmx_port":-1,"port":9092,"host":"{host}","rack":"{self._layout.rack_of(broker)}","version":5,'
            f'"timestamp":"{EPOCH_MS + happenings.now}"}}'
        )
        happenings.write(EventKind.ZNODE_CHANGED, path, session, cause, data=data, zk_version=1, ephemeral=True, zxid=zxid)
        self._registered[broker] = BrokerEpoch(zxid)
        happenings.tell(host, EventKind.BROKER_REGISTERED, cause, path=path, broker_id=broker, broker_epoch=zxid)
        self._controllers.look(created)

    def _is_in(self, broker: BrokerId, life: int) -> bool:
        """Whether it is still the life for which something was planned."""
        return broker in self._running and self._lives[broker] == life

    def _crash(self, broker: BrokerId, life: int) -> None:
        if self._is_in(broker, life):
            fault = self._happenings.tell("scenario", EventKind.FAULT, fault="kill", target=f"broker-{broker}")
            self._die(broker, fault)
            self._bring_back(broker, self._happenings.now + self._outage())

    def _outage(self) -> int:
        return max(SHORTEST_OUTAGE_MS, int(self._happenings.random.expovariate(1 / self._settings.mttr_ms)))

    def _lose_rack(self, rack: str) -> None:
        """All brokers of a rack die at once, and come back one after the other."""
        happenings = self._happenings
        lost = [broker for broker in self._layout.on_rack(rack) if broker in self._running]
        if lost:
            dark = f"{rack} is without power"
            fault = happenings.tell("scenario", EventKind.FAULT, fault="kill", target=_names(lost), detail=dark)
            for broker in lost:
                self._die(broker, fault)
            back = happenings.now + self._outage()
            for broker in lost:
                self._bring_back(broker, back)
                back += happenings.between(STAGGERED_MS)
        happenings.after(self._settings.rack_mtbf_ms, partial(self._lose_rack, rack))

    def _die(self, broker: BrokerId, fault: int) -> None:
        happenings, node = self._happenings, f"broker-{broker}"
        happenings.tell(node, EventKind.PROCESS_STATE, fault, state="dead")
        self._running.discard(broker)
        self._controllers.gone(broker)
        self._controllers.died(broker)
        session = self._sessions[broker]
        left = f"; session {session} left to expire" if broker in self._registered else ""
        confirmed = f"{node} is dead{left}"
        happenings.tell("scenario", EventKind.FAULT_CONFIRMED, fault, fault="kill", target=node, detail=confirmed)
        if broker in self._registered:
            expires = happenings.now + happenings.between((EARLIEST_EXPIRY_MS, SESSION_TIMEOUT_MS))
            happenings.at(expires, partial(self._close, broker, fault, "SESSIONEXPIRED"))

    def _bring_back(self, broker: BrokerId, t_ms: int) -> None:
        self._happenings.at(t_ms, lambda: self._start(broker, self._tell_act("start", [broker])))

    # --- sessions

    def _close(self, broker: BrokerId, cause: int, error: str | None = None) -> None:
        """A broker's session ends, and what was ephemeral in it goes."""
        happenings, session = self._happenings, self._sessions[broker]
        zxid = happenings.next_zxid
        fields = EventFields(zxid=zxid, session_id=session)
        if error is not None:
            fields["error"] = error
        closed = happenings.tell("zookeeper", EventKind.SESSION_CLOSED, cause, **fields)
        self._controllers.gone(broker)
        del self._registered[broker]
        if self._controllers.broker == broker:
            self._controllers.deposed(session, zxid, closed)
        path = paths.broker_id(broker)
        gone = happenings.write(EventKind.ZNODE_DELETED, path, session, closed, zk_version=1, ephemeral=True, zxid=zxid)
        self._controllers.look(gone)

    def _expire_now_and_then(self, broker: BrokerId, life: int) -> None:
        if self._is_in(broker, life):
            self._expire(broker)
            again = partial(self._expire_now_and_then, broker, life)
            self._happenings.after(self._settings.session_expiry_ms, again)

    def _change_controller(self) -> None:
        if self._controllers.is_ready and self._controllers.broker is not None:
            self._expire(self._controllers.broker)
        self._happenings.after(self._settings.controller_change_ms, self._change_controller)

    def _expire(self, broker: BrokerId) -> None:
        """The session ends while the process lives, which opens another; at times so soon that nobody has seen it gone."""
        if broker not in self._registered:
            return
        happenings, node, session = self._happenings, f"broker-{broker}", self._sessions[broker]
        fault = happenings.tell("scenario", EventKind.FAULT, fault="expire", target=node)
        self._close(broker, fault, "SESSIONEXPIRED")
        ended = f"session {session} has ended"
        happenings.tell("scenario", EventKind.FAULT_CONFIRMED, fault, fault="expire", target=node, detail=ended)
        if happenings.random.random() < SHARE_UNSEEN:
            self._register(broker, fault)
        else:
            back = happenings.now + happenings.between(NEW_SESSION_MS)
            happenings.at(back, partial(self._register_again, broker, self._lives[broker], fault))

    def _register_again(self, broker: BrokerId, life: int, cause: int) -> None:
        if self._is_in(broker, life):
            self._register(broker, cause)

    # --- rolling restarts

    def _begin_rolling_restart(self) -> None:
        self._restart_next([broker.id for broker in reversed(self._layout.brokers)])
        if self._settings.rolling_restart_ms:
            self._happenings.at(self._happenings.now + self._settings.rolling_restart_ms, self._begin_rolling_restart)

    def _restart_next(self, left: list[BrokerId]) -> None:
        """Restart the last of these, by a controlled shutdown, then the others; those that do not run are passed over."""
        happenings, controllers = self._happenings, self._controllers
        while left and left[-1] not in self._running:
            left = left[:-1]
        if not left:
            return
        broker = left[-1]
        if not controllers.is_ready or broker not in self._registered:
            happenings.at(happenings.now + 5_000, partial(self._restart_next, left))
            return
        stopped = self._tell_act("stop", [broker])
        controllers.shut_down(broker, stopped)
        self._running.discard(broker)
        self._close(broker, stopped)
        happenings.tell(f"broker-{broker}", EventKind.PROCESS_STATE, stopped, state="stopped")
        back = happenings.now + happenings.between(RESTART_MS)
        self._bring_back(broker, back)
        happenings.at(back + happenings.between(BETWEEN_RESTARTS_MS), partial(self._restart_next, left[:-1]))


def _names(brokers: Iterable[BrokerId]) -> str:
    return ", ".join(f"broker-{broker}" for broker in brokers)
