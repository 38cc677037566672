"""Makes an event log of ours out of the history that Kafka's log files show.

The history is told as the transactions that must have been, and what they stand for is told as for a ZooKeeper's own
log: the same events, so that all that reads a trace reads this. What a log does not show is not made up: events carry no
zxid but that of a registration (the broker epoch), no session ids, and no contents but those that the lines tell; `detail`
of a znode's change names the line. Brokers that take over a decision and changes that failed are told besides.
"""

import json
from collections.abc import Callable, Iterable
from itertools import count

from msgspec import structs

from kcsim.scenarios.imported.kafka_logs.entries import (
    AssignmentWrite,
    ChangeFailed,
    ControllerChange,
    Entry,
    RegistrationChange,
    RoleTaken,
    Shown,
    StateGone,
    StateWrite,
    TopicGone,
)
from kcsim.scenarios.imported.zookeeper_trace import ZooKeeperTrace
from kcsim.zk import paths
from kcsim.zk.events import Event, EventFields, EventKind
from kcsim.zk.files.past_tree import NOBODY, NONE, PastChange, PastTree
from kcsim.zk.files.snapshot import StoredZnode
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from kcsim.zk.vocabulary import (
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
from kcsim.zk.znodes import encode_controller_epoch, encode_partition_state, encode_topic

ADMIN = SessionId(1)
"""Whoever makes topics: no broker's session."""
UNKNOWN = SessionId(2)
"""Somebody of whom nothing is known."""
FIRST_OF_BROKERS = 3
ZNODE_CHANGES = (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED)
HOW_SHOWN = {
    Shown.AT_ONCE: "shown by",
    Shown.LATER: "seen by then in",
    Shown.NOT: "shown by no line; it follows from",
}


class Sessions:
    """A session for each time that a broker is registered: told apart in here, and in no event."""

    def __init__(self) -> None:
        self._next = count(FIRST_OF_BROKERS)
        self._now: dict[BrokerId, SessionId] = {}
        self._brokers: dict[SessionId, BrokerId] = {}

    def __getitem__(self, broker: BrokerId) -> SessionId:
        """The session that a broker has at this time."""
        if broker not in self._now:
            session = self._now[broker] = SessionId(next(self._next))
            self._brokers[session] = broker
        return self._now[broker]

    def end(self, broker: BrokerId) -> SessionId:
        """The session that ends; the next one is another."""
        session = self[broker]
        del self._now[broker]
        return session

    def broker(self, session_id: SessionId) -> str | None:
        """broker-N; None for what is no broker's."""
        broker = self._brokers.get(session_id)
        return None if broker is None else f"broker-{broker}"


class KafkaLogsTrace(ZooKeeperTrace):
    """Takes entries in, in their order, gives events out.

    Args:
        put: called with each event; gives it a seq and returns that.
        entries: all of them: what was there before the first line shows in those to come.
        to_utc: from the files' own ms to ms since 1970.
    """

    def __init__(self, put: Callable[[Event], int], entries: Iterable[Entry], to_utc: Callable[[int], int]) -> None:
        self._sessions_of_brokers = Sessions()
        self._past = PastTree(_present(entries, self._sessions_of_brokers))
        super().__init__(self._put_as_shown, self._sessions_of_brokers, self._past)
        self._put_shown = put
        self._to_utc = to_utc
        self._zxids = 0
        self._entry: Entry | None = None
        self._registered: dict[SessionId, int] = {}  # seq of the registration
        self._last_state: dict[str, int] = {}  # path of a partition's state -> seq of its last change

    def tell(self, entry: Entry) -> None:
        """Tell of one entry; the next in order."""
        self._entry = entry
        match entry:
            case RoleTaken():
                self._tell_role(entry)
            case ChangeFailed():
                self._tell_failure(entry)
            case _:
                session, ops, zxid = self._ops(entry)
                if ops:
                    self._zxids = max(self._zxids + 1, zxid)
                    is_expiry = isinstance(entry, RegistrationChange) and not entry.was_closed
                    cxid = 0 if is_expiry else 1
                    time_ms = self._to_utc(entry.t_ms)
                    self.take(Transaction(Zxid(self._zxids), session, cxid, time_ms, tuple(ops), len(ops) > 1))

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        """An administrator's act is told; what somebody unknown did follows from nothing that is known."""
        return super().cause_of_act(transaction, change, path) if transaction.session_id == ADMIN else self._began

    def cause_of_close(self, transaction: Transaction, opened: int) -> int:
        """A session ends that has begun some time before the registration, which is the first that is seen of it."""
        return self._registered.get(transaction.session_id, opened)

    # --- entries as transactions

    def _ops(self, entry: Entry) -> tuple[SessionId, list[Txn], int]:
        """Whose transaction an entry stands for, what is in it, and its zxid; 0 if nobody knows that."""
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
            case ControllerChange():
                return self._controller_ops(entry)
            case RegistrationChange():
                return self._registration_ops(entry)
            case _:
                return UNKNOWN, [], 0

    def _session(self, by: BrokerId | None) -> SessionId:
        return UNKNOWN if by is None else self._sessions_of_brokers[by]

    def _write(self, path: str, data: bytes, version: int | None = None, is_ephemeral: bool = False) -> Txn:
        """Make a znode, or set it if it is there; the version is the next one unless it is known."""
        known = self._past.znodes.get(path)
        if known is None:
            return CreateTxn(path, data, is_ephemeral, 1)
        return SetDataTxn(path, data, ZkVersion(known.version + 1 if version is None else version))

    def _state_ops(self, entry: StateWrite) -> list[Txn]:
        if entry.leader is None or entry.leader_epoch is None or entry.isr is None or entry.controller_epoch is None:
            return []  # told among what is not shown
        leader = None if entry.leader < 0 else BrokerId(entry.leader)
        state = LeaderAndIsr(leader, LeaderEpoch(entry.leader_epoch), entry.isr, ZkVersion(entry.zk_version))
        data = encode_partition_state(PartitionState(state, entry.controller_epoch))
        return [self._write(paths.topic_partition_state(entry.tp), data, entry.zk_version)]

    def _controller_ops(self, entry: ControllerChange) -> tuple[SessionId, list[Txn], int]:
        if entry.controller is None:
            # It goes with its session, whose end is an entry of its own, unless somebody has removed it.
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

    # --- what is no transaction

    def _tell_role(self, entry: RoleTaken) -> None:
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

    def _tell_failure(self, entry: ChangeFailed) -> None:
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
        """Take out what no line shows, and name the line that shows the rest."""
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
    """The broker epoch is the one number of a transaction that a log tells."""
    if event.kind is EventKind.ZNODE_CREATED:
        return structs.replace(event, zxid=epoch)
    return structs.replace(event, broker_epoch=epoch) if event.kind is EventKind.BROKER_REGISTERED else event


def _present(entries: Iterable[Entry], sessions: Sessions) -> list[StoredZnode]:
    """What was there before the first line, by the versions that it had before it was written."""
    found: dict[str, StoredZnode] = {}
    seen: set[str] = set()
    for entry in entries:
        match entry:
            case StateWrite() if entry.is_whole:
                path, before, owner = paths.topic_partition_state(entry.tp), entry.zk_version - 1, NOBODY
            case AssignmentWrite():
                path, before, owner = paths.topic(entry.topic), -1 if entry.is_new else 0, NOBODY
            case RegistrationChange():
                path, before = paths.broker_id(entry.broker), -1 if entry.is_registered else 0
                owner = NOBODY if entry.is_registered else sessions[entry.broker]
            case ControllerChange(controller=int()):
                path, owner = paths.CONTROLLER_EPOCH, NOBODY
                before = entry.controller_epoch - 1 if entry.zk_version is None else entry.zk_version - 1
            case _:
                continue
        if path not in seen and before >= 0:
            found[path] = StoredZnode(path, None, NONE, NONE, 0, 0, ZkVersion(before), 0, 0, owner, NONE)
        seen.add(path)
    return list(found.values())
