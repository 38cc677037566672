"""The follower's operations on its logs: truncation, appends of fetched records, updates of the high watermark.

Source: Kafka 2.8, ReplicaFetcherThread.processPartitionData, truncate, AbstractFetcherThread; docs/kafka/requests.md 7.
"""

from collections.abc import Callable, Sequence

from kcsim.brokers.log.replica_log import ReplicaLog, Truncated
from kcsim.brokers.log.retention_task import RetentionTask
from kcsim.brokers.records import Run
from kcsim.brokers.replication.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.replication.hosted_partitions import HostedPartitions
from kcsim.brokers.replication.log_events import LogEvents
from kcsim.brokers.replication.truncation import truncation_step
from kcsim.brokers.requests import DivergingEpoch, EpochEnd, FetchedPartition
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition

LEADERS_LOG_START = "leader's log start"
"""Rule by which a follower deletes its whole log: retention has left the leader no records that continue it."""


class FollowerLogs:
    """The logs of the partitions that a broker follows.

    Args:
        wall_clock_ms: returns the wall-clock time, in ms since 1970.
        truncates_by_epoch: whether leader epochs determine where to truncate; else the high watermark does, as before
            KIP-101.
    """

    def __init__(
        self,
        wall_clock_ms: Callable[[], int],
        hosted: HostedPartitions,
        events: LogEvents,
        checkpoint: HighWatermarkCheckpoint,
        retention: RetentionTask,
        truncates_by_epoch: bool = True,
    ) -> None:
        self._now_ms = wall_clock_ms
        self._hosted = hosted
        self._events = events
        self._checkpoint = checkpoint
        self._retention = retention
        self._truncates_by_epoch = truncates_by_epoch

    def log(self, tp: TopicPartition) -> ReplicaLog:
        partition = self._hosted.get(tp)
        assert partition is not None, f"{tp} is fetched, and is not here"
        return partition.written_log

    # --- truncation

    def latest_epoch(self, tp: TopicPartition) -> LeaderEpoch | None:
        """Return the epoch to query the leader about; None if the log has no leader epoch."""
        return self.log(tp).latest_epoch if self._truncates_by_epoch else None

    def truncate_to_high_watermark(self, tp: TopicPartition, leader: BrokerId, cause: int) -> None:
        """Truncate to the high watermark, so that only committed records remain: for a log without leader epochs."""
        log = self.log(tp)
        inputs = "no leader epoch is known here" if self._truncates_by_epoch else "leader epochs are not gone by"
        self._cut(log, leader, log.high_watermark, "high watermark", inputs, cause)

    def truncate_by_epoch(self, tp: TopicPartition, leader: BrokerId, answer: EpochEnd | DivergingEpoch, cause: int) -> bool:
        """Truncate to the leader's end of the latest common epoch. Return False if the leader must be queried again."""
        log = self.log(tp)
        requested, own = log.latest_epoch, log.end_offset_for(answer.leader_epoch)
        offset, is_done = truncation_step(answer, own, log.log_end_offset, log.high_watermark)
        asked = "asked about" if isinstance(answer, EpochEnd) else "fetched after"
        inputs = (
            f"{asked} epoch {requested}; the leader: epoch {answer.leader_epoch} ends at {answer.end_offset}; "
            f"here epoch {own.leader_epoch} ends at {own.end_offset}"
        )
        self._cut(log, leader, offset, "leader epoch", inputs, cause)
        return is_done

    def truncate_to_leaders_end(self, tp: TopicPartition, leader: BrokerId, leaders_end: int, cause: int) -> bool:
        """Truncate records that the leader never had. Return whether the leader's log ends before this one.

        Source: docs/kafka/requests.md 7.3.
        """
        log = self.log(tp)
        if leaders_end >= log.log_end_offset:
            return False
        inputs = f"the leader's log ends at {leaders_end}"
        self._cut(log, leader, leaders_end, "leader's log end", inputs, cause)
        return True

    def continue_from_leaders_start(self, tp: TopicPartition, leader: BrokerId, leaders_start: int, cause: int) -> None:
        """Delete the whole log if the leader's log begins beyond its end.

        Source: docs/kafka/requests.md 7.3.
        """
        log = self.log(tp)
        if leaders_start > log.log_end_offset:
            high_watermark = log.high_watermark
            removed = log.truncate_fully_and_start_at(leaders_start)
            inputs = f"the leader's log begins at {leaders_start}"
            self._emit_truncated(log, removed, high_watermark, leader, LEADERS_LOG_START, inputs, cause)

    def _cut(self, log: ReplicaLog, leader: BrokerId, offset: int, rule: str, inputs: str, cause: int) -> None:
        high_watermark = log.high_watermark
        self._emit_truncated(log, log.truncate_to(offset), high_watermark, leader, rule, inputs, cause)

    def _emit_truncated(
        self, log: ReplicaLog, removed: Truncated, high_watermark: int, leader: BrokerId, rule: str, inputs: str, cause: int
    ) -> None:
        self._events.truncated(log, removed, high_watermark, leader, rule, inputs, cause)
        if log.high_watermark != high_watermark:
            self._checkpoint.moved(log)

    # --- records

    def append(self, tp: TopicPartition, fetched: FetchedPartition, at_most: int | None, cause: int) -> int:
        """Append fetched records and update the high watermark from the response. Return the number of appended records.

        Args:
            at_most: how many records may be appended; None: all.

        Raises: UnexpectedAppendOffsetError, RecordBatchTooLargeError; nothing has changed then.
        """
        log = self.log(tp)
        runs = fetched.runs if at_most is None else _first(fetched.runs, at_most)
        if runs:
            info = log.append_as_follower(runs, self._now_ms())
            self._events.rolled(log, info.rolls, cause)
        high_watermark = max(log.log_start_offset, min(fetched.high_watermark, log.log_end_offset))
        if high_watermark != log.high_watermark:
            log.high_watermark = high_watermark
            self._checkpoint.moved(log)
        has_new_start = log.increment_log_start_offset(min(fetched.log_start_offset, high_watermark))
        if runs or has_new_start:
            self._retention.changed(log, cause)
        return sum(run.count for run in runs)


def _first(runs: Sequence[Run], count: int) -> list[Run]:
    """Return the first `count` records of these runs."""
    taken = []
    for run in runs:
        if count <= 0:
            break
        taken.append(run.until(min(run.end_offset, run.base_offset + count)))
        count -= run.count
    return taken
