"""When a broker looks which old segments of its logs may be deleted.

Every log.retention.check.interval.ms, from half a minute after its process began. Kafka looks at all logs each time; here a
log is looked at when there may be something to delete, and as long as there is none the task sleeps: an idle broker whose
records are kept for a week does nothing for a week.

Left out: compaction, and the minute between a segment's leaving the log and its file's end.
Source: Kafka 2.8, LogManager.cleanupLogs; reference log_segments.md 5.
"""

from kcsim.brokers.disk import Disk
from kcsim.brokers.log_retention import next_retention_ms
from kcsim.brokers.replica_log import ReplicaLog
from kcsim.brokers.segment_events import deleted_fields
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventKind
from kcsim.zk.ports import Cause, EventSink, Promise, Runtime, Task
from kcsim.zk.vocabulary import TopicPartition

FIRST_CHECK_MS = 30_000
"""After the start of the process."""


class RetentionTask:
    """Deletes the old segments of one broker's logs.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970.
    """

    def __init__(self, runtime: Runtime, disk: Disk, sink: EventSink, epoch_ms: int, check_interval_ms: int) -> None:
        self._runtime = runtime
        self._disk = disk
        self._sink = sink
        self._epoch_ms = epoch_ms
        self._check_interval_ms = check_interval_ms
        self._started_ms = runtime.now_ms()
        self._causes: dict[TopicPartition, Cause] = {}
        self._due_ms: dict[TopicPartition, int] = {}  # of the run
        self._sleeps_until_ms = 0
        self._woken: Promise[None] = runtime.promise()
        self._task: Task | None = None

    def startup(self, cause: Cause) -> None:
        """The process begins: whatever earlier lives of it have left is looked at."""
        self._started_ms = self._runtime.now_ms()
        for log in self._disk:
            self.changed(log, cause)

    def changed(self, log: ReplicaLog, cause: Cause = None) -> None:
        """A log has grown or begins elsewhere, or has other settings: it is looked at in the next check.

        Args:
            cause: the event that a deletion follows from; None: the one given last. A log without any was never written to.
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
        """When the first check is that comes no sooner; one at this very moment has been."""
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
