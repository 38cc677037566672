"""What a broker was told of the cluster by UpdateMetadata requests, for its clients and for itself.

Source: Kafka 2.8, MetadataCache; reference requests.md 4.2.
"""

from collections.abc import Collection

from kcsim.brokers.metadata_image import NOTHING_TOLD, MetadataImage
from kcsim.controller.requests import ErrorCode, UpdateMetadataBroker, UpdateMetadataRequest
from kcsim.zk.vocabulary import BrokerId, Endpoint, TopicPartition


class MetadataCache:
    """Brokers and partitions. Brokers are replaced by each request, partitions merged.

    Attributes:
        partitions: all that it was told of and not told to forget.
    """

    def __init__(self) -> None:
        self.controller_id: BrokerId | None = None
        self.partitions: MetadataImage = NOTHING_TOLD
        self._live_brokers: dict[BrokerId, UpdateMetadataBroker] = {}

    def update(self, request: UpdateMetadataRequest) -> Collection[TopicPartition]:
        """Learn what a request says, whatever leader epochs were known before.

        Returns: the partitions that it said to forget, and that were known.
        """
        self.controller_id = request.controller_id
        self._live_brokers = {broker.broker_id: broker for broker in request.live_brokers}
        if not request.partitions:
            return ()
        self.partitions = self.partitions.after(request.partitions)
        return self.partitions.forgotten

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self.partitions

    @property
    def live_broker_ids(self) -> list[BrokerId]:
        """Sorted."""
        return sorted(self._live_brokers)

    def is_alive(self, broker: BrokerId | None) -> bool:
        return broker in self._live_brokers

    def endpoint(self, broker: BrokerId, listener: str) -> Endpoint | None:
        """Where a live broker is reached on that listener; None for one that is not known to live, or has none such."""
        info = self._live_brokers.get(broker)
        return next((e for e in info.endpoints if e.listener == listener), None) if info else None

    def leader_for_clients(self, tp: TopicPartition) -> tuple[BrokerId | None, ErrorCode]:
        """Who leads, as a client that asks is told: nobody, and why, if the leader is not among the live brokers."""
        state = self.partitions.get(tp)
        if state is None:
            return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        leader = state.state.leader_and_isr.leader
        return (leader, ErrorCode.NONE) if self.is_alive(leader) else (None, ErrorCode.LEADER_NOT_AVAILABLE)
