"""The fetchers of one broker, one for each leader that it follows.

Source: Kafka 2.8, ReplicaFetcherManager, with num.replica.fetchers 1.
"""

from collections.abc import Iterable, Mapping

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.ports import BrokerPorts
from kcsim.brokers.replication.fetcher import LeaderEndpoint, ReplicaFetcher
from kcsim.brokers.replication.follower_logs import FollowerLogs
from kcsim.brokers.replication.replication_throttle import ReplicationThrottle
from kcsim.brokers.requests import FetchPartition
from kcsim.vocabulary import BrokerId, TopicPartition


class ReplicaFetcherManager:
    """The fetchers of one broker; a partition is in at most one of them."""

    def __init__(
        self,
        broker_id: BrokerId,
        ports: BrokerPorts,
        config: BrokerConfig,
        logs: FollowerLogs,
    ) -> None:
        self._broker_id = broker_id
        self._ports = ports
        self._config = config
        self._logs = logs
        self._throttle = ReplicationThrottle(ports.runtime)
        self._held: frozenset[TopicPartition] = frozenset()
        self.fetchers: dict[LeaderEndpoint, ReplicaFetcher] = {}

    def add(self, wanted: Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]) -> None:
        """Fetch these partitions from these leaders. Partitions that are already fetched must be removed first."""
        for leader, partitions in (self._without_held(wanted) if self._held else wanted).items():
            if leader not in self.fetchers:
                self.fetchers[leader] = ReplicaFetcher(
                    self._broker_id,
                    leader,
                    self._ports,
                    self._config,
                    self._logs,
                    self._throttle,
                )
            self.fetchers[leader].add(partitions)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        gone: Mapping[TopicPartition, None] = dict.fromkeys(partitions)
        for fetcher in self.fetchers.values():
            fetcher.remove(gone)

    def hold(self, partitions: Iterable[TopicPartition]) -> None:
        """Let these replicas, which must not be fetched yet, stay as far behind as they are until the broker restarts."""
        self._held = frozenset(partitions)

    def _without_held(
        self, wanted: Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]
    ) -> Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]:
        fetched = {
            leader: {tp: fetch for tp, fetch in partitions.items() if tp not in self._held}
            for leader, partitions in wanted.items()
        }
        return {leader: partitions for leader, partitions in fetched.items() if partitions}

    def slow_down(self, records_per_second: float | None) -> None:
        """Limit replication to this rate from now on. None: no limit. 0: no replication."""
        self._throttle.change(records_per_second)
        for fetcher in self.fetchers.values():
            fetcher.look_again()

    def shutdown_idle(self) -> None:
        """Close the fetchers without partitions."""
        for leader, fetcher in list(self.fetchers.items()):
            if not fetcher.partitions:
                fetcher.close()
                del self.fetchers[leader]

    def close(self) -> None:
        for fetcher in self.fetchers.values():
            fetcher.close()
        self.fetchers.clear()
