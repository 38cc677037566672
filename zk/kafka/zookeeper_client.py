"""Kafka's ZooKeeper client: handlers instead of watches, retries after connection loss, a new session after expiry.

Handlers are known to the client only. A read asks ZooKeeper for a watch if a handler is registered for its path when the
read is sent; the watch fires once, and the next read of that path arms it again. So several changes may fire one watch
event, and no change is missed, because that next read sees all changes that have happened since.

Left out: authentication, and Kafka's limit on requests in flight. Until a new session is open, requests fail with
SessionExpiredError on the ended session, whereas in Kafka they wait for a lock. Source: Kafka 2.8, ZooKeeperClient and
KafkaZkClient.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from kcsim.eventlog.events import EventFields, EventKind, TransactionRef
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.runtime.ports import Promise, Runtime, Task
from kcsim.vocabulary import SessionId
from kcsim.zk.errors import ConnectionLossError, NoNodeError, ZooKeeperError, ZooKeeperUnavailableError
from kcsim.zk.kafka.write_events import write_answered, write_begun, write_given_up
from kcsim.zk.operations import (
    DataRead,
    Exists,
    GetChildren,
    GetData,
    MultiRead,
    MultiReadDone,
    NodeFound,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    WatchEvent,
    WatchKind,
)
from kcsim.zk.ports import Session, ZooKeeper
from kcsim.zk.session_states import ENDED_STATES

RECONNECT_INTERVAL_MS = 1000
"""Time between two attempts to open a new session."""
MULTI_READ_PATHS = 1000
"""Number of reads in one MultiRead; the znodes read are small, so that the reply stays far below 1 MB."""

Callback = Callable[[Cause], object]
"""Called from ZooKeeper's notices with the seq of the WatchFired event; must not block."""


@dataclass(frozen=True, slots=True)
class NodeHandler:
    """The callbacks for a znode's creation, its deletion and changes of its data.

    A change without a callback is dropped, and the watch has fired nevertheless.
    """

    created: Callback | None = None
    deleted: Callback | None = None
    data_changed: Callback | None = None


class Begun(Protocol):
    """Work that was queued and that another task can wait for to begin."""

    async def wait_until_begun(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SessionHandler:
    """The callbacks for the expiry of a session. Neither may block.

    Args:
        before_new_session: called at once; no new session is opened before the work that it returns has begun.
        after_new_session: called when the new session is open.
    """

    before_new_session: Callable[[Cause], Begun | None] | None = None
    after_new_session: Callback | None = None


class ZooKeeperClientExpiredError(Exception):
    """The session ended while a request waited to be sent again. Its earlier attempts may have been applied."""


class _Handle:
    """One session, from its opening on, and the promise through which tasks wait for its next change of state."""

    def __init__(self, changed: "Promise[None]") -> None:
        self.session: Session | None = None
        self.noticed: SessionState | None = None  # of the last notice; None before the first
        self.changed = changed  # resolved, and replaced, at each notice


class ZooKeeperClient:
    """A client that opens a new session when one expires. From connect() on it has one session at a time.

    Args:
        session_timeout_ms: zookeeper.session.timeout.ms, which is requested from the server.
        connect_timeout_ms: zookeeper.connection.timeout.ms, for the opening of each session.
    """

    def __init__(
        self,
        runtime: Runtime,
        zookeeper: ZooKeeper,
        sink: EventSink,
        session_timeout_ms: int,
        connect_timeout_ms: int,
    ) -> None:
        self.runtime = runtime
        self.sink = sink
        self._zookeeper = zookeeper
        self._session_timeout_ms = session_timeout_ms
        self._connect_timeout_ms = connect_timeout_ms
        self._node_handlers: dict[str, NodeHandler] = {}
        self._child_handlers: dict[str, Callback] = {}
        self._session_handlers: dict[str, SessionHandler] = {}
        self._handle = self._new_handle()
        self._reinitialization: Task | None = None
        self._is_closed = False
        self._closed_for: Cause = None  # the cause given to close()

    # --- sessions

    @property
    def session_id(self) -> SessionId:
        """The id of the present session, or of the last one."""
        return self.session.session_id

    @property
    def session_state(self) -> SessionState:
        return self.session.state if self._handle.session is not None else SessionState.CONNECTING

    @property
    def session(self) -> Session:
        """The present session, or the last one. Its faults are for code that injects faults, not for Kafka's code."""
        assert self._handle.session is not None, "connect() comes first"
        return self._handle.session

    async def connect(self, cause: Cause = None) -> None:
        """Open the first session. Raises: ZooKeeperUnavailableError."""
        self._install(await self._open(cause), cause)

    async def close(self, cause: Cause = None) -> None:
        """Close the session and stop opening new ones. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        self._closed_for = cause
        if self._reinitialization is not None:
            self._reinitialization.kill()
        if self._handle.session is None:
            return
        handle = self._handle
        await self.session.close(cause)
        if handle.noticed not in ENDED_STATES:
            self._on_state(handle, SessionStateChanged(SessionState.CLOSED), cause)

    def _new_handle(self) -> _Handle:
        return _Handle(self.runtime.promise())

    async def _open(self, cause: Cause) -> _Handle:
        handle = self._new_handle()
        handle.session = await self._zookeeper.open_session(
            self._session_timeout_ms, lambda notice: self._on_notice(handle, notice), self._connect_timeout_ms, cause
        )
        return handle

    def _install(self, handle: _Handle, cause: Cause) -> None:
        self._handle = handle
        seq = self.sink.emit(
            EventKind.SESSION_STATE,
            cause,
            state=SessionState.CONNECTED.value,
            session_id=f"0x{self.session.session_id:016x}",
            duration_ms=self.session.timeout_ms,
        )
        if handle.noticed is SessionState.EXPIRED:
            self._start_reinitialization(seq)  # the session expired before open_session returned it

    # --- notices

    def _on_notice(self, handle: _Handle, notice: Notice) -> None:
        match notice:
            case WatchEvent():
                self._on_watch(notice)
            case SessionStateChanged():
                # A CLOSED notice without a cause follows from close() of this client.
                is_our_doing = notice.state is SessionState.CLOSED and notice.cause is None
                self._on_state(handle, notice, self._closed_for if is_our_doing else notice.cause)

    def _on_watch(self, fired: WatchEvent) -> None:
        callback = self._callback_for(fired)
        fields: EventFields = {"path": fired.path, "event": _EVENT_TYPES[fired.kind], "zxid": fired.zxid}
        if callback is None:
            fields["detail"] = "no handler for such a change: dropped"
        seq = self.sink.emit(EventKind.WATCH_FIRED, TransactionRef(fired.zxid, fired.path), **fields)
        if callback:
            callback(seq)

    def _callback_for(self, fired: WatchEvent) -> Callback | None:
        if fired.kind is WatchKind.NODE_CHILDREN_CHANGED:
            return self._child_handlers.get(fired.path)
        handler = self._node_handlers.get(fired.path)
        if handler is None:
            return None
        match fired.kind:
            case WatchKind.NODE_CREATED:
                return handler.created
            case WatchKind.NODE_DELETED:
                return handler.deleted
            case WatchKind.NODE_DATA_CHANGED:
                return handler.data_changed

    def _on_state(self, handle: _Handle, changed: SessionStateChanged, cause: Cause) -> None:
        handle.noticed = changed.state
        # Wake all waiting tasks; a task whose condition is still false waits again.
        awaited, handle.changed = handle.changed, self.runtime.promise()
        if handle.session is not None:
            seq = self.sink.emit(
                EventKind.SESSION_STATE,
                cause,
                state=changed.state.value,
                session_id=f"0x{handle.session.session_id:016x}",
                duration_ms=handle.session.timeout_ms,
            )
            if changed.state is SessionState.EXPIRED and handle is self._handle:
                self._start_reinitialization(seq)
        awaited.resolve(None)

    # --- a new session after expiry

    def register_session_handler(self, name: str, handler: SessionHandler) -> None:
        self._session_handlers[name] = handler

    def unregister_session_handler(self, name: str) -> None:
        self._session_handlers.pop(name, None)

    def _start_reinitialization(self, expired: int) -> None:
        if self._is_closed:
            return
        # No further controller event may be processed as if the session were still alive: therefore this part runs
        # synchronously, within the notice.
        handlers = list(self._session_handlers.values())
        begun = [h.before_new_session(expired) for h in handlers if h.before_new_session]
        self._reinitialization = self.runtime.spawn(
            "zk-session-expiry-handler", self._reinitialize(expired, [b for b in begun if b is not None])
        )

    async def _reinitialize(self, expired: int, begun: list[Begun]) -> None:
        for what in begun:
            await what.wait_until_begun()
        handle = await self._open_at_last(expired)
        self._install(handle, expired)
        for handler in list(self._session_handlers.values()):
            if handler.after_new_session:
                handler.after_new_session(expired)

    async def _open_at_last(self, cause: Cause) -> _Handle:
        while True:
            try:
                return await self._open(cause)
            except ZooKeeperUnavailableError:
                await self.runtime.sleep_ms(RECONNECT_INTERVAL_MS)

    # --- handlers

    def register_node_handler(self, path: str, handler: NodeHandler) -> None:
        """Handle changes of a znode from its next read on. Replaces an earlier handler. Sends no request to ZooKeeper."""
        self._node_handlers[path] = handler

    def unregister_node_handler(self, path: str) -> None:
        """Remove the handler of a znode; a watch that is armed already may still fire, and its event is dropped."""
        self._node_handlers.pop(path, None)

    def register_child_handler(self, path: str, callback: Callback) -> None:
        """Call `callback` when children are created or deleted, from the next GetChildren with `watch` on.

        Replaces an earlier callback for the path.
        """
        self._child_handlers[path] = callback

    def unregister_child_handler(self, path: str) -> None:
        self._child_handlers.pop(path, None)

    async def register_and_check_existence(self, path: str, handler: NodeHandler, cause: Cause = None) -> bool:
        """Register a handler and return whether the znode exists, which arms the watch. Raises: as check_existence."""
        self.register_node_handler(path, handler)
        return await self.check_existence(path, cause)

    # --- requests

    async def check_existence(self, path: str, cause: Cause = None) -> bool:
        """Return whether a znode exists. Raises: ZooKeeperError, ZooKeeperClientExpiredError."""
        reply = (await self.request([Exists(path)], cause))[0]
        if isinstance(reply, NoNodeError):
            return False
        if isinstance(reply, ZooKeeperError):
            raise reply
        assert isinstance(reply, NodeFound)
        return True

    async def read_data(self, paths: Iterable[str], cause: Cause = None) -> list[DataRead | ZooKeeperError]:
        """Read many small znodes; return the data or the error of each, in order.

        Znodes with a handler are read one by one, because a MultiRead cannot arm watches; all others are read in MultiReads.

        Raises: ZooKeeperClientExpiredError; a ZooKeeperError that concerns a whole MultiRead.
        """
        wanted = list(paths)
        watched = [path for path in wanted if path in self._node_handlers]
        others = iter([path for path in wanted if path not in self._node_handlers])
        requests: list[Request] = [GetData(path) for path in watched]
        while batch := tuple(GetData(path) for path in islice(others, MULTI_READ_PATHS)):
            requests.append(MultiRead(batch))
        replies = await self.request(requests, cause)
        found = {path: _data_read(reply) for path, reply in zip(watched, replies, strict=False)}
        for request, reply in zip(requests[len(watched) :], replies[len(watched) :], strict=True):
            if isinstance(reply, ZooKeeperError):
                raise reply
            assert isinstance(request, MultiRead)
            assert isinstance(reply, MultiReadDone)
            for op, result in zip(request.ops, reply.results, strict=True):
                found[op.path] = _data_read(result)
        return [found[path] for path in wanted]

    async def request(self, requests: Sequence[Request], cause: Cause = None) -> list[ReplyOrError]:
        """Send requests, pipelined and in order, and return an answer for each.

        Requests whose answer is lost with the connection are sent again, without limit, once there is a connection: a write
        may be refused because its first attempt was applied. All other errors, SessionExpiredError included, are elements of
        the list.

        Args:
            requests: the `watch` of reads is set here: from the registered handlers, for GetChildren also from its own flag.

        Raises: ZooKeeperClientExpiredError when the session ends while requests wait to be sent again.
        """
        if not requests:
            return []
        handle, session = self._handle, self.session
        replies, refused = await self._call(session, requests, cause)
        while unanswered := [i for i, reply in enumerate(replies) if isinstance(reply, ConnectionLossError)]:
            pending = [requests[i] for i in unanswered]
            cause = cause if refused is None else refused
            try:
                await self._wait_until_connected(handle)
            except ZooKeeperClientExpiredError:
                write_given_up(self.sink, pending, cause)
                raise
            answers, refused = await self._call(session, pending, cause)
            for i, answer in zip(unanswered, answers, strict=True):
                replies[i] = answer
        return replies

    async def _call(
        self, session: Session, requests: Sequence[Request], cause: Cause
    ) -> tuple[list[ReplyOrError], int | None]:
        """Send requests once. Return the answers, and the seq of the last refusal, if any."""
        batch = [self._with_watch(request) for request in requests]
        begun = write_begun(self.sink, batch, cause)
        answers = await session.call(batch, cause if begun is None else begun)
        return answers, write_answered(self.sink, batch, answers, begun)

    def _with_watch(self, request: Request) -> Request:
        match request:
            case Exists() | GetData():
                wanted = request.path in self._node_handlers
            case GetChildren():
                wanted = request.watch and request.path in self._child_handlers
            case _:
                return request
        return request if wanted == request.watch else type(request)(request.path, wanted)

    async def _wait_until_connected(self, handle: _Handle) -> None:
        assert handle.session is not None
        while (state := handle.session.state) in (SessionState.CONNECTING, SessionState.SUSPENDED):
            await handle.changed.wait()
        if state is not SessionState.CONNECTED:
            raise ZooKeeperClientExpiredError("Session expired either before or while waiting for connection")


def _data_read(reply: ReplyOrError) -> DataRead | ZooKeeperError:
    assert isinstance(reply, DataRead | ZooKeeperError)
    return reply


_EVENT_TYPES = {
    WatchKind.NODE_CREATED: "NodeCreated",
    WatchKind.NODE_DELETED: "NodeDeleted",
    WatchKind.NODE_DATA_CHANGED: "NodeDataChanged",
    WatchKind.NODE_CHILDREN_CHANGED: "NodeChildrenChanged",
}
