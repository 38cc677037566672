"""What follows when a leader's log grows, or is replicated further: the high watermark moves, and whoever waits is woken.

Source: Kafka 2.8, Partition.maybeIncrementLeaderHW, ReplicaManager.completeDelayedFetchOrProduceRequests; reference
requests.md 6.3, 8.
"""

from collections.abc import Iterable

from kcsim.brokers.fetch_sessions import FollowerSessions
from kcsim.brokers.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.partition import Partition
from kcsim.brokers.wake_ups import WakeUps
from kcsim.zk.ports import Runtime
from kcsim.zk.vocabulary import TopicPartition


class Committing:
    """Moves the high watermarks of the partitions that a broker leads.

    Args:
        max_lag_ms: replica.lag.time.max.ms.

    Attributes:
        sessions: followers' fetches, which wait for records.
        wake_ups: everybody else, who waits for the high watermark to move or the leader to change.
    """

    def __init__(
        self,
        runtime: Runtime,
        sessions: FollowerSessions,
        wake_ups: WakeUps,
        checkpoint: HighWatermarkCheckpoint,
        max_lag_ms: int,
    ) -> None:
        self.sessions = sessions
        self.wake_ups = wake_ups
        self.checkpoint = checkpoint
        self._runtime = runtime
        self._max_lag_ms = max_lag_ms

    def advance(self, partition: Partition) -> None:
        """Commit what can be; to be called whenever the leader's log, a follower's position or the ISR has changed."""
        if partition.is_leader and partition.advance_high_watermark(self._runtime.now_ms(), self._max_lag_ms):
            self.checkpoint.moved(partition.written_log)
            self.sessions.high_watermark_moved(partition)
            self.wake_ups.wake((partition.tp,))

    def touch(self, tps: Iterable[TopicPartition]) -> None:
        """Something has changed about who leads these, or whether they are here: everybody who waits looks again."""
        touched = list(tps)
        self.sessions.touch(touched)
        self.wake_ups.wake(touched)
