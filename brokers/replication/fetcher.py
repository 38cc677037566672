"""A follower's side of replication: a fetcher for one leader, for all partitions that the leader leads.

Each partition is first truncated to agree with the leader's log, then fetched. A fetch that finds nothing waits at the
leader, so an idle cluster is quiet: while the logs are empty for half of the socket time-out, and for
replica.fetch.wait.max.ms once any of them holds records. Kafka never waits longer than the latter, which makes no visible
difference with empty logs. When partitions are added or removed, the fetch under way is abandoned and all partitions are
fetched again; Kafka lets that fetch complete. What Kafka needs before it fetches a partition for the first time (a thread, a
connection, a log on disk) is a constant delay here.

Source: Kafka 2.8, AbstractFetcherThread; docs/kafka/requests.md 7.1 to 7.3.
"""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.ports import BrokerConnection, BrokerPorts
from kcsim.brokers.replication.fetch_progress import FetcherRequest, FetcherResponse, FetchProgress
from kcsim.brokers.replication.follower_logs import FollowerLogs
from kcsim.brokers.replication.replication_throttle import ReplicationThrottle
from kcsim.brokers.requests import FetchPartition, FetchRequest
from kcsim.controller.ports import BrokerConnectionError
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.runtime.ports import Mailbox, Task
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId, TopicPartition

FIRST_FETCH_AFTER_MS = 50
"""Delay between becoming a follower and the first fetch.

Recorded: 5 to 240 ms until the follower is in the ISR (docs/kafka/requests.md 6.2).
"""


class LeaderEndpoint(msgspec.Struct, frozen=True, order=True):
    """A leader and its endpoint."""

    broker_id: BrokerId
    host: str
    port: int


class _Answer(msgspec.Struct, frozen=True):
    """A request with its response; None when the leader could not be reached or did not answer in time."""

    request: FetcherRequest
    response: FetcherResponse | None


class ReplicaFetcher:
    """Fetches from one leader, until it is closed."""

    def __init__(
        self,
        broker_id: BrokerId,
        leader: LeaderEndpoint,
        ports: BrokerPorts,
        config: BrokerConfig,
        logs: FollowerLogs,
        throttle: ReplicationThrottle,
    ) -> None:
        self._leader = leader
        self._runtime = runtime = ports.runtime
        self._transport = ports.replication
        self._sink = ports.sink
        self._config = config
        self._throttle = throttle
        self._progress = FetchProgress(broker_id, leader.broker_id, config, logs)
        self._under_way: FetcherRequest | None = None
        self._sender: Task | None = None
        self._connection: BrokerConnection | None = None
        self._is_session_new = True  # earlier responses that the leader counts as sent may not have arrived
        self._inbox: Mailbox[_Answer | None] = runtime.mailbox()  # None: the fetcher's work has changed
        self._task = runtime.spawn(f"ReplicaFetcherThread-0-{leader.broker_id}", self._run())

    @property
    def partitions(self) -> Mapping[TopicPartition, FetchPartition]:
        """The partitions of this fetcher, including those in back-off; read only."""
        return self._progress.partitions

    def add(self, partitions: Mapping[TopicPartition, FetchPartition]) -> None:
        """Fetch these partitions too, from their fetch offsets, after a short delay; drop their earlier state."""
        self._progress.add(partitions, self._runtime.now_ms() + FIRST_FETCH_AFTER_MS)
        self.look_again()

    def remove(self, partitions: Mapping[TopicPartition, object]) -> None:
        """Stop fetching these partitions."""
        if self._progress.remove(partitions):
            self.look_again()

    def look_again(self) -> None:
        """Wake the fetcher after a change of its partitions or of the throttle."""
        self._inbox.put(None)

    def close(self) -> None:
        """Stop fetching. The response to a request under way is ignored."""
        self._task.kill()
        self._give_up()

    # --- the loop

    async def _run(self) -> None:
        while True:
            wanted = self._progress.next_request(self._runtime.now_ms())
            if wanted is not self._under_way:
                self._give_up()
                if wanted is not None and self._is_free():
                    self._send(wanted)
            try:
                is_held_back = wanted is not None and self._under_way is None
                answer = await self._inbox.get(self._next_look_in_ms(is_held_back))
            except TimedOutError:
                continue
            if answer is not None and answer.request is self._under_way:
                self._under_way = self._sender = None
                self._process(answer)

    def _is_free(self) -> bool:
        return not self._throttle.is_stopped and self._throttle.wait_ms() == 0

    def _next_look_in_ms(self, is_held_back: bool) -> int | None:
        """Return the time until the next action; None: only an event causes one."""
        waits = [self._throttle.wait_ms()] if is_held_back and not self._throttle.is_stopped else []
        next_due_ms = self._progress.next_due_ms()
        if next_due_ms is not None:
            waits.append(max(0, next_due_ms - self._runtime.now_ms()))
        return min(waits, default=None)

    # --- requests

    def _send(self, request: FetcherRequest) -> None:
        if self._is_session_new and isinstance(request, FetchRequest):
            self._is_session_new = False
            request = self._progress.sent_anew(replace(request, is_full=True))
        self._under_way = request
        newest = max(self.partitions[tp].cause for tp in request.partitions)
        self._sender = self._runtime.spawn(f"fetch from {self._leader.broker_id}", self._ask(request, newest))

    async def _ask(self, request: FetcherRequest, cause: int) -> None:
        timeout_ms = self._config.replica_socket_timeout_ms
        response: FetcherResponse | None = None
        try:
            if self._connection is None:
                self._connection = await self._transport.connect(self._leader.host, self._leader.port, timeout_ms)
            response = await self._connection.send(request, timeout_ms, cause)
        except (BrokerConnectionError, TimedOutError):
            self._disconnect()
        self._inbox.put(_Answer(request, response))

    def _give_up(self) -> None:
        """Abandon the request under way. Its response may still arrive, so the connection is closed too."""
        if self._sender is not None:
            self._sender.kill()
            self._disconnect()
        self._under_way = self._sender = None

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._is_session_new = True
        if connection is not None:
            connection.close()

    # --- responses

    def _process(self, answer: _Answer) -> None:
        retry_at_ms = self._runtime.now_ms() + self._config.replica_fetch_backoff_ms
        if answer.response is None:
            self._progress.unanswered(answer.request, retry_at_ms)
            return
        outcome = self._progress.process(answer.request, answer.response, self._throttle.allowance(), retry_at_ms)
        self._throttle.took(outcome.records)
        for why, failed in outcome.failed.items():
            self._emit_failed(why, failed)

    def _emit_failed(self, why: str, failed: Mapping[TopicPartition, int]) -> None:
        """Report partitions that cannot be fetched until the next LeaderAndIsr.

        The leader is in a later epoch, or its records do not fit the log.
        """
        self._sink.emit(
            EventKind.REQUEST_REFUSED,
            list(failed.values())[-1],
            event="Fetch",
            broker_id=self._leader.broker_id,
            count=len(failed),
            error=why,
            detail=f"no longer fetched until the next LeaderAndIsr: {summarize(failed)}",
        )
