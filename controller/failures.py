"""The failures that the controller expects while it processes an event, and their names in the event log."""

from kcsim.controller.decisions.broker_ids import NoBrokerIdError
from kcsim.controller.errors import IllegalStateError, StateChangeFailedError
from kcsim.errors import TimedOutError
from kcsim.vocabulary import FailureReason
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError
from kcsim.znodes import BadZnodeError, paths

EXPECTED_FAILURES = (
    ZooKeeperError,
    ZooKeeperClientExpiredError,
    BadZnodeError,
    IllegalStateError,
    StateChangeFailedError,
    NoBrokerIdError,
    TimedOutError,
)
"""Failures that can occur while an event is processed, after crashes and hand-edited znodes. Any other error is a defect."""

PARTITION_FAILURES = (BadZnodeError, IllegalStateError, StateChangeFailedError, NoBrokerIdError)
"""The failures that concern what is known of a partition, topic or request, and not the connection to ZooKeeper."""

READ_FAILURES = (ZooKeeperError, ZooKeeperClientExpiredError)
"""Failures of one read that fail the partitions of that read.

A state of a wrong form is not among them: as in Kafka, the whole change fails then, and the requests gathered so far stay
unsent.
"""


def name_of_error(error: Exception) -> str:
    """Return ZooKeeper's own name of an error if it has one, else the type's name."""
    return error.name if isinstance(error, ZooKeeperError) else type(error).__name__


def reason_of_error(error: Exception) -> FailureReason | None:
    """Return the reason that an error carries, for the event log's column of this name."""
    match error:
        case IllegalStateError() | StateChangeFailedError():
            return error.reason
        case BadZnodeError() if _is_partition_state(error.path):
            return FailureReason.BAD_PARTITION_STATE
        case _:
            return None


def _is_partition_state(path: str) -> bool:
    known = paths.parse(path)
    return known is not None and known.kind is paths.PathKind.TOPIC_PARTITION_STATE
