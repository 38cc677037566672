"""How a broker that is about to stop asks the controller to take the lead of its partitions from it.

Source: Kafka 2.8, KafkaServer.controlledShutdown; reference requests.md 10.
"""

from collections.abc import Callable

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.ports import Connection, Network
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import ControlledShutdownRequest, ControlledShutdownResponse, ErrorCode
from kcsim.zk.errors import TimedOutError, ZooKeeperError
from kcsim.zk.events import EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause, EventSink, Runtime
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId, BrokerInfo, Endpoint
from kcsim.zk.wording import named
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import ZooKeeperClientExpiredError

NAME = "ControlledShutdown"


class ControlledShutdown:
    """One broker's controlled shutdown.

    Args:
        own_epoch: this broker's epoch, as of its last registration.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        network: Network,
        kafka_zk: KafkaZk,
        sink: EventSink,
        config: BrokerConfig,
        own_epoch: Callable[[], BrokerEpoch],
    ) -> None:
        self._broker_id = broker_id
        self._runtime = runtime
        self._network = network
        self._kafka_zk = kafka_zk
        self._sink = sink
        self._config = config
        self._own_epoch = own_epoch
        self._controller: BrokerInfo | None = None
        self._connection: Connection | None = None

    async def run(self, cause: Cause) -> bool:
        """Ask until nothing is left to this broker, as often as is allowed; returns whether that was so.

        Waits after every failure, the last one included. Gives up at once when ZooKeeper cannot be asked for the controller.
        """
        attempts = self._config.controlled_shutdown_max_retries
        try:
            for attempt in range(1, attempts + 1):
                if await self._attempt(cause):
                    return True
                self._tell(f"attempt {attempt} of {attempts} failed", cause)
                await self._runtime.sleep_ms(self._config.controlled_shutdown_retry_backoff_ms)
        except (ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError) as error:
            self._tell(f"the controller could not be looked up: {error}", cause)
        finally:
            self._disconnect()
        self._tell("proceeding with an unclean shutdown", cause)
        return False

    async def _attempt(self, cause: Cause) -> bool:
        await self._look_for_controller(cause)
        if self._controller is None:
            return False
        response = await self._ask(self._controller, cause)
        return response is not None and response.error is ErrorCode.NONE and not response.remaining_partitions

    async def _look_for_controller(self, cause: Cause) -> None:
        """Ask ZooKeeper who it is now; the one known before stays if that cannot be told."""
        broker_id = await self._kafka_zk.controller_id(cause)
        found = await self._kafka_zk.broker(broker_id, cause) if broker_id is not None else None
        if found is None:
            who = "no controller" if broker_id is None else f"no registration of controller {broker_id}"
            self._tell(f"there is {who} in ZooKeeper", cause)
        elif found != self._controller:
            self._disconnect()
            self._controller = found

    async def _ask(self, controller: BrokerInfo, cause: Cause) -> ControlledShutdownResponse | None:
        """What the controller answers; None when it could not be reached, or was not heard of in time."""
        listener = self._config.controller.inter_broker_listener_name
        endpoint = next((e for e in controller.endpoints if e.listener == listener), None)
        if endpoint is None:
            self._tell(f"controller {controller.broker_id} has no listener {listener}", cause)
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
        self._tell_response(controller.broker_id, response, sent)
        return response

    async def _send(self, endpoint: Endpoint, request: ControlledShutdownRequest, sent: int) -> ControlledShutdownResponse:
        timeout_ms = self._config.controller.controller_socket_timeout_ms
        if self._connection is None:
            self._connection = await self._network.connect(endpoint.host, endpoint.port, timeout_ms)
        response = await self._connection.send(request, timeout_ms, sent)
        assert isinstance(response, ControlledShutdownResponse)
        return response

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _tell(self, step: str, cause: Cause) -> None:
        self._sink.emit(EventKind.CONTROLLED_SHUTDOWN, cause, broker_id=self._broker_id, step=step)

    def _tell_response(self, controller: BrokerId, response: ControlledShutdownResponse, sent: int) -> None:
        remaining = response.remaining_partitions
        self._sink.emit(
            EventKind.RESPONSE_RECEIVED,
            sent,
            event=NAME,
            broker_id=controller,
            error=response.error.name,
            count=len(remaining),
            detail=f"remaining partitions: {named(remaining) or 'none'}",
        )
