"""How many in-sync replicas a partition needs: for acks=all, and from Kafka 3.7 on for its high watermark to move.

Source: Kafka 2.8, Partition.appendRecordsToLeader; Kafka 3.9, Partition.isUnderMinIsr and effectiveMinIsr.
"""

from collections.abc import Callable

from kcsim.brokers.replication.partition import Partition


class MinIsr:
    """min.insync.replicas of the partitions that a broker leads.

    Args:
        of_topic: returns min.insync.replicas of a topic.
        binds_high_watermark: the capability min_isr_binds_high_watermark.
    """

    def __init__(self, of_topic: Callable[[str], int], binds_high_watermark: bool) -> None:
        self._of_topic = of_topic
        self._binds_high_watermark = binds_high_watermark

    def is_met(self, partition: Partition) -> bool:
        """Return whether the ISR has enough members for acks=all."""
        return len(partition.isr) >= self._effective(partition)

    def lets_high_watermark_move(self, partition: Partition) -> bool:
        return not self._binds_high_watermark or self.is_met(partition)

    def _effective(self, partition: Partition) -> int:
        minimum = self._of_topic(partition.tp.topic)
        return min(minimum, len(partition.followers) + 1) if self._binds_high_watermark else minimum
