"""Brokers with scripted reactions: a Transport for tests of senders."""

from collections import deque
from collections.abc import Mapping
from enum import Enum

from kcsim.controller.channels.request_descriptions import name_of_request
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StateChangeRequest,
    StateChangeResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Runtime

Address = tuple[str, int]


class Does(Enum):
    """Reactions of a broker other than an answer."""

    REFUSES = "refuses"
    HANGS_UP = "hangs up"
    KEEPS_SILENT = "keeps silent"


Reaction = StateChangeResponse | Does | int
"""Reaction to a request: this answer, none, or success after this many milliseconds."""


class ScriptedBrokers:
    """Transport whose ports are brokers that accept connections and answer success at once, unless scripted otherwise.

    Attributes:
        to_connect, to_request: per port, the reactions in place of that, in order.
        journal: what was done to the brokers: (ms, port, what).
        got: per port, the requests that arrived, unchanged.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.to_connect: dict[int, deque[Does]] = {}
        self.to_request: dict[int, deque[Reaction]] = {}
        self.journal: list[tuple[int, int, str]] = []
        self.got: dict[int, list[StateChangeRequest]] = {}
        self.causes: list[int] = []
        self.open: list[ScriptedConnection] = []
        self.runtime = runtime

    def script(self, port: int, to_connect: tuple[Does, ...] = (), to_request: tuple[Reaction, ...] = ()) -> None:
        self.to_connect[port] = deque(to_connect)
        self.to_request[port] = deque(to_request)

    def note(self, port: int, what: str) -> None:
        self.journal.append((self.runtime.now_ms(), port, what))

    def journal_of(self, port: int) -> list[str]:
        """Return the journal of one broker, without the times."""
        return [what for _, at, what in self.journal if at == port]

    def times(self, what: str) -> list[int]:
        return [at_ms for at_ms, _, done in self.journal if done == what]

    async def connect(self, host: str, port: int, timeout_ms: int) -> "ScriptedConnection":
        self.note(port, "connect")
        script = self.to_connect.get(port)
        match script.popleft() if script else None:
            case Does.KEEPS_SILENT:
                await self.runtime.sleep_ms(timeout_ms)
                raise TimedOutError(f"{host}:{port}: no answer within {timeout_ms} ms")
            case None:
                connection = ScriptedConnection(self, port)
                self.open.append(connection)
                return connection
            case _:
                raise BrokerConnectionError(f"{host}:{port}: connection refused")


class ScriptedConnection:
    """The Connection port."""

    def __init__(self, brokers: ScriptedBrokers, port: int) -> None:
        self.is_open = True
        self._brokers = brokers
        self._port = port

    async def send(self, request: StateChangeRequest, timeout_ms: int, cause: int) -> StateChangeResponse:
        self._brokers.note(self._port, name_of_request(request))
        self._brokers.got.setdefault(self._port, []).append(request)
        self._brokers.causes.append(cause)
        script = self._brokers.to_request.get(self._port)
        reaction: Reaction = script.popleft() if script else 0
        if reaction is Does.KEEPS_SILENT:
            await self._brokers.runtime.sleep_ms(timeout_ms)
            raise TimedOutError(f"no answer within {timeout_ms} ms")
        if isinstance(reaction, Does):
            raise BrokerConnectionError("the connection was broken")
        if isinstance(reaction, int):
            await self._brokers.runtime.sleep_ms(reaction)
            return SUCCESS[type(request)]
        return reaction

    def close(self) -> None:
        self._brokers.note(self._port, "close")
        self.is_open = False
        self._brokers.open.remove(self)


SUCCESS: Mapping[type, StateChangeResponse] = {
    LeaderAndIsrRequest: LeaderAndIsrResponse(),
    UpdateMetadataRequest: UpdateMetadataResponse(),
    StopReplicaRequest: StopReplicaResponse(),
}
