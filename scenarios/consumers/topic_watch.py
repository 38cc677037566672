"""What a consumer knows of topics, and when it asks again: its pattern is matched, and its leaders are found, by that.

Nobody waits for an answer here; it comes by the consumer's inbox. Source: Kafka 2.8, ConsumerMetadata and Metadata.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from kcsim.brokers.groups.subscriptions import TopicPattern
from kcsim.brokers.requests import MetadataRequest, MetadataResponse
from kcsim.controller.ports import BrokerConnectionError
from kcsim.scenarios.clients import ClientProcess, ClusterClient
from kcsim.scenarios.consumers.consumer_config import ConsumerSpec
from kcsim.zk.ports import Mailbox


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """What came of asking; no response when no broker could be reached."""

    response: MetadataResponse | None


class TopicWatch:
    """The topics of one consumer.

    Attributes:
        known: topics that exist, as metadata told last -> how many partitions.
        group_topics: of the leader of a group: what anybody in it subscribes to.
        is_amiss: what is known has proved wrong or is incomplete, so it is asked for again in a moment.
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
        self._asked_ms: int | None = None
        self._learnt_ms: int | None = None
        self._is_asking = False

    def look(self, cause: int) -> None:
        """Ask, when it is time to."""
        now_ms = self._process.now_ms()
        if now_ms >= self.due_ms:
            self._asked_ms, self._is_asking = now_ms, True
            self._process.spawn("metadata", self._ask(cause))

    @property
    def due_ms(self) -> int:
        """When to ask next: a moment after the last time if something is amiss, else when what is known is too old."""
        if self._asked_ms is None:
            return 0
        config = self._config
        is_soon = self.is_amiss and not self._is_asking
        return max(self._asked_ms, self._process.now_ms() if self._is_asking else 0) + (
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
        """Take an answer in."""
        self._is_asking = False
        response = answer.response
        if response is None:
            self.is_amiss = True
            return
        self._learnt_ms = self._process.now_ms()
        is_leaderless = any(told.leader is None for told in response.partitions.values())
        self.is_amiss = bool(response.unknown_topics) or is_leaderless
        self._client.metadata = response
        self.known = _partition_counts(response)

    def is_fresh_enough_to_join(self) -> bool:
        """Whether a pattern may be matched; if not, what there is will be asked for.

        So what made another member rejoin is seen here as well, and not a rebalance later.
        """
        if not isinstance(self._subscription, TopicPattern):
            return True
        if self._learnt_ms is not None and self._process.now_ms() - self._learnt_ms <= self._config.retry_backoff_ms:
            return True
        self.is_amiss = True
        return False

    @property
    def subscribed(self) -> tuple[str, ...]:
        """What it subscribes to, a pattern matched against what is known; sorted."""
        return tuple(sorted(self._subscription.topics_among(self.known)))

    @property
    def group_counts(self) -> dict[str, int]:
        """How many partitions the group's topics have, of those that exist."""
        return {topic: self.known[topic] for topic in sorted(self.group_topics) if topic in self.known}

    async def get_to_know(self, topics: Iterable[str], cause: int) -> None:
        """As the leader: what others subscribe to may be new here. What nobody can be asked about is left out."""
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
