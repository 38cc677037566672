"""A broker's view of the cluster from UpdateMetadata requests, for its clients and for itself.

Source: Kafka 2.8, MetadataCache; docs/kafka/requests.md 4.2.
"""

from collections.abc import Callable, Collection

from kcsim.brokers.metadata_image import EMPTY_IMAGE, MetadataImage
from kcsim.controller.requests import ErrorCode, UpdateMetadataBroker, UpdateMetadataRequest
from kcsim.vocabulary import BrokerId, Endpoint, TopicPartition


class MetadataCache:
    """Brokers and partitions. Each request replaces the brokers and merges the partitions.

    Attributes:
        partitions: all partitions that were received and not removed again.
        cluster_id: as the broker has read it from ZooKeeper; None before that.
    """

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller_id: BrokerId | None = None
        self.partitions: MetadataImage = EMPTY_IMAGE
        self._live_brokers: dict[BrokerId, UpdateMetadataBroker] = {}
        self._listeners: list[Callable[[], None]] = []

    def watch(self, listener: Callable[[], None]) -> None:
        """Register a listener, which is called after each update."""
        self._listeners.append(listener)

    def update(self, request: UpdateMetadataRequest) -> Collection[TopicPartition]:
        """Apply a request, whatever leader epochs were known before.

        Returns: the known partitions that the request removed.
        """
        self.controller_id = request.controller_id
        self._live_brokers = {broker.broker_id: broker for broker in request.live_brokers}
        forgotten: Collection[TopicPartition] = ()
        if request.partitions:
            self.partitions = self.partitions.after(request.partitions, request.topic_ids)
            forgotten = self.partitions.forgotten
        for listener in self._listeners:
            listener()
        return forgotten

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self.partitions

    @property
    def live_broker_ids(self) -> list[BrokerId]:
        """The ids of the live brokers, sorted."""
        return sorted(self._live_brokers)

    @property
    def racks(self) -> dict[BrokerId, str]:
        """The racks of the live brokers that have one."""
        return {broker.broker_id: broker.rack for broker in self._live_brokers.values() if broker.rack is not None}

    def is_alive(self, broker: BrokerId | None) -> bool:
        return broker in self._live_brokers

    def endpoint(self, broker: BrokerId, listener: str) -> Endpoint | None:
        """Return a live broker's endpoint on that listener; None if the broker is not live or has no such listener."""
        info = self._live_brokers.get(broker)
        return next((e for e in info.endpoints if e.listener == listener), None) if info else None

    def leader_for_clients(self, tp: TopicPartition) -> tuple[BrokerId | None, ErrorCode]:
        """Return the leader as reported to clients: None, with an error, if the leader is not among the live brokers."""
        state = self.partitions.get(tp)
        if state is None:
            return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        leader = state.state.leader_and_isr.leader
        return (leader, ErrorCode.NONE) if self.is_alive(leader) else (None, ErrorCode.LEADER_NOT_AVAILABLE)
