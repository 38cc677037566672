"""A follower's side of replication: one fetcher for each leader, which asks for all the partitions that it leads.

A fetch that finds nothing waits at the leader, so an idle cluster is quiet: while the logs are empty for half of the socket
time-out, and for replica.fetch.wait.max.ms once any of them holds records. Kafka waits no longer than the latter, which with
empty logs makes no difference that anybody could see. When partitions join or leave, the fetch under way is given up and
all are fetched anew; Kafka lets it come to its end. What Kafka needs before it fetches a partition for the first time (a
thread, a connection, a log on disk, the leader's epochs) is a constant time here.

Left out until logs hold records: truncation, appending, offsets out of range. Source: Kafka 2.8, AbstractFetcherThread,
ReplicaFetcherManager; reference requests.md 7.1.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.ports import Connection, Network
from kcsim.brokers.requests import FetchPartition, FetchRequest, FetchResponse
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import ErrorCode
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventKind
from kcsim.zk.ports import EventSink, Mailbox, Runtime, Task
from kcsim.zk.vocabulary import BrokerId, TopicPartition

FIRST_FETCH_AFTER_MS = 50
"""From becoming a follower to the first fetch. Recorded: 5 to 240 ms until it is in the ISR (reference requests.md 6.2)."""
NAMED_AT_MOST = 5
"""Partitions that an event names one by one."""


@dataclass(frozen=True, slots=True, order=True)
class LeaderEndpoint:
    """A leader, and where it is reached."""

    broker_id: BrokerId
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of a fetch; no response when the leader could not be reached, or said nothing in time."""

    request: FetchRequest
    response: FetchResponse | None


class ReplicaFetcher:
    """Fetches from one leader, until it is closed."""

    def __init__(
        self,
        broker_id: BrokerId,
        leader: LeaderEndpoint,
        runtime: Runtime,
        network: Network,
        sink: EventSink,
        config: BrokerConfig,
    ) -> None:
        self._broker_id = broker_id
        self._leader = leader
        self._runtime = runtime
        self._network = network
        self._sink = sink
        self._config = config
        self._partitions: dict[TopicPartition, FetchPartition] = {}
        self._delayed_until_ms: dict[TopicPartition, int] = {}
        self._request: FetchRequest | None = None  # what is to be asked now; None: to be made anew
        self._under_way: FetchRequest | None = None
        self._sender: Task | None = None
        self._connection: Connection | None = None
        self._inbox: Mailbox[_Answer | None] = runtime.mailbox()  # None: look again
        self._task = runtime.spawn(f"ReplicaFetcherThread-0-{leader.broker_id}", self._run())

    @property
    def partitions(self) -> Mapping[TopicPartition, FetchPartition]:
        """Read only; those that wait for their back-off to pass included."""
        return self._partitions

    def add(self, partitions: Mapping[TopicPartition, FetchPartition]) -> None:
        """Fetch these too, from where they say, in a moment; forget what was known of them."""
        self._partitions.update(partitions)
        self._delay(partitions, FIRST_FETCH_AFTER_MS)
        self._inbox.put(None)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch these no more."""
        gone = [tp for tp in partitions if self._partitions.pop(tp, None) is not None]
        if gone:
            for tp in gone:
                self._delayed_until_ms.pop(tp, None)
            self._ask_no_more(gone)
            self._inbox.put(None)

    def close(self) -> None:
        """Stop fetching. A request under way is not heard of again."""
        self._task.kill()
        self._give_up()

    def _ask_no_more(self, partitions: Iterable[TopicPartition]) -> None:
        """The request must be made anew if it asks for any of these."""
        asked = self._request.partitions if self._request is not None else {}
        if any(tp in asked for tp in partitions):
            self._request = None

    # --- the loop

    async def _run(self) -> None:
        while True:
            self._end_delays()
            self._make_request()
            if self._request is not self._under_way:
                self._give_up()
                self._send()
            try:
                answer = await self._inbox.get(self._next_retry_in_ms())
            except TimedOutError:
                continue
            if answer is not None and answer.request is self._under_way:
                self._under_way = self._sender = None
                self._process(answer)

    def _end_delays(self) -> None:
        now_ms = self._runtime.now_ms()
        due = [tp for tp, until_ms in self._delayed_until_ms.items() if until_ms <= now_ms]
        for tp in due:
            del self._delayed_until_ms[tp]
        if due:
            self._request = None

    def _next_retry_in_ms(self) -> int | None:
        if not self._delayed_until_ms:
            return None
        return max(0, min(self._delayed_until_ms.values()) - self._runtime.now_ms())

    def _make_request(self) -> None:
        """Make it anew only if something has changed: sent again as it is, it spares the leader a look at each partition."""
        if self._request is not None:
            return
        wanted = {tp: fetch for tp, fetch in self._partitions.items() if tp not in self._delayed_until_ms}
        if wanted:
            self._request = FetchRequest(self._broker_id, self._max_wait_ms(wanted), wanted)

    def _max_wait_ms(self, wanted: Mapping[TopicPartition, FetchPartition]) -> int:
        is_any_record_there = any(fetch.fetch_offset for fetch in wanted.values())
        longest_ms = self._config.replica_socket_timeout_ms // 2
        return min(longest_ms, self._config.replica_fetch_wait_max_ms) if is_any_record_there else longest_ms

    # --- asking

    def _send(self) -> None:
        if self._request is not None:
            self._under_way = self._request
            self._sender = self._runtime.spawn(f"fetch from {self._leader.broker_id}", self._ask(self._request))

    async def _ask(self, request: FetchRequest) -> None:
        timeout_ms = self._config.replica_socket_timeout_ms
        newest = max(fetch.cause for fetch in request.partitions.values())
        response: FetchResponse | None = None
        try:
            if self._connection is None:
                self._connection = await self._network.connect(self._leader.host, self._leader.port, timeout_ms)
            response = await self._connection.send(request, timeout_ms, newest)
        except (BrokerConnectionError, TimedOutError):
            self._disconnect()
        self._inbox.put(_Answer(request, response))

    def _give_up(self) -> None:
        """Hear no more of the fetch under way. Its answer may be on its way, so the connection goes with it."""
        if self._sender is not None:
            self._sender.kill()
            self._disconnect()
        self._under_way = self._sender = None

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- answers

    def _process(self, answer: _Answer) -> None:
        asked, backoff_ms = answer.request.partitions, self._config.replica_fetch_backoff_ms
        if answer.response is None:
            self._delay([tp for tp, fetch in asked.items() if self._partitions.get(tp) is fetch], backoff_ms)
            return
        # Only what still stands as it was asked: a partition added anew meanwhile has another epoch.
        errors = {tp: e for tp, e in answer.response.partition_errors.items() if self._partitions.get(tp) is asked[tp]}
        fenced = [tp for tp, error in errors.items() if error is ErrorCode.FENCED_LEADER_EPOCH]
        self._delay([tp for tp in errors if tp not in fenced], backoff_ms)
        if fenced:
            self._fail(fenced)

    def _delay(self, partitions: Collection[TopicPartition], delay_ms: int) -> None:
        until_ms = self._runtime.now_ms() + delay_ms
        self._delayed_until_ms.update(dict.fromkeys(partitions, until_ms))
        self._ask_no_more(partitions)

    def _fail(self, fenced: list[TopicPartition]) -> None:
        """The leader is in a later epoch: nothing is to be had before the controller tells this broker of it."""
        named = ", ".join(map(str, fenced[:NAMED_AT_MOST]))
        more = f" and {len(fenced) - NAMED_AT_MOST} more" if len(fenced) > NAMED_AT_MOST else ""
        self._sink.emit(
            EventKind.REQUEST_REFUSED,
            self._partitions[fenced[-1]].cause,
            event="Fetch",
            broker_id=self._leader.broker_id,
            count=len(fenced),
            error=ErrorCode.FENCED_LEADER_EPOCH.name,
            detail=f"no longer fetched until the next LeaderAndIsr: {named}{more}",
        )
        for tp in fenced:
            del self._partitions[tp]
        self._ask_no_more(fenced)


class ReplicaFetcherManager:
    """The fetchers of one broker. A partition is in one of them at most."""

    def __init__(
        self, broker_id: BrokerId, runtime: Runtime, network: Network, sink: EventSink, config: BrokerConfig
    ) -> None:
        self._broker_id = broker_id
        self._runtime = runtime
        self._network = network
        self._sink = sink
        self._config = config
        self.fetchers: dict[LeaderEndpoint, ReplicaFetcher] = {}

    def add(self, wanted: Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]) -> None:
        """Fetch these partitions from these leaders; those of them that are fetched already are to be removed before."""
        for leader, partitions in wanted.items():
            if leader not in self.fetchers:
                self.fetchers[leader] = ReplicaFetcher(
                    self._broker_id, leader, self._runtime, self._network, self._sink, self._config
                )
            self.fetchers[leader].add(partitions)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        gone = list(partitions)
        for fetcher in self.fetchers.values():
            fetcher.remove(gone)

    def shutdown_idle(self) -> None:
        """End the fetchers that have nothing left to fetch."""
        for leader, fetcher in list(self.fetchers.items()):
            if not fetcher.partitions:
                fetcher.close()
                del self.fetchers[leader]

    def close(self) -> None:
        for fetcher in self.fetchers.values():
            fetcher.close()
        self.fetchers.clear()
