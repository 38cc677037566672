"""The check that the replicas of an assignment are broker ids: those that a person wrote need not be."""

from collections.abc import Sequence

from kcsim.vocabulary import BrokerId, NoBrokerId, TopicPartition


class NoBrokerIdError(Exception):
    """A replica is no int where a broker id is needed: Java's ClassCastException. The current event is aborted."""


def check_broker_ids(tp: TopicPartition, replicas: Sequence[BrokerId]) -> None:
    """Raises: NoBrokerIdError."""
    if NoBrokerId in map(type, replicas):
        wrong = next(replica for replica in replicas if isinstance(replica, NoBrokerId))
        raise NoBrokerIdError(f"a replica of {tp} is {wrong}, which is no broker id")
