"""The controller's channels to the brokers: for each broker a queue of requests and a task that sends them one by one.

A request is sent again until it is answered, with no limit of attempts or time. A broker that does not answer blocks its own
queue only. Sending ends when the broker is removed or when the controller's term ends; unanswered requests are lost then. An
error in a response counts as an answer. Left out: control plane listeners, which only change the thread of the broker that
handles these requests, and correlation ids, which nothing reads.

Source: Kafka 2.8, ControllerChannelManager and RequestSendThread; docs/kafka/requests.md 3.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from kcsim.controller.channels.request_descriptions import (
    describe_request,
    name_of_request,
    refusal_fields,
    refusals_in,
)
from kcsim.controller.config import ControllerConfig
from kcsim.controller.ports import BrokerConnectionError, ControllerChannel, Transport
from kcsim.controller.requests import ErrorCode, StateChangeRequest, StateChangeResponse, UpdateMetadataRequest
from kcsim.errors import Killed, TimedOutError
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Promise, Runtime
from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint

RETRY_PAUSE_MS = 100
"""How long a sender waits after a failure before it connects again. Source: Kafka 2.8, RequestSendThread."""

Callback = Callable[[StateChangeResponse, int], None]
"""Called with a response and the seq of its ResponseReceived. The sender calls it, so it must not block."""


class ControllerChannelManager:
    """The senders of one controller; the next term of the controller uses the same object.

    Args:
        transport: the network as the controller's process sees it.
        config: controller.socket.timeout.ms bounds connecting, request.timeout.ms bounds waiting for an answer. The name of
            the inter-broker listener selects one of a broker's endpoints.
    """

    def __init__(self, runtime: Runtime, transport: Transport, sink: EventSink, config: ControllerConfig) -> None:
        self._runtime = runtime
        self._transport = transport
        self._sink = sink
        self._config = config
        self._senders: dict[BrokerId, RequestSendThread] = {}

    def startup(self, brokers: Iterable[BrokerInfo], cause: int) -> None:
        """Open a queue to each of these brokers."""
        for info in brokers:
            self.add_broker(info, cause)

    def add_broker(self, info: BrokerInfo, cause: int) -> None:
        """Open a queue to a broker. An existing queue stays as it is, even if the broker's endpoints have changed.

        A broker without the inter-broker listener gets no queue, and so no request. A RequestAbandoned event records this,
        once here and once for each request. (In Kafka the controller event fails then.)
        """
        if info.broker_id in self._senders:
            return
        listener = self._config.inter_broker_listener_name
        endpoint = next((e for e in info.endpoints if e.listener == listener), None)
        if endpoint is None:
            offered = ", ".join(map(str, info.endpoints)) or "none"
            self._sink.emit(
                EventKind.REQUEST_ABANDONED,
                cause,
                broker_id=info.broker_id,
                count=0,
                error="BrokerEndPointNotAvailable",
                rule="requests go to the inter-broker listener only",
                detail=f"broker {info.broker_id} has no endpoint of listener {listener}; it registered {offered}",
            )
            return
        self._senders[info.broker_id] = RequestSendThread(
            info.broker_id, endpoint, self._runtime, self._transport, self._sink, self._config
        )

    def remove_broker(self, broker_id: BrokerId, cause: int) -> None:
        """Close the connection and the queue of a broker. Unanswered requests are lost. No effect on an unknown broker."""
        if broker_id in self._senders:
            self._senders.pop(broker_id).stop(f"broker {broker_id} is removed: its queue goes with it", cause)

    def shutdown(self, cause: int) -> None:
        """Close all queues. No effect on a channel manager that is closed."""
        senders, self._senders = self._senders, {}
        for sender in senders.values():
            sender.stop("the controller's term is over: its queues go with it", cause)

    def send_request(self, broker_id: BrokerId, request: StateChangeRequest, callback: Callback | None, cause: int) -> None:
        """Queue a request. The request must not change from now on. A broker without a queue never gets it.

        Args:
            callback: called with the response, if one arrives.
            cause: the event that the request follows from.
        """
        sender = self._senders.get(broker_id)
        if sender is not None:
            sender.put(request, callback, cause)
            return
        self._sink.emit(
            EventKind.REQUEST_ABANDONED,
            cause,
            broker_id=broker_id,
            event=name_of_request(request),
            controller_epoch=request.controller_epoch,
            broker_epoch=request.broker_epoch,
            count=1,
            rule=f"broker {broker_id} is not among the brokers that this controller knows how to reach",
            detail=describe_request(request),
        )

    # --- metrics

    @property
    def total_queue_size(self) -> int:
        """TotalQueueSize: the requests that wait, without those under way."""
        return sum(sender.queue_size for sender in self._senders.values())

    def queue_size(self, broker_id: BrokerId) -> int:
        """Return QueueSize of one broker; 0 for an unknown broker."""
        return self._senders[broker_id].queue_size if broker_id in self._senders else 0

    def request_queue_times_ms(self, broker_id: BrokerId) -> tuple[int, ...]:
        """Return RequestRateAndQueueTimeMs of one broker: how long each of its last 1,000 requests waited.

        Empty for an unknown broker.
        """
        return tuple(self._senders[broker_id].queue_times_ms) if broker_id in self._senders else ()


@dataclass(slots=True)
class _QueuedRequest:
    """A request between its entry into the queue and its answer."""

    request: StateChangeRequest
    callback: Callback | None
    cause: int
    queued_ms: int
    sent_seq: int | None = None  # its RequestSent; None before a connection first accepted it
    sent_ms: int = 0
    attempts: int = 0

    @property
    def name(self) -> str:
        return name_of_request(self.request)


class RequestSendThread:
    """The queue of requests to one broker and the task that empties it."""

    def __init__(
        self,
        broker_id: BrokerId,
        endpoint: Endpoint,
        runtime: Runtime,
        transport: Transport,
        sink: EventSink,
        config: ControllerConfig,
    ) -> None:
        self.queue_times_ms: deque[int] = deque(maxlen=1000)
        self._broker_id = broker_id
        self._endpoint = endpoint
        self._runtime = runtime
        self._transport = transport
        self._sink = sink
        self._config = config
        # Not a mailbox: a request that a mailbox has handed over, but that the task has not yet received, would be counted
        # nowhere.
        self._queue: deque[_QueuedRequest] = deque()
        self._arrived: Promise[None] = runtime.promise()
        self._under_way: _QueuedRequest | None = None
        self._connection: ControllerChannel | None = None
        self._is_stopped = False
        self._task = runtime.spawn(f"Controller-to-broker-{broker_id}-send-thread", self._run())

    @property
    def queue_size(self) -> int:
        return len(self._queue)

    def put(self, request: StateChangeRequest, callback: Callback | None, cause: int) -> None:
        self._queue.append(_QueuedRequest(request, callback, cause, self._runtime.now_ms()))
        self._arrived.resolve(None)

    def stop(self, rule: str, cause: int) -> None:
        """End at once and report the requests that are lost."""
        self._is_stopped = True
        with suppress(Killed):  # one of our callbacks stops us: then the task ends by itself, after that callback
            self._task.kill()
        self._disconnect()
        lost = len(self._queue) + (self._under_way is not None)
        if lost:
            self._sink.emit(
                EventKind.REQUEST_ABANDONED,
                cause,
                broker_id=self._broker_id,
                count=lost,
                rule=rule,
                detail=_unsent_requests(self._under_way, self._queue),
            )
        self._queue.clear()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- the task

    async def _run(self) -> None:
        while not self._is_stopped:
            queued = self._under_way = await self._take()
            response = await self._send_until_answered(queued)
            self._under_way = None
            self._receive(queued, response)

    async def _take(self) -> _QueuedRequest:
        while not self._queue:
            self._arrived = self._runtime.promise()
            await self._arrived.wait()
        queued = self._queue.popleft()
        self.queue_times_ms.append(self._runtime.now_ms() - queued.queued_ms)
        return queued

    async def _send_until_answered(self, queued: _QueuedRequest) -> StateChangeResponse:
        while True:
            queued.attempts += 1
            try:
                connection = await self._connected()
                sent_seq = self._sent(queued)
                return await connection.send(queued.request, self._config.request_timeout_ms, sent_seq)
            except (BrokerConnectionError, TimedOutError) as error:
                self._failed(queued, error)
            # After any failure the connection cannot be trusted: a late answer to the failed request may still arrive on it.
            self._disconnect()
            await self._runtime.sleep_ms(RETRY_PAUSE_MS)

    async def _connected(self) -> ControllerChannel:
        if self._connection is None or not self._connection.is_open:  # one that broke while idle is no failure
            self._disconnect()
            host, port = self._endpoint.host, self._endpoint.port
            self._connection = await self._transport.connect(host, port, self._config.controller_socket_timeout_ms)
        return self._connection

    # --- the event log

    def _sent(self, queued: _QueuedRequest) -> int:
        """Report that a request is sent. A request that is sent again keeps its first event."""
        if queued.sent_seq is None:
            request = queued.request
            queued.sent_ms = self._runtime.now_ms()
            fields = EventFields(
                broker_id=self._broker_id,
                event=queued.name,
                controller_epoch=request.controller_epoch,
                broker_epoch=request.broker_epoch,
                count=len(request.partitions),
                detail=describe_request(request),
            )
            if isinstance(request, UpdateMetadataRequest):
                fields["live_broker_count"] = len(request.live_brokers)
            queued.sent_seq = self._sink.emit(EventKind.REQUEST_SENT, queued.cause, **fields)
        return queued.sent_seq

    def _failed(self, queued: _QueuedRequest, error: BrokerConnectionError | TimedOutError) -> None:
        what = "no connection" if self._connection is None else f"{queued.name} not answered"
        self._sink.emit(
            EventKind.REQUEST_FAILED,
            queued.cause if queued.sent_seq is None else queued.sent_seq,
            broker_id=self._broker_id,
            event=queued.name,
            controller_epoch=queued.request.controller_epoch,
            broker_epoch=queued.request.broker_epoch,
            count=queued.attempts,
            error="REQUEST_TIMED_OUT" if isinstance(error, TimedOutError) else "NETWORK_EXCEPTION",
            detail=f"broker {self._broker_id}, {what}: {error}; tried again in {RETRY_PAUSE_MS} ms",
        )

    def _receive(self, queued: _QueuedRequest, response: StateChangeResponse) -> None:
        fields = EventFields(
            broker_id=self._broker_id, event=queued.name, duration_ms=self._runtime.now_ms() - queued.sent_ms
        )
        if response.error is not ErrorCode.NONE:
            fields["error"] = response.error.name
        if refusals := refusals_in(response):
            fields |= refusal_fields(refusals)
        received = self._sink.emit(EventKind.RESPONSE_RECEIVED, queued.sent_seq, **fields)
        if queued.callback is not None:
            queued.callback(response, received)


def _unsent_requests(under_way: _QueuedRequest | None, queue: Iterable[_QueuedRequest]) -> str:
    """Describe the requests that a stopped sender leaves.

    Example: LeaderAndIsr under way, it may have been processed; never sent: 2 UpdateMetadata.
    """
    never_sent = Counter(queued.name for queued in queue)
    parts = []
    if under_way is not None and under_way.sent_seq is None:
        never_sent[under_way.name] += 1
    elif under_way is not None:
        parts.append(f"{under_way.name} under way, it may have been processed")
    if never_sent:
        parts.append("never sent: " + ", ".join(f"{number} {name}" for name, number in sorted(never_sent.items())))
    return "; ".join(parts)
