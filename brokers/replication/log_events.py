"""Events about the logs of a broker's replicas: appended records and truncated records, with their writers."""

from collections.abc import Iterable, Sequence

from kcsim.brokers.log.replica_log import AppendInfo, ReplicaLog, Truncated
from kcsim.brokers.log.segment_appends import SegmentRolled
from kcsim.brokers.log.segment_events import rolled_fields
from kcsim.brokers.records import Run
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.requests import ProduceBatch
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink

NAMED_AT_MOST = 5
"""Maximum number of runs that an event describes one by one."""


class LogEvents:
    """Emits the events about the logs of one broker."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink

    def appended(self, partition: Partition, batch: ProduceBatch, info: AppendInfo, cause: int) -> int:
        """Report that a leader has appended a client's batch. Return the seq of the event."""
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
        """Report the segments that an append has closed."""
        for roll in rolls:
            self._sink.emit(EventKind.SEGMENT_ROLLED, cause, **rolled_fields(log.tp, roll, log.config))

    def truncated(
        self, log: ReplicaLog, cut: Truncated, high_watermark: int, leader: int, rule: str, inputs: str, cause: int
    ) -> None:
        """Report the records that a follower has truncated, if there are any.

        Args:
            high_watermark: the follower's before the truncation; records below it counted as committed.
            rule, inputs: the reason for the truncation offset.
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
            detail=f"{runs_text(cut.removed)}{below}",
        )


def runs_text(runs: Sequence[Run]) -> str:
    """Describe the writers and epochs of records: "producer-a 10..14 of epoch 1"."""
    named = ", ".join(_words(runs[:NAMED_AT_MOST]))
    return named + (f" and {len(runs) - NAMED_AT_MOST} more runs" if len(runs) > NAMED_AT_MOST else "")


def _words(runs: Iterable[Run]) -> list[str]:
    return [
        f"{run.writer} {run.first_sequence}"
        + (f"..{run.last_sequence}" if run.count > 1 else "")
        + f" of epoch {run.leader_epoch}"
        for run in runs
    ]
