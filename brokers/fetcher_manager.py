"""The fetchers of one broker, one for each leader that it follows.

Source: Kafka 2.8, ReplicaFetcherManager, with num.replica.fetchers 1.
"""

from collections.abc import Iterable, Mapping

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.fetch_pace import FetchPace
from kcsim.brokers.fetcher import LeaderEndpoint, ReplicaFetcher
from kcsim.brokers.followed_logs import FollowedLogs
from kcsim.brokers.ports import Network
from kcsim.brokers.requests import FetchPartition
from kcsim.zk.ports import EventSink, Runtime
from kcsim.zk.vocabulary import BrokerId, TopicPartition


class ReplicaFetcherManager:
    """A partition is in one fetcher at most."""

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        network: Network,
        sink: EventSink,
        config: BrokerConfig,
        logs: FollowedLogs,
    ) -> None:
        self._broker_id = broker_id
        self._runtime = runtime
        self._network = network
        self._sink = sink
        self._config = config
        self._logs = logs
        self._pace = FetchPace(runtime)
        self.fetchers: dict[LeaderEndpoint, ReplicaFetcher] = {}

    def add(self, wanted: Mapping[LeaderEndpoint, Mapping[TopicPartition, FetchPartition]]) -> None:
        """Fetch these partitions from these leaders; those of them that are fetched already are to be removed before."""
        for leader, partitions in wanted.items():
            if leader not in self.fetchers:
                self.fetchers[leader] = ReplicaFetcher(
                    self._broker_id,
                    leader,
                    self._runtime,
                    self._network,
                    self._sink,
                    self._config,
                    self._logs,
                    self._pace,
                )
            self.fetchers[leader].add(partitions)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        gone: Mapping[TopicPartition, None] = dict.fromkeys(partitions)
        for fetcher in self.fetchers.values():
            fetcher.remove(gone)

    def slow_down(self, records_per_second: float | None) -> None:
        """Replicate no faster than that from now on; None: as fast as it goes. 0: not at all."""
        self._pace.change(records_per_second)
        for fetcher in self.fetchers.values():
            fetcher.look_again()

    def shutdown_idle(self) -> None:
        """End the fetchers that have nothing left to fetch."""
        for leader, fetcher in list(self.fetchers.items()):
            if not fetcher.partitions:
                fetcher.close()
                del self.fetchers[leader]

    def close(self) -> None:
        for fetcher in self.fetchers.values():
            fetcher.close()
        self.fetchers.clear()
