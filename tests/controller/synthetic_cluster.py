"""A cluster for the tests of requests: brokers 1 to 4 are registered, 4 is shutting down, 5 and 6 are dead."""

from collections.abc import Iterable
from dataclasses import replace

from kcsim.controller.decisions.request_batch import Addressed, ClusterView, RequestBatch
from kcsim.controller.requests import (
    LeaderAndIsrRequest,
    StateChangeRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)

Ids = tuple[BrokerId, ...]


def ids(*numbers: int) -> Ids:
    return tuple(map(BrokerId, numbers))


ORDERS = TopicPartition("orders", 0)
BOOKS = TopicPartition("books", 0)
NEW = TopicPartition("new", 0)  # assigned, and without leadership
DELETED = TopicPartition("deleted", 0)  # its topic is queued for deletion
DELETED_NEW = TopicPartition("deleted", 1)  # the same, and without leadership
MOVING = TopicPartition("moving", 0)  # being reassigned from 1, 2 to 3, 4, 5

LISTENER = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
EMPTY = RequestBatch()


def state(leader: int | None, *isr: int, epoch: int = 7, controller_epoch: int = 4) -> PartitionState:
    kept = LeaderAndIsr(None if leader is None else BrokerId(leader), LeaderEpoch(epoch), ids(*isr), ZkVersion(3))
    return PartitionState(kept, ControllerEpoch(controller_epoch))


def registered(broker: BrokerId) -> BrokerInfo:
    return BrokerInfo(broker, (replace(LISTENER, port=9092 + broker),), rack=f"rack{broker % 2}", timestamp_ms=1)


CLUSTER = ClusterView(
    controller_id=BrokerId(1),
    controller_epoch=ControllerEpoch(5),
    live_brokers={broker: registered(broker) for broker in ids(1, 2, 3, 4)},
    broker_epochs={broker: BrokerEpoch(100 + broker) for broker in ids(1, 2, 3, 4)},
    shutting_down=frozenset(ids(4)),
    topics_to_be_deleted=frozenset({"deleted"}),
    leadership={
        ORDERS: state(1, 1, 2, 4),
        BOOKS: state(None, 6),
        DELETED: state(2, 2, 1),
        MOVING: state(1, 1, 2),
    },
    assignments={
        ORDERS: ReplicaAssignment(ids(1, 2, 4, 5)),
        BOOKS: ReplicaAssignment(ids(6, 3)),
        NEW: ReplicaAssignment(ids(2, 3, 5)),
        DELETED: ReplicaAssignment(ids(1, 2, 5)),
        DELETED_NEW: ReplicaAssignment(ids(1, 2)),
        MOVING: ReplicaAssignment(ids(3, 4, 5, 1, 2), ids(3, 4, 5), ids(1, 2)),
    },
)
ONLINE, LIVE = ids(1, 2, 3), ids(1, 2, 3, 4)


def with_leadership(tp: TopicPartition, now: PartitionState) -> ClusterView:
    return replace(CLUSTER, leadership={**CLUSTER.leadership, tp: now})


NAMES = {LeaderAndIsrRequest: "LAI", UpdateMetadataRequest: "UM", StopReplicaRequest: "SR"}


def marked(request: StateChangeRequest) -> str:
    """Return the partitions of a request; "+" marks a new replica, "!" a deleted one or, in metadata, one to forget."""
    match request:
        case LeaderAndIsrRequest():
            parts = [f"{tp}{'+' * replica.is_new}" for tp, replica in request.partitions.items()]
        case UpdateMetadataRequest():
            parts = [f"{tp}{'!' * known.is_being_deleted}" for tp, known in request.partitions.items()]
        case StopReplicaRequest():
            parts = [f"{tp}{'!' * stop.delete_partition}" for tp, stop in request.partitions.items()]
    return " ".join(parts) or "-"


def request_lines(sent: Iterable[Addressed]) -> list[str]:
    """Return one line for brokers that get the same: LAI 1 2: orders-0."""
    recipients: dict[tuple[str, str], list[BrokerId]] = {}
    for broker, request in sent:
        recipients.setdefault((NAMES[type(request)], marked(request)), []).append(broker)
    return [f"{name} {' '.join(map(str, brokers))}: {what}" for (name, what), brokers in recipients.items()]
