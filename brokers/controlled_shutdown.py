"""The broker's side of a controlled shutdown: it asks the controller to move its leaderships before it stops.

Source: Kafka 2.8, KafkaServer.controlledShutdown; docs/kafka/requests.md 10.
"""

from collections.abc import Callable

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.ports import BrokerConnection, BrokerPorts
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import ControlledShutdownRequest, ControlledShutdownResponse, ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause
from kcsim.text import summarize
from kcsim.vocabulary import BrokerEpoch, BrokerId, BrokerInfo, Endpoint
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.brokers import BrokerZnodes
from kcsim.zk.kafka.controller import ControllerZnodes
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError
from kcsim.znodes import BadZnodeError

NAME = "ControlledShutdown"


class ControlledShutdownClient:
    """One broker's controlled shutdown.

    Args:
        own_epoch: returns this broker's epoch, as of its last registration.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        config: BrokerConfig,
        ports: BrokerPorts,
        controller: ControllerZnodes,
        brokers: BrokerZnodes,
        own_epoch: Callable[[], BrokerEpoch],
    ) -> None:
        self._broker_id = broker_id
        self._runtime = ports.runtime
        self._control_plane = ports.control_plane
        self._controller_znodes = controller
        self._broker_znodes = brokers
        self._sink = ports.sink
        self._config = config
        self._own_epoch = own_epoch
        self._controller: BrokerInfo | None = None
        self._connection: BrokerConnection | None = None

    async def run(self, cause: Cause) -> bool:
        """Send requests until this broker leads nothing, up to the maximum number of attempts.

        Returns whether that succeeded. Waits after every failure, the last one included. Ends at once when the controller's
        id cannot be read from ZooKeeper.
        """
        attempts = self._config.controlled_shutdown_max_retries
        try:
            for attempt in range(1, attempts + 1):
                if await self._attempt(cause):
                    return True
                self._emit_step(f"attempt {attempt} of {attempts} failed", cause)
                await self._runtime.sleep_ms(self._config.controlled_shutdown_retry_backoff_ms)
        except (ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError) as error:
            self._emit_step(f"the controller could not be looked up: {error}", cause)
        finally:
            self._disconnect()
        self._emit_step("proceeding with an unclean shutdown", cause)
        return False

    async def _attempt(self, cause: Cause) -> bool:
        await self._look_for_controller(cause)
        if self._controller is None:
            return False
        response = await self._ask(self._controller, cause)
        return response is not None and response.error is ErrorCode.NONE and not response.remaining_partitions

    async def _look_for_controller(self, cause: Cause) -> None:
        """Read the current controller from ZooKeeper; if that is not possible, keep the one known before."""
        broker_id = await self._controller_znodes.read_id(cause)
        found = await self._broker_znodes.read(broker_id, cause) if broker_id is not None else None
        if found is None:
            who = "no controller" if broker_id is None else f"no registration of controller {broker_id}"
            self._emit_step(f"there is {who} in ZooKeeper", cause)
        elif found != self._controller:
            self._disconnect()
            self._controller = found

    async def _ask(self, controller: BrokerInfo, cause: Cause) -> ControlledShutdownResponse | None:
        """Send the request and return the response; None when the controller was not reached or did not answer in time."""
        listener = self._config.controller.inter_broker_listener_name
        endpoint = next((e for e in controller.endpoints if e.listener == listener), None)
        if endpoint is None:
            self._emit_step(f"controller {controller.broker_id} has no listener {listener}", cause)
            return None
        request = ControlledShutdownRequest(self._broker_id, self._own_epoch())
        sent = self._sink.emit(
            EventKind.REQUEST_SENT,
            cause,
            event=NAME,
            broker_id=controller.broker_id,
            broker_epoch=request.broker_epoch,
        )
        try:
            response = await self._send(endpoint, request, sent)
        except (BrokerConnectionError, TimedOutError) as error:
            self._disconnect()
            self._sink.emit(
                EventKind.REQUEST_FAILED,
                sent,
                event=NAME,
                broker_id=controller.broker_id,
                error=type(error).__name__,
                detail=str(error),
            )
            return None
        self._emit_response(controller.broker_id, response, sent)
        return response

    async def _send(self, endpoint: Endpoint, request: ControlledShutdownRequest, sent: int) -> ControlledShutdownResponse:
        timeout_ms = self._config.controller.controller_socket_timeout_ms
        if self._connection is None:
            self._connection = await self._control_plane.connect(endpoint.host, endpoint.port, timeout_ms)
        response = await self._connection.send(request, timeout_ms, sent)
        assert isinstance(response, ControlledShutdownResponse)
        return response

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _emit_step(self, step: str, cause: Cause) -> None:
        self._sink.emit(EventKind.CONTROLLED_SHUTDOWN, cause, broker_id=self._broker_id, step=step)

    def _emit_response(self, controller: BrokerId, response: ControlledShutdownResponse, sent: int) -> None:
        remaining = response.remaining_partitions
        self._sink.emit(
            EventKind.RESPONSE_RECEIVED,
            sent,
            event=NAME,
            broker_id=controller,
            error=response.error.name,
            count=len(remaining),
            detail=f"remaining partitions: {summarize(remaining) or 'none'}",
        )
