"""One simulated broker: it registers in ZooKeeper, then stands for election as controller.

Start-up and shutdown in Kafka's order. Source: Kafka 2.8, KafkaServer.startup and shutdown; reference znodes.md 5.2.
"""

from dataclasses import replace

from kcsim.brokers.config import BrokerConfig
from kcsim.controller.kafka_controller import KafkaController
from kcsim.zk import paths
from kcsim.zk.errors import NodeExistsError, ZooKeeperError, ZooKeeperUnavailableError
from kcsim.zk.events import EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause, EventSink, Runtime, ZooKeeper
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId, BrokerInfo, Endpoint
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import ZooKeeperClient, ZooKeeperClientExpiredError

ID_IS_TAKEN = "another broker has this id, or the session of its last life has not expired yet"


class BrokerStartError(Exception):
    """The broker refuses to start, as Kafka's does; says why."""


class Broker:
    """A broker, from start to stop.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970; what the broker writes as `timestamp`.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        rack: str | None,
        config: BrokerConfig,
        runtime: Runtime,
        zookeeper: ZooKeeper,
        sink: EventSink,
        epoch_ms: int,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch: BrokerEpoch | None = None
        self._runtime = runtime
        self._sink = sink
        self._epoch_ms = epoch_ms
        port = config.port if config.port is not None else 9092 + broker_id
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", config.host_name, port)
        self._info = BrokerInfo(broker_id, (endpoint,), rack)
        self.client = ZooKeeperClient(
            runtime, zookeeper, sink, config.zookeeper_session_timeout_ms, config.connect_timeout_ms
        )
        self.kafka_zk = KafkaZk(self.client, epoch_ms)
        self.controller = KafkaController(broker_id, runtime, self.client, self.kafka_zk, sink, self._register)

    async def startup(self, cause: Cause) -> None:
        """Come up: session, top-level znodes, cluster id, registration, controller module.

        Raises: BrokerStartError when ZooKeeper cannot be reached, the id or an address is taken, or a znode is unreadable.
        """
        try:
            await self.client.connect(cause)
            await self.kafka_zk.create_top_level_paths(cause)
            await self.kafka_zk.get_or_create_cluster_id(cause)
            await self._refuse_taken_endpoints(cause)
            await self._register(cause)
        except BrokerStartError:
            await self.client.close(cause)
            raise
        except (ZooKeeperUnavailableError, ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError) as error:
            await self.client.close(cause)
            why = f"{error}: {ID_IS_TAKEN}" if isinstance(error, NodeExistsError) else str(error)
            raise BrokerStartError(f"broker {self.broker_id} does not start: {why}") from error
        self.controller.startup(cause)

    async def shutdown(self, cause: Cause) -> None:
        """Go down in order: the controller module first, so that it resigns, then the ZooKeeper session."""
        await self.controller.shutdown(cause)
        await self.client.close(cause)

    async def _refuse_taken_endpoints(self, cause: Cause) -> None:
        mine = {(e.host, e.port) for e in self._info.endpoints}
        for other, _ in await self.kafka_zk.all_brokers_with_epochs(cause, register_watch=False):
            taken = mine & {(e.host, e.port) for e in other.endpoints}
            if other.broker_id != self.broker_id and taken:
                host, port = sorted(taken)[0]
                raise BrokerStartError(
                    f"Configured end points {host}:{port} in advertised listeners are already registered "
                    f"by broker {other.broker_id}"
                )

    async def _register(self, cause: Cause) -> None:
        """Register, under a new broker epoch. Raises: ZooKeeperError (NodeExistsError: the id is taken)."""
        info = replace(self._info, timestamp_ms=self._epoch_ms + self._runtime.now_ms())
        self.broker_epoch = await self.kafka_zk.register_broker(info, cause)
        self._sink.emit(
            EventKind.BROKER_REGISTERED,
            cause,
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            path=paths.broker_id(self.broker_id),
        )
