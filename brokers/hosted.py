"""The partitions of which a broker has a replica, and those that it had on a disk that failed.

Source: Kafka 2.8, ReplicaManager.allPartitions and HostedPartition.
"""

from collections.abc import Iterable, Iterator

from kcsim.brokers.partition import Partition
from kcsim.zk.vocabulary import BrokerId, TopicPartition


class HostedPartitions:
    """A partition is known, offline, or unknown here.

    Attributes:
        offline: marked as lost with a log directory: refused until the process starts anew.
    """

    def __init__(self, broker_id: BrokerId) -> None:
        self.offline: set[TopicPartition] = set()
        self._broker_id = broker_id
        self._partitions: dict[TopicPartition, Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def __len__(self) -> int:
        return len(self._partitions)

    def get(self, tp: TopicPartition) -> Partition | None:
        return self._partitions.get(tp)

    def get_or_add(self, tp: TopicPartition) -> Partition:
        """The partition; one about which nothing is known yet if it is new here."""
        partition = self._partitions.get(tp)
        if partition is None:
            partition = self._partitions[tp] = Partition(tp, self._broker_id)
        return partition

    def remove(self, tp: TopicPartition) -> None:
        self._partitions.pop(tp, None)

    def mark_offline(self, tps: Iterable[TopicPartition]) -> None:
        """Their log is lost, or cannot be made."""
        for tp in tps:
            self._partitions.pop(tp, None)
            self.offline.add(tp)
