"""The ZooKeeper session of one of Kafka's tools, in a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime
from kcsim.zk.errors import ZooKeeperError, ZooKeeperUnavailableError
from kcsim.zk.kafka.kafka_zk import KafkaZk, gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient, ZooKeeperClientExpiredError
from kcsim.zk.ports import ZooKeeper
from kcsim.znodes import BadZnodeError

SESSION_TIMEOUT_MS = 30_000
CONNECT_TIMEOUT_MS = 15_000
"""The values of Kafka 2.8's tools, the latter halved."""


@asynccontextmanager
async def open_tool(
    runtime: Runtime, zookeeper: ZooKeeper, sink: EventSink, epoch_ms: int, cause: int
) -> AsyncIterator[KafkaZk]:
    """Open a session for one run of a tool, and close it afterwards.

    Args:
        epoch_ms: wall-clock time of the run's start, in ms since 1970.
        cause: seq of the AdminAct that causes the session.

    Raises: ClusterError, for everything that Kafka's rules or ZooKeeper refuse meanwhile.
    """
    client = ZooKeeperClient(runtime, zookeeper, sink, SESSION_TIMEOUT_MS, CONNECT_TIMEOUT_MS)
    try:
        await client.connect(cause)
        yield gateways_on(client, epoch_ms)
    except (RefusedError, ZooKeeperError, ZooKeeperUnavailableError, ZooKeeperClientExpiredError, BadZnodeError) as error:
        raise ClusterError(str(error)) from error
    finally:
        await client.close(cause)
