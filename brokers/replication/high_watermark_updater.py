"""Advances high watermarks after a leader's log or its replication has changed, and wakes the waiting requests.

Source: Kafka 2.8, Partition.maybeIncrementLeaderHW, ReplicaManager.completeDelayedFetchOrProduceRequests;
docs/kafka/requests.md 6.3, 8.
"""

from collections.abc import Iterable

from kcsim.brokers.replication.fetch_sessions import FollowerSessions
from kcsim.brokers.replication.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.replication.min_isr import MinIsr
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.replication.purgatory import Purgatory
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import TopicPartition


class HighWatermarkUpdater:
    """Advances the high watermarks of the partitions that a broker leads.

    Args:
        max_lag_ms: replica.lag.time.max.ms.

    Attributes:
        sessions: followers' fetches, which wait for records.
        purgatory: all other requests, which wait until the high watermark moves or the leader changes.
    """

    def __init__(
        self,
        runtime: Runtime,
        sessions: FollowerSessions,
        purgatory: Purgatory,
        checkpoint: HighWatermarkCheckpoint,
        max_lag_ms: int,
        min_isr: MinIsr,
    ) -> None:
        self.sessions = sessions
        self.purgatory = purgatory
        self.checkpoint = checkpoint
        self._runtime = runtime
        self._max_lag_ms = max_lag_ms
        self._min_isr = min_isr

    def advance(self, partition: Partition) -> None:
        """Advance the high watermark if possible.

        Must be called when the leader's log, a follower's position or the ISR has changed.
        """
        if not partition.is_leader or not self._min_isr.lets_high_watermark_move(partition):
            return
        if partition.advance_high_watermark(self._runtime.now_ms(), self._max_lag_ms):
            self.checkpoint.moved(partition.written_log)
            self.sessions.offsets_moved(partition)
            self.purgatory.wake((partition.tp,))

    def touch(self, tps: Iterable[TopicPartition]) -> None:
        """Wake all requests that wait for these partitions.

        Must be called when their leader, or their presence on this broker, has changed.
        """
        touched = list(tps)
        self.sessions.touch(touched)
        self.purgatory.wake(touched)
