"""Keeps on disk how far each replica is committed, so that a process that is started anew knows roughly.

Every replica.high.watermark.checkpoint.interval.ms from the first LeaderAndIsr on, and at an orderly stop. Nothing is done
while no high watermark moves.

Source: Kafka 2.8, ReplicaManager.checkpointHighWatermarks; reference requests.md 6.6.
"""

from kcsim.brokers.replica_log import ReplicaLog
from kcsim.zk.ports import Runtime, Task
from kcsim.zk.vocabulary import TopicPartition


class HighWatermarkCheckpoint:
    """The checkpoint of one broker."""

    def __init__(self, runtime: Runtime, interval_ms: int) -> None:
        self._runtime = runtime
        self._interval_ms = interval_ms
        self._started_ms: int | None = None
        self._moved: dict[TopicPartition, ReplicaLog] = {}
        self._task: Task | None = None

    def start(self) -> None:
        """The first LeaderAndIsr has come; from then on the interval is counted."""
        if self._started_ms is None:
            self._started_ms = self._runtime.now_ms()

    def moved(self, log: ReplicaLog) -> None:
        """A high watermark is another than it was."""
        self._moved[log.tp] = log
        if self._task is None:
            self.start()
            self._task = self._runtime.spawn("highwatermark-checkpoint", self._run())

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to be written at the next beat."""
        return self._task is not None

    def write(self) -> None:
        for log in self._moved.values():
            log.checkpointed_high_watermark = log.high_watermark
        self._moved.clear()

    def close(self) -> None:
        """An orderly stop: what has moved is kept."""
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
