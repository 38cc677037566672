"""What every part of the active controller works with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kcsim.controller.channel_manager import ControllerChannelManager
from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import ControllerContext
from kcsim.controller.decisions.request_batch import ClusterView
from kcsim.controller.errors import IllegalStateError, StateChangeFailedError
from kcsim.controller.events import ControllerEvent
from kcsim.controller.metrics import ControllerMetrics
from kcsim.controller.requests import UNKNOWN_BROKER_EPOCH
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause, EventSink, Runtime
from kcsim.zk.vocabulary import BrokerId
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import ZooKeeperClient, ZooKeeperClientExpiredError

EXPECTED_FAILURES = (
    ZooKeeperError,
    ZooKeeperClientExpiredError,
    BadZnodeError,
    IllegalStateError,
    StateChangeFailedError,
)
"""What can go wrong while an event is processed, in a world of crashes and hand-edited znodes. Anything else is a defect."""

READ_FAILURES = (ZooKeeperError, ZooKeeperClientExpiredError)
"""What fails the partitions of one read. A state of a wrong form is none of these: as in Kafka, the whole change fails, and
what was gathered for the brokers by then stays unsent."""


@dataclass
class Core:
    """The active controller's means: its view of the cluster, ZooKeeper, the brokers, the event log, and its own queue.

    Args:
        put: queue an event for the controller's thread.

    Attributes:
        unclean_leader_election_enable: the cluster's default as this broker has it now; it can be changed while it runs.
    """

    broker_id: BrokerId
    config: ControllerConfig
    context: ControllerContext
    runtime: Runtime
    client: ZooKeeperClient
    kafka_zk: KafkaZk
    channel_manager: ControllerChannelManager
    metrics: ControllerMetrics
    sink: EventSink
    put: Callable[[ControllerEvent, Cause], object]
    unclean_leader_election_enable: bool = False

    def view(self) -> ClusterView:
        """The context as decisions on requests see it."""
        context = self.context
        epochs = context.broker_epochs
        return ClusterView(
            self.broker_id,
            context.epoch,
            context.live_brokers,
            epochs if self.config.protections.broker_epoch else dict.fromkeys(epochs, UNKNOWN_BROKER_EPOCH),
            context.leadership,
            context.assignments,
            context.topics_to_be_deleted,
            context.shutting_down,
            context.replicas_on_offline_dirs,
            self.config.inter_broker_listener_name,
        )


def name_of_error(error: Exception) -> str:
    """ZooKeeper's own name where it has one, else the type."""
    return error.name if isinstance(error, ZooKeeperError) else type(error).__name__


def listed(brokers: Iterable[BrokerId]) -> str:
    """Broker ids as the log has them: [1, 2]."""
    return str(list(brokers))
