"""How a broker's event log tells of its replicas' logs: what was appended, what was cut off and whose records those were."""

from collections.abc import Iterable, Sequence

from kcsim.brokers.partition import Partition
from kcsim.brokers.records import Run
from kcsim.brokers.replica_log import AppendInfo, ReplicaLog, Truncated
from kcsim.brokers.requests import ProduceBatch
from kcsim.brokers.segment_appends import SegmentRolled
from kcsim.brokers.segment_events import rolled_fields
from kcsim.zk.events import EventKind
from kcsim.zk.ports import EventSink

NAMED_AT_MOST = 5
"""Runs that an event names one by one."""


class LogEvents:
    """Tells of the logs of one broker."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink

    def appended(self, partition: Partition, batch: ProduceBatch, info: AppendInfo, cause: int) -> int:
        """A leader has appended what a client sent; returns the event."""
        seq = self._sink.emit(
            EventKind.RECORDS_APPENDED,
            cause,
            topic=partition.tp.topic,
            partition=partition.tp.partition,
            leader_epoch=partition.leader_epoch,
            count=batch.count,
            offset=info.first_offset,
            end_offset=info.last_offset + 1,
            writer=batch.writer,
            sequence=batch.first_sequence,
        )
        self.rolled(partition.written_log, info.rolls, seq)
        return seq

    def rolled(self, log: ReplicaLog, rolls: Sequence[SegmentRolled], cause: int) -> None:
        """An append has closed segments."""
        for roll in rolls:
            self._sink.emit(EventKind.SEGMENT_ROLLED, cause, **rolled_fields(log.tp, roll, log.config))

    def truncated(
        self, log: ReplicaLog, cut: Truncated, high_watermark: int, leader: int, rule: str, inputs: str, cause: int
    ) -> None:
        """A follower has cut off records, if there were any.

        Args:
            high_watermark: the follower's before that; what was below it counted as committed.
            rule, inputs: why just there.
        """
        if not cut.removed:
            return
        committed = max(0, high_watermark - cut.removed[0].base_offset)
        below = f"; {committed} of them had been committed" if committed else ""
        self._sink.emit(
            EventKind.RECORDS_TRUNCATED,
            cause,
            topic=log.tp.topic,
            partition=log.tp.partition,
            leader=leader,
            count=cut.count,
            offset=cut.removed[0].base_offset,
            end_offset=cut.removed[-1].end_offset,
            high_watermark=high_watermark,
            rule=rule,
            inputs=inputs,
            detail=f"{said_of(cut.removed)}{below}",
        )


def said_of(runs: Sequence[Run]) -> str:
    """Whose records these are, in words: "producer-a 10..14 of epoch 1"."""
    named = ", ".join(_words(runs[:NAMED_AT_MOST]))
    return named + (f" and {len(runs) - NAMED_AT_MOST} more runs" if len(runs) > NAMED_AT_MOST else "")


def _words(runs: Iterable[Run]) -> list[str]:
    return [
        f"{run.writer} {run.first_sequence}"
        + (f"..{run.last_sequence}" if run.count > 1 else "")
        + f" of epoch {run.leader_epoch}"
        for run in runs
    ]
