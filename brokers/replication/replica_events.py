"""Events about a broker's replicas: one each, or one for all when a request names very many."""

from collections.abc import Callable, Collection, Mapping, Sequence

from kcsim.brokers.replication.partition import Partition
from kcsim.controller.channels.request_descriptions import MAX_PARTITIONS_LISTED, describe_refusals
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.vocabulary import TopicPartition

ONE_BY_ONE_AT_MOST = 100
"""Up to this number of partitions in a request, each partition has an event of its own."""


class ReplicaEvents:
    """Emits the events about the partitions of one request.

    Args:
        cause: the request's RequestSent event.
        total: how many partitions the request names.
    """

    def __init__(self, sink: EventSink, cause: int, total: int) -> None:
        self._sink = sink
        self._cause = cause
        self._is_in_one = total > ONE_BY_ONE_AT_MOST

    def emit(
        self, kind: EventKind, tps: Collection[TopicPartition], fields_of: Callable[[TopicPartition], EventFields], what: str
    ) -> dict[TopicPartition, int]:
        """Report that the same happened to all of these partitions. Return the seq of each partition's event.

        Args:
            what: the description for the one event that stands for all: "lead 4000 partitions".
        """
        if not tps:
            return {}
        if self._is_in_one:
            seq = self._sink.emit(kind, self._cause, count=len(tps), detail=what)
            return dict.fromkeys(tps, seq)
        return {tp: self._sink.emit(kind, self._cause, **_of(tp, fields_of(tp))) for tp in tps}

    def refused(self, request: str, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        """Report the partitions that were refused, with one event for each kind of error."""
        by_error: dict[ErrorCode, list[tuple[TopicPartition, ErrorCode]]] = {}
        for tp, error in errors.items():
            if error is not ErrorCode.NONE:
                by_error.setdefault(error, []).append((tp, error))
        for error, refusals in by_error.items():
            self._sink.emit(
                EventKind.REQUEST_REFUSED,
                self._cause,
                event=request,
                error=error.name,
                count=len(refusals),
                refused_partitions=[str(tp) for tp, _ in refusals[:MAX_PARTITIONS_LISTED]],
                detail=describe_refusals(refusals),
            )


def _of(tp: TopicPartition, fields: EventFields) -> EventFields:
    return {**fields, "topic": tp.topic, "partition": tp.partition}


def leadership_fields(partition: Partition, isr: Sequence[int]) -> EventFields:
    """Return a partition's role and state for the columns of BecameLeader and BecameFollower."""
    return {
        "leader": -1 if partition.leader is None else partition.leader,
        "leader_epoch": partition.leader_epoch,
        "controller_epoch": partition.controller_epoch,
        "isr": list(isr),
        "replicas": list(partition.assignment.replicas),
        "zk_version": partition.zk_version,
    }
