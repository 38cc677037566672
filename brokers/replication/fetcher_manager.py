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
        self._held: set[TopicPartition] = set()
        self._withheld: dict[TopicPartition, tuple[LeaderEndpoint, FetchPartition]] = {}
        self.fetchers: dict[LeaderEndpoint, ReplicaFetcher] = {}

    def add(self, wanted: Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]) -> None:
        """Fetch these partitions from these leaders. Partitions that are already fetched must be removed first."""
        if self._held:
            wanted = self._withhold(wanted)
        for leader, partitions in wanted.items():
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
        for tp in gone:
            self._withheld.pop(tp, None)
        for fetcher in self.fetchers.values():
            fetcher.remove(gone)

    def hold(self, partitions: Iterable[TopicPartition]) -> None:
        """Let these replicas, which must not be fetched yet, stay as far behind as they are until they are released.

        A broker that restarts has forgotten them.
        """
        self._held.update(partitions)

    def release(self, partition: TopicPartition) -> None:
        """Fetch a replica that was held, if it has a leader."""
        self._held.discard(partition)
        withheld = self._withheld.pop(partition, None)
        if withheld is not None:
            leader, fetch = withheld
            self.add({leader: {partition: fetch}})

    def _withhold(
        self, wanted: Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]
    ) -> Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]:
        """Return what is fetched without the replicas that are held, and keep those for later."""
        rest: dict[LeaderEndpoint, dict[TopicPartition, FetchPartition]] = {}
        for leader, partitions in wanted.items():
            for tp, fetch in partitions.items():
                if tp in self._held:
                    self._withheld[tp] = (leader, fetch)
                else:
                    rest.setdefault(leader, {})[tp] = fetch
        return rest

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
