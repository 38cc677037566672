"""Turn the history that Kafka's log files show into an event log.

The history is emitted as the transactions that must have taken place, and their meaning as for ZooKeeper's own log: with the
same events, so that every reader of a trace can read this one. What a log does not show is not made up: events have no zxid
except that of a registration (the broker epoch), no session ids, and only the contents that the lines show; `detail` of a
znode change names the line. Brokers that act on a decision, and state changes that failed, are added.
"""

import json
from collections.abc import Callable, Iterable
from itertools import count

from msgspec import structs

from kcsim.brokers.apache_kafka.log_import.entries import (
    AssignmentWrite,
    ChangeFailed,
    ControllerRoleChange,
    HistoryEntry,
    RegistrationChange,
    RoleTaken,
    StateGone,
    StateWrite,
    TopicGone,
    Visibility,
)
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventFields, EventKind
from kcsim.vocabulary import (
    NO_LEADER,
    BrokerId,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    SessionId,
    TopicPartition,
    TopicState,
    ZkVersion,
    Zxid,
)
from kcsim.zk.capture.zookeeper_trace import ZooKeeperTrace
from kcsim.zk.files.past_tree import NO_OWNER, NONE, PastChange, PastTree
from kcsim.zk.files.snapshot import StoredZnode
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from kcsim.znodes import encode_controller_epoch, encode_partition_state, encode_topic, paths

ADMIN = SessionId(1)
"""The session of the client that creates topics; not a broker's session."""
UNKNOWN = SessionId(2)
"""The session of an unknown client."""
FIRST_OF_BROKERS = 3
HOW_SHOWN = {
    Visibility.AT_ONCE: "shown by",
    Visibility.LATER: "seen by then in",
    Visibility.NOT: "shown by no line; it follows from",
}


class SyntheticSessions:
    """One session per registration of a broker: distinguished inside this module, absent from events."""

    def __init__(self) -> None:
        self._next = count(FIRST_OF_BROKERS)
        self._now: dict[BrokerId, SessionId] = {}
        self._brokers: dict[SessionId, BrokerId] = {}

    def __getitem__(self, broker: BrokerId) -> SessionId:
        """Return the broker's current session."""
        if broker not in self._now:
            session = self._now[broker] = SessionId(next(self._next))
            self._brokers[session] = broker
        return self._now[broker]

    def end(self, broker: BrokerId) -> SessionId:
        """End the broker's current session and return it; the next one is new."""
        session = self[broker]
        del self._now[broker]
        return session

    def broker(self, session_id: SessionId) -> str | None:
        """Return broker-N, or None if the session is not a broker's."""
        broker = self._brokers.get(session_id)
        return None if broker is None else f"broker-{broker}"


class KafkaLogsTrace(ZooKeeperTrace):
    """Takes history entries in order and emits events.

    Args:
        put: called with each event; assigns its seq and returns it.
        entries: all entries of the history: they show which znodes existed before the first line.
        to_utc: from the files' own ms to ms since 1970.
    """

    def __init__(self, put: Callable[[Event], int], entries: Iterable[HistoryEntry], to_utc: Callable[[int], int]) -> None:
        self._sessions_of_brokers = SyntheticSessions()
        self._past = PastTree(_present(entries, self._sessions_of_brokers))
        super().__init__(self._put_as_shown, self._sessions_of_brokers, self._past)
        self._put_shown = put
        self._to_utc = to_utc
        self._zxids = 0
        self._entry: HistoryEntry | None = None
        self._registered: dict[SessionId, int] = {}  # seq of the registration
        self._last_state: dict[str, int] = {}  # path of a partition's state -> seq of its last change

    def add_entry(self, entry: HistoryEntry) -> None:
        """Emit the events of the next entry."""
        self._entry = entry
        match entry:
            case RoleTaken():
                self._emit_role(entry)
            case ChangeFailed():
                self._emit_failure(entry)
            case _:
                session, ops, zxid = self._ops(entry)
                if ops:
                    self._zxids = max(self._zxids + 1, zxid)
                    is_expiry = isinstance(entry, RegistrationChange) and not entry.was_closed
                    cxid = 0 if is_expiry else 1
                    time_ms = self._to_utc(entry.t_ms)
                    self.take(Transaction(Zxid(self._zxids), session, cxid, time_ms, tuple(ops), len(ops) > 1))

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        """Return the cause of a change: as in the base class for ADMIN, and the begin of the trace for any other session."""
        return super().cause_of_act(transaction, change, path) if transaction.session_id == ADMIN else self._began

    def cause_of_close(self, transaction: Transaction, opened: int) -> int:
        """Return the registration as the cause: the session began earlier, but this is the first that is known of it."""
        return self._registered.get(transaction.session_id, opened)

    # --- entries as transactions

    def _ops(self, entry: HistoryEntry) -> tuple[SessionId, list[Txn], int]:
        """Return the session, the operations and the zxid of an entry's transaction; zxid 0 means unknown."""
        match entry:
            case StateWrite():
                return self._session(entry.by), self._state_ops(entry), 0
            case StateGone(tp=tp, by=by):
                return self._session(by), [DeleteTxn(paths.topic_partition_state(tp))], 0
            case AssignmentWrite():
                session = ADMIN if entry.by is None else self._sessions_of_brokers[entry.by]
                data = encode_topic(TopicState(entry.assignment))
                return session, [self._write(paths.topic(entry.topic), data)], 0
            case TopicGone(topic=topic, by=by):
                return self._session(by), [DeleteTxn(paths.topic(topic))], 0
            case ControllerRoleChange():
                return self._controller_ops(entry)
            case RegistrationChange():
                return self._registration_ops(entry)
            case _:
                return UNKNOWN, [], 0

    def _session(self, by: BrokerId | None) -> SessionId:
        return UNKNOWN if by is None else self._sessions_of_brokers[by]

    def _write(self, path: str, data: bytes, version: int | None = None, is_ephemeral: bool = False) -> Txn:
        """Create a znode, or set it if it exists; an unknown version becomes the one after the current version."""
        known = self._past.znodes.get(path)
        if known is None:
            return CreateTxn(path, data, is_ephemeral, 1)
        return SetDataTxn(path, data, ZkVersion(known.version + 1 if version is None else version))

    def _state_ops(self, entry: StateWrite) -> list[Txn]:
        if entry.leader is None or entry.leader_epoch is None or entry.isr is None or entry.controller_epoch is None:
            return []  # named in not_shown
        leader = None if entry.leader < 0 else BrokerId(entry.leader)
        epoch, version = LeaderEpoch(entry.leader_epoch), ZkVersion(entry.zk_version)
        state = LeaderAndIsr(leader, epoch, entry.isr, version, entry.is_recovering)
        data = encode_partition_state(PartitionState(state, entry.controller_epoch))
        return [self._write(paths.topic_partition_state(entry.tp), data, entry.zk_version)]

    def _controller_ops(self, entry: ControllerRoleChange) -> tuple[SessionId, list[Txn], int]:
        if entry.controller is None:
            # /controller is deleted with its session, whose end is an entry of its own, unless a client has deleted it.
            is_there = paths.CONTROLLER in self._past.znodes
            return UNKNOWN, [DeleteTxn(paths.CONTROLLER)] if is_there and not entry.with_session else [], 0
        data = json.dumps({"version": 1, "brokerid": entry.controller}, separators=(",", ":")).encode()
        raised = self._write(paths.CONTROLLER_EPOCH, encode_controller_epoch(entry.controller_epoch), entry.zk_version)
        session = self._sessions_of_brokers[entry.controller]
        return session, [self._write(paths.CONTROLLER, data, is_ephemeral=True), raised], 0

    def _registration_ops(self, entry: RegistrationChange) -> tuple[SessionId, list[Txn], int]:
        path = paths.broker_id(entry.broker)
        if not entry.is_registered:
            return self._sessions_of_brokers.end(entry.broker), [CloseSessionTxn(None)], 0
        data = json.dumps({"endpoints": entry.endpoints}, separators=(",", ":")).encode()
        return self._sessions_of_brokers[entry.broker], [self._write(path, data, is_ephemeral=True)], entry.epoch or 0

    # --- entries that are no transactions

    def _emit_role(self, entry: RoleTaken) -> None:
        self._t_ms = max(self._t_ms, self._to_utc(entry.t_ms) - self._began_ms)
        kind = EventKind.BECAME_LEADER if entry.is_leader else EventKind.BECAME_FOLLOWER
        fields = EventFields(
            topic=entry.tp.topic, partition=entry.tp.partition, leader_epoch=entry.leader_epoch, offset=entry.offset
        )
        state = self._state.of_topics.states.get(entry.tp)
        if state is not None and state.leader_and_isr.leader_epoch == entry.leader_epoch:
            leader = state.leader_and_isr.leader
            fields["leader"] = NO_LEADER if leader is None else leader
            fields["isr"] = state.leader_and_isr.isr
        if entry.high_watermark is not None:
            fields["high_watermark"] = entry.high_watermark
        self._emit(f"broker-{entry.broker}", kind, self._cause_of(entry.tp), **fields)

    def _emit_failure(self, entry: ChangeFailed) -> None:
        self._t_ms = max(self._t_ms, self._to_utc(entry.t_ms) - self._began_ms)
        name, _, text = entry.error.partition(": ")
        self._emit(
            f"broker-{entry.controller}",
            EventKind.STATE_CHANGE_FAILED,
            self._cause_of(entry.tp),
            topic=entry.tp.topic,
            partition=entry.tp.partition,
            controller_epoch=entry.controller_epoch,
            state=entry.after,
            error=name.rpartition(".")[2] or "unknown",
            detail=text or f"from {entry.before} to {entry.after}",
        )

    def _cause_of(self, tp: TopicPartition) -> int:
        return self._last_state.get(paths.topic_partition_state(tp), self._began)

    # --- events as far as the lines show them

    def _put_as_shown(self, event: Event) -> int:
        """Emit an event without the values that no line shows, and name the line that shows the rest."""
        entry = self._entry
        shown = structs.replace(event, session_id=None, zxid=None)
        if entry is None:
            return self._put_shown(shown)
        if event.kind in ZNODE_CHANGES:
            shown = structs.replace(shown, detail=f"{HOW_SHOWN[entry.shown]} {entry.place}")
        if isinstance(entry, RegistrationChange):
            shown = _with_epoch(shown, entry.epoch)
        if isinstance(entry, StateWrite) and event.kind is EventKind.LEADER_ELECTION:
            rule = entry.why or ("unclean: the leader was not in the ISR" if entry.is_unclean else None)
            shown = structs.replace(shown, rule=rule)
        seq = self._put_shown(shown)
        if event.kind in ZNODE_CHANGES and event.path is not None and isinstance(entry, StateWrite | StateGone):
            self._last_state[event.path] = seq
        if isinstance(entry, RegistrationChange) and event.kind is EventKind.ZNODE_CREATED:
            self._registered[self._sessions_of_brokers[entry.broker]] = seq
        return seq


def _with_epoch(event: Event, epoch: int | None) -> Event:
    """Set the broker epoch, the only zxid that a log shows."""
    if event.kind is EventKind.ZNODE_CREATED:
        return structs.replace(event, zxid=epoch)
    return structs.replace(event, broker_epoch=epoch) if event.kind is EventKind.BROKER_REGISTERED else event


def _present(entries: Iterable[HistoryEntry], sessions: SyntheticSessions) -> list[StoredZnode]:
    """Return the znodes that existed before the first line, with the version that each had before its first shown write."""
    found: dict[str, StoredZnode] = {}
    seen: set[str] = set()
    for entry in entries:
        match entry:
            case StateWrite() if entry.is_whole:
                path, before, owner = paths.topic_partition_state(entry.tp), entry.zk_version - 1, NO_OWNER
            case AssignmentWrite():
                path, before, owner = paths.topic(entry.topic), -1 if entry.is_new else 0, NO_OWNER
            case RegistrationChange():
                path, before = paths.broker_id(entry.broker), -1 if entry.is_registered else 0
                owner = NO_OWNER if entry.is_registered else sessions[entry.broker]
            case ControllerRoleChange(controller=int()):
                path, owner = paths.CONTROLLER_EPOCH, NO_OWNER
                before = entry.controller_epoch - 1 if entry.zk_version is None else entry.zk_version - 1
            case _:
                continue
        if path not in seen and before >= 0:
            found[path] = StoredZnode(path, None, NONE, NONE, 0, 0, ZkVersion(before), 0, 0, owner, NONE)
        seen.add(path)
    return list(found.values())
