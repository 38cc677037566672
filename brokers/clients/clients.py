"""The client of the cluster inside producers and consumers: metadata about leaders, and connections to brokers.

A client starts from a few addresses and gets the rest by requesting metadata from any broker, as Kafka's clients do. The
latest metadata counts until it proves outdated: by a response that reports so, by a connection that breaks, or by a call of
`forget`. A connection carries one request at a time; requests that must not wait for each other use two channels.

Source: Kafka 2.8, NetworkClient and Metadata. Left out: metadata.max.age.ms, one metadata request shared by several callers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kcsim.brokers.ports import BrokerConnection, Network
from kcsim.brokers.requests import MetadataRequest, MetadataResponse
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.runtime.lock import Lock
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import BrokerId, TopicPartition

Address = tuple[str, int]
"""Host and port."""

UNREACHABLE = (BrokerConnectionError, TimedOutError)
"""The errors of an unanswered request. The request may or may not have been processed."""


class ClientProcess(Runtime, Protocol):
    """The process that a client runs in: its time and tasks, and its place in the network."""

    @property
    def network(self) -> Network: ...


class LeaderUnknownError(Exception):
    """No leader of the partition is known; `error` is what a broker reported about the partition."""

    def __init__(self, tp: TopicPartition, error: ErrorCode) -> None:
        super().__init__(f"{tp}: {error.name}")
        self.tp, self.error = tp, error


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Settings of a client, under Kafka's names and with Kafka's defaults."""

    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100


class ClusterClient:
    """A client of the cluster.

    Args:
        bootstrap: the addresses to ask first, in this order.
        topics: the topics to request metadata of; topics whose leaders are looked up are added.

    Attributes:
        metadata: the latest metadata from a broker; None before the first response.
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

    # --- metadata

    async def refresh(self, cause: int) -> MetadataResponse:
        """Request metadata from any broker. Raises: BrokerConnectionError when none can be reached."""
        topics = tuple(self._topics) or None
        response: MetadataResponse = await self.any_broker(MetadataRequest(topics), cause)
        self.metadata = response
        self._disbelieved.clear()
        return response

    async def leader_of(self, tp: TopicPartition, cause: int) -> BrokerId:
        """Return a partition's leader by the latest metadata; request metadata if it is unknown or was forgotten.

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
        partition = self.metadata.partitions.get(tp)
        raise LeaderUnknownError(tp, partition.error if partition else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def known_leader(self, tp: TopicPartition) -> BrokerId | None:
        """Return a partition's leader by the latest metadata, or None if it is unknown or was forgotten."""
        if self.metadata is None or tp in self._disbelieved:
            return None
        partition = self.metadata.partitions.get(tp)
        if partition is None or partition.leader not in self.metadata.brokers:
            return None
        return partition.leader

    def forget(self, tp: TopicPartition) -> None:
        """Forget a partition's leader, which proved wrong: the next lookup requests metadata."""
        self._disbelieved.add(tp)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic by the latest metadata, sorted."""
        partitions: Mapping[TopicPartition, object] = self.metadata.partitions if self.metadata else {}
        return sorted(tp for tp in partitions if tp.topic == topic)

    # --- requests

    async def send_to_leader(
        self, tp: TopicPartition, request: Any, cause: int, channel: str = "", timeout_ms: int | None = None
    ) -> Any:
        """Send a request to a partition's leader; forget the leader if it cannot be reached.

        Raises: LeaderUnknownError, BrokerConnectionError, TimedOutError; after the latter two the request may have been
        processed.
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
            timeout_ms: how long to wait for the response; None: request.timeout.ms.

        Raises: BrokerConnectionError, TimedOutError.
        """
        known = self.metadata.brokers if self.metadata else {}
        if broker not in known:
            raise BrokerConnectionError(f"broker {broker} is not among those known: {sorted(known)}")
        endpoint = known[broker]
        return await self._send((endpoint.host, endpoint.port), request, cause, channel, timeout_ms)

    async def any_broker(self, request: Any, cause: int) -> Any:
        """Send a request to the first broker that answers: the one that answered last, then those known, then bootstrap.

        Raises: BrokerConnectionError with the last failure, when no broker can be reached.
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
        """Close all connections; responses to requests in flight are not received any more."""
        for connection in self._connections.values():
            connection.close()


class _Channel:
    """A connection that is opened on first use, and again after it broke. It carries one request at a time."""

    def __init__(self, process: ClientProcess, address: Address) -> None:
        self._process = process
        self._address = address
        self._lock = Lock(process)
        self._connection: BrokerConnection | None = None

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        async with self._lock:
            try:
                if self._connection is None or not self._connection.is_open:
                    self._connection = await self._process.network.connect(*self._address, timeout_ms)
                return await self._connection.send(request, timeout_ms, cause)
            except UNREACHABLE:
                # After a time-out the response may still come: the connection is closed with it, as in Kafka's clients.
                self.close()
                raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def is_about_leadership(error: ErrorCode) -> bool:
    """Return True if an error means that the known leader is wrong: request metadata, then try again."""
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
