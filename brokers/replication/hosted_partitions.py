"""The partitions of which a broker has a replica, and those that it had in a failed log directory.

Source: Kafka 2.8, ReplicaManager.allPartitions and HostedPartition.
"""

from collections.abc import Iterable, Iterator

from kcsim.brokers.replication.partition import Partition
from kcsim.vocabulary import BrokerId, TopicPartition


class HostedPartitions:
    """The partitions of one broker. A partition is hosted, offline or unknown.

    Attributes:
        offline: partitions lost with a log directory, or without a log after a LeaderAndIsr request for them: requests for
            them are refused until the process restarts.
    """

    def __init__(self, broker_id: BrokerId) -> None:
        self.offline: set[TopicPartition] = set()
        self.broker_id = broker_id
        self._partitions: dict[TopicPartition, Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def __len__(self) -> int:
        return len(self._partitions)

    def get(self, tp: TopicPartition) -> Partition | None:
        return self._partitions.get(tp)

    def get_or_add(self, tp: TopicPartition) -> Partition:
        """Return the partition; create one without a role if it is unknown here."""
        partition = self._partitions.get(tp)
        if partition is None:
            partition = self._partitions[tp] = Partition(tp, self.broker_id)
        return partition

    def remove(self, tp: TopicPartition) -> None:
        self._partitions.pop(tp, None)

    def mark_offline(self, tps: Iterable[TopicPartition]) -> None:
        """Mark partitions whose log is lost or cannot be created as offline."""
        for tp in tps:
            self._partitions.pop(tp, None)
            self.offline.add(tp)
