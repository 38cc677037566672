"""The partitions of which a broker has a replica, and those that it had in a failed log directory.

Source: Kafka 2.8, ReplicaManager.allPartitions and HostedPartition.
"""

from collections.abc import Iterable, Iterator

from kcsim.brokers.replication.partition import Partition
from kcsim.vocabulary import BrokerId, TopicPartition


class HostedPartitions:
    """The partitions of one broker. A partition is hosted, offline or unknown.

    Args:
        refused_stay_online: the capability refused_partitions_stay_online.

    Attributes:
        offline: partitions lost with a log directory, or whose log could not be created: requests for them are refused until
            the process restarts. Without `refused_stay_online`, those whose first LeaderAndIsr was refused, too.
    """

    def __init__(self, broker_id: BrokerId, refused_stay_online: bool = False) -> None:
        self.offline: set[TopicPartition] = set()
        self.broker_id = broker_id
        self._refused_stay_online = refused_stay_online
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

    def mark_offline_without_log(self, accepted: Iterable[TopicPartition], refused: Iterable[TopicPartition]) -> None:
        """Mark the partitions of a LeaderAndIsr that have no log by now as offline.

        Args:
            refused: those that were refused as the partitions of other brokers or topics, or for their leader epoch.
        """
        considered = accepted if self._refused_stay_online else (*accepted, *refused)
        self.mark_offline([tp for tp in considered if not self._has_log(tp)])

    def _has_log(self, tp: TopicPartition) -> bool:
        partition = self.get(tp)
        return partition is not None and partition.log is not None

    def mark_offline(self, tps: Iterable[TopicPartition]) -> None:
        """Mark partitions whose log is lost or cannot be created as offline."""
        for tp in tps:
            self._partitions.pop(tp, None)
            self.offline.add(tp)
