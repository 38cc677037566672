"""What every family of handlers works with."""

from collections.abc import Callable
from dataclasses import dataclass

from kcsim.controller.context import ControllerContext
from kcsim.controller.events import ControllerEvent
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause, EventSink
from kcsim.zk.zookeeper_client import ZooKeeperClient


@dataclass(frozen=True)
class Core:
    """The active controller's means: its view of the cluster, ZooKeeper, the event log, and its own queue.

    Args:
        put: queue an event for the controller's thread.
    """

    context: ControllerContext
    client: ZooKeeperClient
    kafka_zk: KafkaZk
    sink: EventSink
    put: Callable[[ControllerEvent, Cause], object]
