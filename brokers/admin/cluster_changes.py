"""What a broker changes for clients, and which component carries out which request.

Source: Kafka 2.8, KafkaApis.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kcsim.brokers.admin.change_requests import (
    AlterConfigsRequest,
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from kcsim.brokers.admin.config_changes import ConfigChanges
from kcsim.brokers.admin.leader_changes import LeaderChanges
from kcsim.brokers.admin.record_deletions import RecordDeletions
from kcsim.brokers.admin.topic_changes import TopicChanges


@dataclass(frozen=True, slots=True)
class ClusterChanges:
    """The components that carry out the requests."""

    topics: TopicChanges
    configs: ConfigChanges
    records: RecordDeletions
    leaders: LeaderChanges

    def answers(self) -> Mapping[type, Callable[[Any, int], Awaitable[Any]]]:
        """Return what takes a request and its cause, and returns the response, by the class of the request."""
        return {
            CreateTopicsRequest: self.topics.create_topics,
            DeleteTopicsRequest: self.topics.delete_topics,
            CreatePartitionsRequest: self.topics.create_partitions,
            AlterConfigsRequest: self.configs.alter,
            IncrementalAlterConfigsRequest: self.configs.alter_incrementally,
            DeleteRecordsRequest: self.records.delete,
            AlterPartitionReassignmentsRequest: self.leaders.alter_partition_reassignments,
            ElectLeadersRequest: self.leaders.elect_leaders,
        }
