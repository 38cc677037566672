"""A consumer's knowledge of topics, and when it requests metadata: patterns and leaders are looked up in that metadata.

No task waits for a response here; it arrives in the consumer's inbox. Source: Kafka 2.8, ConsumerMetadata and Metadata.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from kcsim.brokers.clients.clients import ClientProcess, ClusterClient
from kcsim.brokers.clients.consumer_config import ConsumerSpec
from kcsim.brokers.groups.assignors.subscriptions import TopicPattern
from kcsim.brokers.requests import MetadataRequest, MetadataResponse
from kcsim.controller.ports import BrokerConnectionError
from kcsim.runtime.ports import Mailbox


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """The result of a metadata request; no response when no broker could be reached."""

    response: MetadataResponse | None


class TopicWatch:
    """The topics of one consumer.

    Attributes:
        known: topics that exist by the latest metadata -> their number of partitions.
        group_topics: at the leader of a group: all topics to which a member of the group subscribes.
        is_amiss: the metadata proved wrong or is incomplete, so it is requested again after a back-off.
    """

    def __init__(self, process: ClientProcess, client: ClusterClient, spec: ConsumerSpec, inbox: "Mailbox[object]") -> None:
        self.known: dict[str, int] = {}
        self.group_topics: set[str] = set()
        self.is_amiss = False
        self._process = process
        self._client = client
        self._subscription = spec.subscription
        self._config = spec.config
        self._inbox = inbox
        self._requested_ms: int | None = None
        self._learnt_ms: int | None = None
        self._is_requesting = False

    def look(self, cause: int) -> None:
        """Request metadata if it is due."""
        now_ms = self._process.now_ms()
        if now_ms >= self.due_ms:
            self._requested_ms, self._is_requesting = now_ms, True
            self._process.spawn("metadata", self._ask(cause))

    @property
    def due_ms(self) -> int:
        """When to request next: after a back-off if something is amiss, else when the metadata has reached its max. age."""
        if self._requested_ms is None:
            return 0
        config = self._config
        is_soon = self.is_amiss and not self._is_requesting
        return max(self._requested_ms, self._process.now_ms() if self._is_requesting else 0) + (
            config.retry_backoff_ms if is_soon else config.metadata_max_age_ms
        )

    async def _ask(self, cause: int) -> None:
        named = {*self._subscription.topics_among(()), *self.group_topics}
        topics = None if isinstance(self._subscription, TopicPattern) else tuple(sorted(named))
        response: MetadataResponse | None = None
        with suppress(BrokerConnectionError):
            response = await self._client.any_broker(MetadataRequest(topics), cause)
        self._inbox.put(MetadataAnswer(response))

    def learn(self, answer: MetadataAnswer) -> None:
        """Apply a response."""
        self._is_requesting = False
        response = answer.response
        if response is None:
            self.is_amiss = True
            return
        self._learnt_ms = self._process.now_ms()
        is_leaderless = any(partition.leader is None for partition in response.partitions.values())
        self.is_amiss = bool(response.topic_errors) or is_leaderless
        self._client.metadata = response
        self.known = _partition_counts(response)

    def is_fresh_enough_to_join(self) -> bool:
        """Return True if a pattern may be matched now; if not, let metadata be requested.

        So this member sees the topics that made another member rejoin, and not only one rebalance later.
        """
        if not isinstance(self._subscription, TopicPattern):
            return True
        if self._learnt_ms is not None and self._process.now_ms() - self._learnt_ms <= self._config.retry_backoff_ms:
            return True
        self.is_amiss = True
        return False

    @property
    def subscribed(self) -> tuple[str, ...]:
        """The subscribed topics, a pattern matched against the known topics; sorted."""
        return tuple(sorted(self._subscription.topics_among(self.known)))

    @property
    def group_counts(self) -> dict[str, int]:
        """The partition counts of those of the group's topics that exist."""
        return {topic: self.known[topic] for topic in sorted(self.group_topics) if topic in self.known}

    async def get_to_know(self, topics: Iterable[str], cause: int) -> None:
        """As the leader: learn the topics that other members subscribe to. Topics that no broker reports are left out."""
        self.group_topics = set(topics)
        if not self.group_topics <= self.known.keys():
            with suppress(BrokerConnectionError):
                wanted = MetadataRequest(tuple(sorted(self.group_topics)))
                response: MetadataResponse = await self._client.any_broker(wanted, cause)
                self.known |= _partition_counts(response)


def _partition_counts(response: MetadataResponse) -> dict[str, int]:
    counts: dict[str, int] = {}
    for tp in response.partitions:
        counts[tp.topic] = counts.get(tp.topic, 0) + 1
    return counts
