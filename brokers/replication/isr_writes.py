"""How a new ISR of a leader comes into ZooKeeper.

Adapters: zk_isr.py up to protocol version 2.6, alter_isr.py from 2.7 on.
"""

from typing import Any, NamedTuple, Protocol

from kcsim.runtime.ports import Promise
from kcsim.vocabulary import PartitionState, TopicPartition, ZkVersion
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError

UNAVAILABLE = (ZooKeeperError, ZooKeeperClientExpiredError)
"""Errors that a write may raise when sessions expire and znodes are deleted."""


class WrittenIsr(NamedTuple):
    """Attributes: version: of the state znode with the new ISR; cause: the event by which the leader knows it."""

    version: ZkVersion
    cause: int


class IsrRefusedError(Exception):
    """The new ISR was not written, and will not be.

    Attributes:
        error: its name in Kafka or ZooKeeper.
        cause: the event by which the leader knows it.
        is_final: whether the leader has to wait for the controller's next decision; else it may ask for an ISR again.
    """

    def __init__(self, error: str, detail: str, cause: int, is_final: bool = True) -> None:
        super().__init__(detail)
        self.error = error
        self.cause = cause
        self.is_final = is_final


class IsrNotSubmittedError(Exception):
    """An earlier change of the partition's ISR is still under way: this one can be tried again later.

    Attributes:
        earlier: settled once the earlier change is decided.
    """

    def __init__(self, earlier: Promise[Any]) -> None:
        super().__init__("an earlier change is under way")
        self.earlier = earlier


class WritesIsr(Protocol):
    """Writes the ISRs of a leader.

    Attributes:
        is_at_once: whether the leader does nothing else with the partition until the ISR is written; otherwise it goes on
            with records meanwhile, and counts on both ISRs, the old and the new one.
        moves_high_watermark: whether the leader looks at its high watermark once the ISR is written; otherwise at the next
            append or fetch.
        tries_again: whether a write that failed for lack of a session is tried again, which only a hardened broker does.
    """

    is_at_once: bool
    tries_again: bool
    moves_high_watermark: bool

    async def write(self, tp: TopicPartition, proposed: PartitionState, cause: int) -> WrittenIsr:
        """Write a new ISR, if the state znode still has the version that the leader knew when it proposed the ISR.

        Raises: IsrRefusedError, IsrNotSubmittedError; where the leader writes itself, ZooKeeperError and
            ZooKeeperClientExpiredError.
        """
        ...

    def record_change(self, tp: TopicPartition, change: int) -> None:
        """Take note of a change that was written, by its event."""
        ...

    def close(self) -> None:
        """Stop; what is not written or reported yet never is."""
        ...
