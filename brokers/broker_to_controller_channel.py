"""A broker's way to the controller: a request goes to one controller after the other, until one answers.

The broker knows the controller from UpdateMetadata, and not from ZooKeeper. It keeps to the controller that it has, also
when it learns of another one, until a request to it fails or is answered with NOT_CONTROLLER: a former controller that still
runs is asked first, and if it is frozen, the request waits for controller.socket.timeout.ms. (Seen on 2.8.2, 3.2.3, 3.3.2
and 3.9.1; scenarios leader-asks-a-former-controller and isr-change-asked-of-a-frozen-broker.)

Source: Kafka 2.8, BrokerToControllerChannelManager, BrokerToControllerRequestThread.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.ports import BrokerConnection, BrokerPorts
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterIsrRequest,
    AlterIsrResponse,
    ErrorCode,
)
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.runtime.ports import Promise
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId, Endpoint

RETRY_BACKOFF_MS = 100
"""How long a broker waits until it asks again, unless it learns of another controller sooner."""

Request = AlterIsrRequest | AllocateProducerIdsRequest
Response = AlterIsrResponse | AllocateProducerIdsResponse


@dataclass(frozen=True, slots=True)
class ControllerAnswer:
    """What a controller has answered. Attributes: cause: the event of the response."""

    response: Response
    cause: int


class _Controller(NamedTuple):
    """A controller as the broker knew it when it chose it."""

    broker_id: BrokerId
    endpoint: Endpoint


class BrokerToControllerChannel:
    """One broker's connection to the controller, with one request at a time."""

    def __init__(self, config: BrokerConfig, ports: BrokerPorts, metadata: MetadataCache) -> None:
        self._config = config.controller
        self._runtime = ports.runtime
        self._control_plane = ports.control_plane
        self._sink = ports.sink
        self._metadata = metadata
        self._controller: _Controller | None = None
        self._connection: BrokerConnection | None = None
        self._has_changed: Promise[None] | None = None
        metadata.watch(self._note_update)

    async def ask(self, request: Request, cause: int) -> ControllerAnswer:
        """Send a request to the controller, and again until one that is the controller has answered."""
        last_failure: tuple[BrokerId, str] | None = None  # the same one is reported once
        asked: BrokerId | None = None
        while True:
            self._choose()
            if self._controller is None:
                await self._controller_may_have_changed()
                continue
            controller, endpoint = self._controller
            if controller != asked:
                asked, sent = controller, self._emit_sent(controller, request, cause)
            try:
                response = await self._send(endpoint, request, sent)
            except (BrokerConnectionError, TimedOutError) as error:
                failure = type(error).__name__
                if last_failure != (controller, failure):
                    last_failure = controller, failure
                    self._emit_failed(controller, request, error, sent)
            else:
                if not _is_refused_by_non_controller(response):
                    return ControllerAnswer(response, self._emit_response(controller, response, sent))
                if last_failure != (controller, ErrorCode.NOT_CONTROLLER.name):
                    last_failure = controller, ErrorCode.NOT_CONTROLLER.name
                    self._emit_response(controller, response, sent)
            self._controller = None
            self._disconnect()
            if self._metadata.controller_id == controller:
                await self._controller_may_have_changed()

    def _choose(self) -> None:
        """Take the controller of the broker's metadata, if the broker has none."""
        controller = self._metadata.controller_id
        if self._controller is None and controller is not None:
            endpoint = self._metadata.endpoint(controller, self._config.inter_broker_listener_name)
            self._controller = None if endpoint is None else _Controller(controller, endpoint)

    async def _send(self, endpoint: Endpoint, request: Request, sent: int) -> Response:
        timeout_ms = self._config.controller_socket_timeout_ms
        if self._connection is None or not self._connection.is_open:
            self._disconnect()
            self._connection = await self._control_plane.connect(endpoint.host, endpoint.port, timeout_ms)
        response = await self._connection.send(request, timeout_ms, sent)
        assert isinstance(response, Response)
        return response

    async def _controller_may_have_changed(self) -> None:
        """Wait for the next UpdateMetadata, RETRY_BACKOFF_MS at most."""
        self._has_changed = self._runtime.promise()
        with suppress(TimedOutError):
            await self._has_changed.wait(RETRY_BACKOFF_MS)

    def _note_update(self) -> None:
        self._choose()
        if self._has_changed is not None:
            self._has_changed.resolve(None)

    def close(self) -> None:
        """Close the connection."""
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- the event log

    def _emit_sent(self, controller: BrokerId, request: Request, cause: int) -> int:
        fields = _fields_of(controller, request)
        fields["broker_epoch"] = request.broker_epoch
        return self._sink.emit(EventKind.REQUEST_SENT, cause, **fields)

    def _emit_failed(self, controller: BrokerId, request: Request, error: Exception, sent: int) -> None:
        fields = _fields_of(controller, request)
        fields |= EventFields(error=type(error).__name__, detail=str(error))
        self._sink.emit(EventKind.REQUEST_FAILED, sent, **fields)

    def _emit_response(self, controller: BrokerId, response: Response, sent: int) -> int:
        fields = EventFields(broker_id=controller, error=response.error.name)
        if isinstance(response, AlterIsrResponse):
            refused = [tp for tp, result in response.partitions.items() if isinstance(result, ErrorCode)]
            fields |= EventFields(
                event="AlterIsr", count=len(response.partitions), detail=f"refused: {summarize(refused) or 'none'}"
            )
        else:
            detail = f"producer ids {response.first} to {response.first + response.count - 1}"
            fields |= EventFields(event="AllocateProducerIds", count=response.count, detail="" if response.error else detail)
        return self._sink.emit(EventKind.RESPONSE_RECEIVED, sent, **fields)


def _is_refused_by_non_controller(response: Response) -> bool:
    """Return whether the response has NOT_CONTROLLER: as a whole, or, from 3.3 on, for a partition."""
    of_partitions = response.partitions.values() if isinstance(response, AlterIsrResponse) else ()
    return ErrorCode.NOT_CONTROLLER in (response.error, *of_partitions)


def _fields_of(controller: BrokerId, request: Request) -> EventFields:
    if isinstance(request, AllocateProducerIdsRequest):
        return {"event": "AllocateProducerIds", "broker_id": controller, "detail": "a block of producer ids"}
    detail = "; ".join(f"{tp}: ISR {list(asked.isr)}" for tp, asked in request.partitions.items())
    return {"event": "AlterIsr", "broker_id": controller, "count": len(request.partitions), "detail": detail}
