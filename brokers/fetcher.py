"""A follower's side of replication: a fetcher for one leader, which asks for all the partitions that it leads.

Each partition is first made to agree with the leader's log, then fetched. A fetch that finds nothing waits at the leader, so
an idle cluster is quiet: while the logs are empty for half of the socket time-out, and for replica.fetch.wait.max.ms once
any of them holds records. Kafka waits no longer than the latter, which with empty logs makes no difference that anybody
could see. When partitions join or leave, the fetch under way is given up and all are fetched anew; Kafka lets it come to its
end. What Kafka needs before it fetches a partition for the first time (a thread, a connection, a log on disk) is a constant
time here.

Source: Kafka 2.8, AbstractFetcherThread; reference requests.md 7.1 to 7.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.fetch_pace import FetchPace
from kcsim.brokers.fetch_progress import Answered, Asked, FetchProgress
from kcsim.brokers.followed_logs import FollowedLogs
from kcsim.brokers.ports import Connection, Network
from kcsim.brokers.requests import FetchPartition, FetchRequest
from kcsim.controller.ports import BrokerConnectionError
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventKind
from kcsim.zk.ports import EventSink, Mailbox, Runtime, Task
from kcsim.zk.vocabulary import BrokerId, TopicPartition
from kcsim.zk.wording import named

FIRST_FETCH_AFTER_MS = 50
"""From becoming a follower to the first fetch. Recorded: 5 to 240 ms until it is in the ISR (reference requests.md 6.2)."""


@dataclass(frozen=True, slots=True, order=True)
class LeaderEndpoint:
    """A leader, and where it is reached."""

    broker_id: BrokerId
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of a request; no response when the leader could not be reached, or said nothing in time."""

    request: Asked
    response: Answered | None


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
        logs: FollowedLogs,
        pace: FetchPace,
    ) -> None:
        self._leader = leader
        self._runtime = runtime
        self._network = network
        self._sink = sink
        self._config = config
        self._pace = pace
        self._progress = FetchProgress(broker_id, leader.broker_id, config, logs)
        self._under_way: Asked | None = None
        self._sender: Task | None = None
        self._connection: Connection | None = None
        self._is_session_new = True  # the leader's memory of what it has told may be of what never arrived
        self._inbox: Mailbox[_Answer | None] = runtime.mailbox()  # None: look again
        self._task = runtime.spawn(f"ReplicaFetcherThread-0-{leader.broker_id}", self._run())

    @property
    def partitions(self) -> Mapping[TopicPartition, FetchPartition]:
        """Read only; those that wait for their back-off to pass included."""
        return self._progress.partitions

    def add(self, partitions: Mapping[TopicPartition, FetchPartition]) -> None:
        """Fetch these too, from where they say, in a moment; forget what was known of them."""
        self._progress.add(partitions, self._runtime.now_ms() + FIRST_FETCH_AFTER_MS)
        self.look_again()

    def remove(self, partitions: Mapping[TopicPartition, object]) -> None:
        """Fetch these no more."""
        if self._progress.remove(partitions):
            self.look_again()

    def look_again(self) -> None:
        """Something has changed about what is to be fetched, or how fast."""
        self._inbox.put(None)

    def close(self) -> None:
        """Stop fetching. A request under way is not heard of again."""
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
        return not self._pace.is_stopped and self._pace.wait_ms() == 0

    def _next_look_in_ms(self, is_held_back: bool) -> int | None:
        """None: nothing is to be done before something happens."""
        waits = [self._pace.wait_ms()] if is_held_back and not self._pace.is_stopped else []
        next_due_ms = self._progress.next_due_ms()
        if next_due_ms is not None:
            waits.append(max(0, next_due_ms - self._runtime.now_ms()))
        return min(waits, default=None)

    # --- asking

    def _send(self, request: Asked) -> None:
        if self._is_session_new and isinstance(request, FetchRequest):
            self._is_session_new = False
            request = self._progress.sent_anew(replace(request, is_full=True))
        self._under_way = request
        newest = max(self.partitions[tp].cause for tp in request.partitions)
        self._sender = self._runtime.spawn(f"fetch from {self._leader.broker_id}", self._ask(request, newest))

    async def _ask(self, request: Asked, cause: int) -> None:
        timeout_ms = self._config.replica_socket_timeout_ms
        response: Answered | None = None
        try:
            if self._connection is None:
                self._connection = await self._network.connect(self._leader.host, self._leader.port, timeout_ms)
            response = await self._connection.send(request, timeout_ms, cause)
        except (BrokerConnectionError, TimedOutError):
            self._disconnect()
        self._inbox.put(_Answer(request, response))

    def _give_up(self) -> None:
        """Hear no more of the request under way. Its answer may be on its way, so the connection goes with it."""
        if self._sender is not None:
            self._sender.kill()
            self._disconnect()
        self._under_way = self._sender = None

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._is_session_new = True
        if connection is not None:
            connection.close()

    # --- answers

    def _process(self, answer: _Answer) -> None:
        retry_at_ms = self._runtime.now_ms() + self._config.replica_fetch_backoff_ms
        if answer.response is None:
            self._progress.unanswered(answer.request, retry_at_ms)
            return
        outcome = self._progress.process(answer.request, answer.response, self._pace.allowance(), retry_at_ms)
        self._pace.took(outcome.records)
        for why, failed in outcome.failed.items():
            self._tell_failed(why, failed)

    def _tell_failed(self, why: str, failed: Mapping[TopicPartition, int]) -> None:
        """The leader is in a later epoch, or its records do not fit: nothing is to be had until the controller decides."""
        self._sink.emit(
            EventKind.REQUEST_REFUSED,
            list(failed.values())[-1],
            event="Fetch",
            broker_id=self._leader.broker_id,
            count=len(failed),
            error=why,
            detail=f"no longer fetched until the next LeaderAndIsr: {named(failed)}",
        )
