"""The periodic check for segments of a broker's logs that may be deleted.

It runs every log.retention.check.interval.ms, from 30 s after the start of the process. Kafka checks all logs each time.
Here a log is checked when there may be something to delete, and the task sleeps while there is none: an idle broker with a
retention of a week does nothing for a week.

Left out: compaction, and the minute between the removal of a segment from the log and the deletion of its file. Source:
Kafka 2.8, LogManager.cleanupLogs; docs/kafka/log_segments.md 5.
"""

from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.log_retention import next_retention_ms
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.log.segment_events import deleted_fields
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.runtime.ports import Promise, Runtime, Task
from kcsim.vocabulary import TopicPartition

FIRST_CHECK_MS = 30_000
"""Time of the first check after the start of the process."""


class RetentionTask:
    """Deletes the old segments of one broker's logs.

    Args:
        epoch_ms: wall-clock time at the start of the run, in ms since 1970.
    """

    def __init__(self, runtime: Runtime, disk: Disk, sink: EventSink, epoch_ms: int, check_interval_ms: int) -> None:
        self._runtime = runtime
        self._disk = disk
        self._sink = sink
        self._epoch_ms = epoch_ms
        self._check_interval_ms = check_interval_ms
        self._started_ms = runtime.now_ms()
        self._causes: dict[TopicPartition, Cause] = {}
        self._due_ms: dict[TopicPartition, int] = {}  # in ms of the run
        self._sleeps_until_ms = 0
        self._woken: Promise[None] = runtime.promise()
        self._task: Task | None = None

    def startup(self, cause: Cause) -> None:
        """Start with the process: check the logs that the disk already has."""
        self._started_ms = self._runtime.now_ms()
        for log in self._disk:
            self.changed(log, cause)

    def changed(self, log: ReplicaLog, cause: Cause = None) -> None:
        """Check a log at the next check, because it has grown, has another start offset or has other settings.

        Args:
            cause: the cause of a later deletion event; None: keep the last one given. A log without a cause was never
                written to.
        """
        if cause is not None:
            self._causes[log.tp] = cause
        if log.tp not in self._causes or not log.segments:
            return
        self._due_ms[log.tp] = self._runtime.now_ms()
        if self._task is None:
            self._task = self._runtime.spawn("kafka-log-retention", self._run())
        elif self._check_from(self._runtime.now_ms()) < self._sleeps_until_ms:
            self._woken.resolve(None)

    def close(self) -> None:
        if self._task is not None:
            self._task.kill()

    async def _run(self) -> None:
        while self._due_ms:
            self._sleeps_until_ms = self._check_from(min(self._due_ms.values()))
            self._woken = self._runtime.promise()
            try:
                await self._woken.wait(self._sleeps_until_ms - self._runtime.now_ms())
            except TimedOutError:
                self._check()
        self._task = None

    def _check_from(self, due_ms: int) -> int:
        """Return the time of the first check at or after `due_ms`; a check at the current time has already run."""
        due_ms = max(due_ms, self._runtime.now_ms() + 1)
        since_first_ms = max(0, due_ms - self._started_ms - FIRST_CHECK_MS)
        checks = -(-since_first_ms // self._check_interval_ms)
        return self._started_ms + FIRST_CHECK_MS + checks * self._check_interval_ms

    def _check(self) -> None:
        now_ms = self._runtime.now_ms()
        for tp in [tp for tp, due_ms in self._due_ms.items() if due_ms <= now_ms]:
            del self._due_ms[tp]
            if tp in self._disk:
                self._look_at(self._disk.log(tp), now_ms)

    def _look_at(self, log: ReplicaLog, now_ms: int) -> None:
        deleted = log.apply_retention(self._epoch_ms + now_ms)
        if deleted:
            for fields in deleted_fields(log, deleted):
                self._sink.emit(EventKind.SEGMENT_DELETED, self._causes[log.tp], **fields)
        due_ms = next_retention_ms(log.state, log.config, self._epoch_ms + now_ms)
        if due_ms is not None:
            self._due_ms[log.tp] = due_ms - self._epoch_ms
