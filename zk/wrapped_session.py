"""A ZooKeeper session that forwards every call to another session; subclasses override single methods."""

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId
from kcsim.zk.operations import ReplyOrError, Request, SessionState
from kcsim.zk.ports import FaultableSession


class WrappedSession:
    """The FaultableSession port, forwarded to `inner`."""

    def __init__(self, inner: FaultableSession) -> None:
        self.inner = inner

    @property
    def session_id(self) -> SessionId:
        return self.inner.session_id

    @property
    def password(self) -> bytes:
        return self.inner.password

    @property
    def timeout_ms(self) -> int:
        return self.inner.timeout_ms

    @property
    def state(self) -> SessionState:
        return self.inner.state

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        return await self.inner.call(requests, cause)

    async def close(self, cause: Cause = None) -> None:
        await self.inner.close(cause)

    async def expire(self, cause: int | None = None) -> None:
        await self.inner.expire(cause)

    async def cut(self, cause: int | None = None) -> None:
        await self.inner.cut(cause)

    def refuse_connections(self, cause: int | None = None) -> None:
        self.inner.refuse_connections(cause)

    def allow_connections(self) -> None:
        self.inner.allow_connections()

    def freeze(self, cause: int | None = None) -> None:
        self.inner.freeze(cause)

    def thaw(self, cause: int | None = None) -> None:
        self.inner.thaw(cause)

    def abandon(self, cause: int | None = None) -> None:
        self.inner.abandon(cause)
