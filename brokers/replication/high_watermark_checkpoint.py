"""Writes the high watermark of each replica to disk, so that a restarted process knows an approximate value.

It is written every replica.high.watermark.checkpoint.interval.ms from the first LeaderAndIsr on, and at a clean shutdown.
The task does not run while no high watermark changes.

Source: Kafka 2.8, ReplicaManager.checkpointHighWatermarks; docs/kafka/requests.md 6.6.
"""

from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.runtime.ports import Runtime, Task
from kcsim.vocabulary import TopicPartition


class HighWatermarkCheckpoint:
    """The high watermark checkpoint of one broker."""

    def __init__(self, runtime: Runtime, interval_ms: int) -> None:
        self._runtime = runtime
        self._interval_ms = interval_ms
        self._started_ms: int | None = None
        self._moved: dict[TopicPartition, ReplicaLog] = {}
        self._task: Task | None = None

    def start(self) -> None:
        """Start the interval; called at the first LeaderAndIsr."""
        if self._started_ms is None:
            self._started_ms = self._runtime.now_ms()

    def moved(self, log: ReplicaLog) -> None:
        """Note that a log's high watermark has changed."""
        self._moved[log.tp] = log
        if self._task is None:
            self.start()
            self._task = self._runtime.spawn("highwatermark-checkpoint", self._run())

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to write at the next checkpoint."""
        return self._task is not None

    def write(self) -> None:
        for log in self._moved.values():
            log.checkpoint_high_watermark()
        self._moved.clear()

    def close(self) -> None:
        """Stop the task and write all changed high watermarks; for a clean shutdown."""
        if self._task is not None:
            self._task.kill()
        self.write()

    async def _run(self) -> None:
        assert self._started_ms is not None
        while self._moved:
            since_start_ms = self._runtime.now_ms() - self._started_ms
            await self._runtime.sleep_ms(self._interval_ms - since_start_ms % self._interval_ms)
            self.write()
        self._task = None
