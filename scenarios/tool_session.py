"""The session that one of Kafka's tools has with ZooKeeper while it works, in a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.scenarios.deeds import ClusterError
from kcsim.zk.errors import ZooKeeperError, ZooKeeperUnavailableError
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import EventSink, Runtime, ZooKeeper
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import ZooKeeperClient, ZooKeeperClientExpiredError

SESSION_TIMEOUT_MS = 30_000
CONNECT_TIMEOUT_MS = 15_000
"""As Kafka 2.8's tools have them, the latter halved."""


@asynccontextmanager
async def open_tool(
    runtime: Runtime, zookeeper: ZooKeeper, sink: EventSink, epoch_ms: int, cause: int
) -> AsyncIterator[KafkaZk]:
    """Open a session for one piece of work, and close it when that is done.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970.
        cause: seq of the AdminAct that the session follows from.

    Raises: ClusterError, for whatever Kafka's rules or ZooKeeper refuse meanwhile.
    """
    client = ZooKeeperClient(runtime, zookeeper, sink, SESSION_TIMEOUT_MS, CONNECT_TIMEOUT_MS)
    try:
        await client.connect(cause)
        yield KafkaZk(client, epoch_ms)
    except (RefusedError, ZooKeeperError, ZooKeeperUnavailableError, ZooKeeperClientExpiredError, BadZnodeError) as error:
        raise ClusterError(str(error)) from error
    finally:
        await client.close(cause)
