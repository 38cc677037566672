"""The controller's own errors."""

from kcsim.vocabulary import FailureReason, TopicPartition


class IllegalStateError(Exception):
    """A precondition of the controller does not hold, for example a znode is missing. The current event is aborted."""

    def __init__(self, message: str, reason: FailureReason | None = None) -> None:
        super().__init__(message)
        self.reason = reason


def no_preferred_leader(tp: TopicPartition) -> IllegalStateError:
    """Return the error for a partition without replicas, where its preferred leader is looked for."""
    return IllegalStateError(f"{tp} is assigned to no broker, so it has no preferred leader", FailureReason.NO_REPLICAS)


class StateChangeFailedError(Exception):
    """A partition or replica could not be moved to another state. It keeps its state; other partitions are not affected."""

    def __init__(self, message: str, reason: FailureReason | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class NotControllerError(Exception):
    """The broker that received the request is not the active controller, or not any more. Nothing was done."""
