"""The ids of topics in logs, by which a broker tells a topic from an earlier one of the same name.

Source: Kafka 2.8, Partition.checkOrSetTopicId and PartitionMetadataFile; Kafka 3.0, Partition.topicId.
"""

from collections.abc import Mapping

from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.vocabulary import TopicPartition


class LogTopicIds:
    """Compares the topic id of a request with that of the log, and keeps it in a log that has none.

    Args:
        from_the_first_request: as in Kafka 3.0. Kafka 2.8 passes over a log that no request has opened since the start of
            the process, so that it takes up the log of an earlier topic; and a new log gets its id with the second request.
    """

    def __init__(self, disk: Disk, from_the_first_request: bool) -> None:
        self._disk = disk
        self._from_the_first_request = from_the_first_request

    def keep(self, topic_ids: Mapping[TopicPartition, str | None]) -> None:
        """Give the logs that a request has opened, as far as they have no topic id, these ids."""
        if not self._from_the_first_request:
            return
        for tp, topic_id in topic_ids.items():
            if topic_id is not None and tp in self._disk and (log := self._disk.log(tp)).topic_id is None:
                log.take_topic_id(topic_id)

    def is_same_topic(self, tp: TopicPartition, opened: ReplicaLog | None, topic_id: str | None) -> bool:
        """Return whether the replica's log, if there is one to compare, is of the topic with this id.

        Args:
            opened: the log; None if it has not been opened since the start of the process.
            topic_id: None if the request has none.
        """
        is_stored = opened is None and self._from_the_first_request and tp in self._disk
        log = self._disk.log(tp) if is_stored else opened
        if topic_id is None or log is None:
            return True
        if log.topic_id is None:
            log.take_topic_id(topic_id)
        return log.topic_id == topic_id
