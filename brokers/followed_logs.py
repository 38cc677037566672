"""What a follower does to its logs: cuts them to be like the leader's, appends what it has fetched, commits what it is told.

Source: Kafka 2.8, ReplicaFetcherThread.processPartitionData, truncate, AbstractFetcherThread; reference requests.md 7.
"""

from collections.abc import Sequence

from kcsim.brokers.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.hosted import HostedPartitions
from kcsim.brokers.log_events import LogEvents
from kcsim.brokers.records import Run
from kcsim.brokers.replica_log import ReplicaLog, Truncated
from kcsim.brokers.requests import EpochEnd, FetchedPartition
from kcsim.brokers.retention_task import RetentionTask
from kcsim.brokers.truncation import truncation_step
from kcsim.zk.ports import Runtime
from kcsim.zk.vocabulary import BrokerId, LeaderEpoch, TopicPartition

LEADERS_LOG_START = "leader's log start"
"""Rule by which a follower cuts everything: retention has left the leader nothing that would continue its log."""


class FollowedLogs:
    """The logs of the partitions that a broker follows.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970.
        truncates_by_epoch: whether leader epochs say where to truncate; else it is the high watermark, as before KIP-101.
    """

    def __init__(
        self,
        runtime: Runtime,
        hosted: HostedPartitions,
        events: LogEvents,
        checkpoint: HighWatermarkCheckpoint,
        retention: RetentionTask,
        epoch_ms: int,
        truncates_by_epoch: bool = True,
    ) -> None:
        self._runtime = runtime
        self._hosted = hosted
        self._events = events
        self._checkpoint = checkpoint
        self._retention = retention
        self._epoch_ms = epoch_ms
        self._truncates_by_epoch = truncates_by_epoch

    def log(self, tp: TopicPartition) -> ReplicaLog:
        partition = self._hosted.get(tp)
        assert partition is not None, f"{tp} is fetched, and is not here"
        return partition.written_log

    def _now_ms(self) -> int:
        return self._epoch_ms + self._runtime.now_ms()

    # --- truncation

    def latest_epoch(self, tp: TopicPartition) -> LeaderEpoch | None:
        """The epoch about which the leader is to be asked; None if no leader is known to have written the log."""
        return self.log(tp).latest_epoch if self._truncates_by_epoch else None

    def truncate_to_high_watermark(self, tp: TopicPartition, leader: BrokerId, cause: int) -> None:
        """Keep only what is known to be committed: for a log without epochs."""
        log = self.log(tp)
        inputs = "no leader epoch is known here" if self._truncates_by_epoch else "leader epochs are not gone by"
        self._cut(log, leader, log.high_watermark, "high watermark", inputs, cause)

    def truncate_by_epoch(self, tp: TopicPartition, leader: BrokerId, answer: EpochEnd, cause: int) -> bool:
        """Cut where the leader's log of the latest common epoch ends; returns whether that is done, or to be asked again."""
        log = self.log(tp)
        asked, own = log.latest_epoch, log.end_offset_for(answer.leader_epoch)
        offset, is_done = truncation_step(answer, own, log.log_end_offset, log.high_watermark)
        inputs = (
            f"asked about epoch {asked}; the leader: epoch {answer.leader_epoch} ends at {answer.end_offset}; "
            f"here epoch {own.leader_epoch} ends at {own.end_offset}"
        )
        self._cut(log, leader, offset, "leader epoch", inputs, cause)
        return is_done

    def truncate_to_leaders_end(self, tp: TopicPartition, leader: BrokerId, leaders_end: int, cause: int) -> bool:
        """Cut what the leader has never had; returns whether its log ends before this one.

        Source: reference requests.md 7.3.
        """
        log = self.log(tp)
        if leaders_end >= log.log_end_offset:
            return False
        inputs = f"the leader's log ends at {leaders_end}"
        self._cut(log, leader, leaders_end, "leader's log end", inputs, cause)
        return True

    def continue_from_leaders_start(self, tp: TopicPartition, leader: BrokerId, leaders_start: int, cause: int) -> None:
        """Forget everything if the leader has nothing that would continue it.

        Source: reference requests.md 7.3.
        """
        log = self.log(tp)
        if leaders_start > log.log_end_offset:
            high_watermark = log.high_watermark
            removed = log.truncate_fully_and_start_at(leaders_start)
            inputs = f"the leader's log begins at {leaders_start}"
            self._tell(log, removed, high_watermark, leader, LEADERS_LOG_START, inputs, cause)

    def _cut(self, log: ReplicaLog, leader: BrokerId, offset: int, rule: str, inputs: str, cause: int) -> None:
        high_watermark = log.high_watermark
        self._tell(log, log.truncate_to(offset), high_watermark, leader, rule, inputs, cause)

    def _tell(
        self, log: ReplicaLog, removed: Truncated, high_watermark: int, leader: BrokerId, rule: str, inputs: str, cause: int
    ) -> None:
        self._events.truncated(log, removed, high_watermark, leader, rule, inputs, cause)
        if log.high_watermark != high_watermark:
            self._checkpoint.moved(log)

    # --- records

    def append(self, tp: TopicPartition, fetched: FetchedPartition, at_most: int | None, cause: int) -> int:
        """Append what a fetch has brought, and commit as far as the leader said; returns how many records were taken.

        Args:
            at_most: how many may be taken; None: all.

        Raises: UnexpectedAppendOffsetError, RecordBatchTooLargeError; nothing has happened then.
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
    """The first records of these runs."""
    taken = []
    for run in runs:
        if count <= 0:
            break
        taken.append(run.until(min(run.end_offset, run.base_offset + count)))
        count -= run.count
    return taken
