"""A client of the cluster, as producers and consumers have one inside: who leads what, and connections to brokers.

It starts from a few addresses and learns the rest by asking any broker for metadata, as Kafka's clients do. What a broker
told last is believed until the client is told otherwise: by an answer that says so, by a connection that breaks, or by
whoever calls `forget`. On a connection one request is under way at a time; two things that must not wait for each other
take two channels.

Source: Kafka 2.8, NetworkClient and Metadata. Left out: metadata.max.age.ms, a metadata request under way for several.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kcsim.brokers.lock import Lock
from kcsim.brokers.ports import Connection, Network
from kcsim.brokers.requests import MetadataRequest, MetadataResponse
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import ErrorCode
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Runtime
from kcsim.zk.vocabulary import BrokerId, TopicPartition

Address = tuple[str, int]
"""Host and port."""

UNREACHABLE = (BrokerConnectionError, TimedOutError)
"""What comes of a request that nobody has answered: it may have been done, or not."""


class ClientProcess(Runtime, Protocol):
    """The process that a client runs in: its time and tasks, and its place in the network."""

    @property
    def network(self) -> Network: ...


class LeaderUnknownError(Exception):
    """Nobody is known to lead the partition; `error` is what a broker said of it."""

    def __init__(self, tp: TopicPartition, error: ErrorCode) -> None:
        super().__init__(f"{tp}: {error.name}")
        self.tp, self.error = tp, error


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Settings of a client, under Kafka's names and with Kafka's defaults."""

    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100


class ClusterClient:
    """One client.

    Args:
        bootstrap: where to ask first; tried in this order.
        topics: what metadata is asked for; grows with the topics that are asked about.

    Attributes:
        metadata: what a broker told last; None before the first.
    """

    def __init__(
        self,
        process: ClientProcess,
        bootstrap: Sequence[Address],
        topics: Collection[str] = (),
        config: ClientConfig | None = None,
    ) -> None:
        assert bootstrap, "a client needs an address to begin with"
        self.metadata: MetadataResponse | None = None
        self._process = process
        self._bootstrap = tuple(bootstrap)
        self._topics = dict.fromkeys(topics)
        self._config = config or ClientConfig()
        self._disbelieved: set[TopicPartition] = set()
        self._connections: dict[tuple[Address, str], _Channel] = {}
        self._answered_last: Address | None = None

    # --- who leads what

    async def refresh(self, cause: int) -> MetadataResponse:
        """Ask any broker who leads what. Raises: BrokerConnectionError when none can be reached."""
        topics = tuple(self._topics) or None
        response: MetadataResponse = await self.any_broker(MetadataRequest(topics), cause)
        self.metadata = response
        self._disbelieved.clear()
        return response

    async def leader_of(self, tp: TopicPartition, cause: int) -> BrokerId:
        """Who leads a partition, as a broker told last; asks if nobody has, or it is not believed any more.

        Raises: LeaderUnknownError; BrokerConnectionError when no broker can be reached.
        """
        known = self.known_leader(tp)
        if known is not None:
            return known
        self._topics[tp.topic] = None
        await self.refresh(cause)
        known = self.known_leader(tp)
        if known is not None:
            return known
        assert self.metadata is not None
        told = self.metadata.partitions.get(tp)
        raise LeaderUnknownError(tp, told.error if told else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def known_leader(self, tp: TopicPartition) -> BrokerId | None:
        """Who leads a partition, as far as is known without asking."""
        if self.metadata is None or tp in self._disbelieved:
            return None
        told = self.metadata.partitions.get(tp)
        if told is None or told.leader not in self.metadata.brokers:
            return None
        return told.leader

    def forget(self, tp: TopicPartition) -> None:
        """What is known of a partition's leader has proved wrong: whoever asks next asks a broker."""
        self._disbelieved.add(tp)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic, as a broker told last, sorted."""
        told: Mapping[TopicPartition, object] = self.metadata.partitions if self.metadata else {}
        return sorted(tp for tp in told if tp.topic == topic)

    # --- requests

    async def send_to_leader(
        self, tp: TopicPartition, request: Any, cause: int, channel: str = "", timeout_ms: int | None = None
    ) -> Any:
        """Send a request to who leads a partition; a leader that cannot be reached is forgotten.

        Raises: LeaderUnknownError, BrokerConnectionError, TimedOutError; after the latter two it may have been done.
        """
        leader = await self.leader_of(tp, cause)
        try:
            return await self.send_to(leader, request, cause, channel, timeout_ms)
        except UNREACHABLE:
            self.forget(tp)
            raise

    async def send_to(
        self, broker: BrokerId, request: Any, cause: int, channel: str = "", timeout_ms: int | None = None
    ) -> Any:
        """Send a request to a broker of the metadata.

        Args:
            channel: requests of different channels do not wait for each other.
            timeout_ms: how long to wait for the answer; request.timeout.ms if not given.

        Raises: BrokerConnectionError, TimedOutError.
        """
        known = self.metadata.brokers if self.metadata else {}
        if broker not in known:
            raise BrokerConnectionError(f"broker {broker} is not among those known: {sorted(known)}")
        endpoint = known[broker]
        return await self._send((endpoint.host, endpoint.port), request, cause, channel, timeout_ms)

    async def any_broker(self, request: Any, cause: int) -> Any:
        """Send a request to whichever broker answers: the one that did last, those known, then where it all began.

        Raises: BrokerConnectionError when none can be reached, with what the last one said.
        """
        failures = []
        for address in self._addresses():
            try:
                response = await self._send(address, request, cause, "metadata", None)
            except UNREACHABLE as error:
                failures.append(str(error))
                continue
            self._answered_last = address
            return response
        raise BrokerConnectionError(f"no broker can be reached; of the last: {failures[-1]}")

    def _addresses(self) -> list[Address]:
        last = [self._answered_last] if self._answered_last else []
        brokers = self.metadata.brokers if self.metadata else {}
        known = [(brokers[broker].host, brokers[broker].port) for broker in sorted(brokers)]
        return list(dict.fromkeys([*last, *known, *self._bootstrap]))

    async def _send(self, address: Address, request: Any, cause: int, channel: str, timeout_ms: int | None) -> Any:
        key = (address, channel)
        if key not in self._connections:
            self._connections[key] = _Channel(self._process, address)
        timeout = self._config.request_timeout_ms if timeout_ms is None else timeout_ms
        return await self._connections[key].send(request, timeout, cause)

    def close(self) -> None:
        """Give all connections up; whatever is under way on them is not heard of again."""
        for connection in self._connections.values():
            connection.close()


class _Channel:
    """A connection that is made when it is needed, and anew after it broke. Requests on it wait for each other."""

    def __init__(self, process: ClientProcess, address: Address) -> None:
        self._process = process
        self._address = address
        self._lock = Lock(process)
        self._connection: Connection | None = None

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        async with self._lock:
            try:
                if self._connection is None or not self._connection.is_open:
                    self._connection = await self._process.network.connect(*self._address, timeout_ms)
                return await self._connection.send(request, timeout_ms, cause)
            except UNREACHABLE:
                # After a time-out the answer may still come: the connection goes with it, as in Kafka's clients.
                self.close()
                raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def is_about_leadership(error: ErrorCode) -> bool:
    """Whether an error says that what is known of the partition's leader is wrong: ask for metadata, then try again."""
    return error in _ABOUT_LEADERSHIP


_ABOUT_LEADERSHIP = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
