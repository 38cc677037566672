"""The controller's own errors."""

from collections.abc import Sequence

from kcsim.controller.decisions.broker_ids import check_broker_ids
from kcsim.vocabulary import BrokerId, FailureReason, TopicPartition

UNREADABLE_STATE = "its state znode cannot be read, and is in quarantine"
"""The message of a hardened controller, which reads around such a state."""


class IllegalStateError(Exception):
    """A precondition of the controller does not hold, for example a znode is missing. The current event is aborted."""

    def __init__(self, message: str, reason: FailureReason | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class StateChangeFailedError(Exception):
    """A partition or replica could not be moved to another state. It keeps its state; other partitions are not affected.

    Attributes:
        message_for_clients: Kafka's text of the failure, for a client that has requested the change.
    """

    def __init__(self, message: str, reason: FailureReason | None = None, message_for_clients: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message_for_clients = message_for_clients


class NotControllerError(Exception):
    """The broker that received the request is not the active controller, or not any more. Nothing was done."""


def preferred_leader(tp: TopicPartition, replicas: Sequence[BrokerId]) -> BrokerId:
    """Return the first of a partition's replicas. Raises: IllegalStateError if there is none; NoBrokerIdError."""
    if not replicas:
        message = f"{tp} is assigned to no broker, so it has no preferred leader"
        raise IllegalStateError(message, FailureReason.NO_REPLICAS)
    check_broker_ids(tp, replicas[:1])
    return replicas[0]
