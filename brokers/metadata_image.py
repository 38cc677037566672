"""A broker's view of the cluster's partitions, as a value that brokers share.

The controller sends the same updates to all brokers, in the same order, so hundreds of brokers have the same view of a
million partitions. It is stored once and computed once. A broker that received other updates, or started later, has a value
of its own. Sharing is not visible from outside: it only saves memory and time.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from weakref import ref

from kcsim.controller.requests import UpdateMetadataPartitionState
from kcsim.vocabulary import TopicPartition

PartitionUpdates = Mapping[TopicPartition, UpdateMetadataPartitionState]
OfTopic = Mapping[int, UpdateMetadataPartitionState]


class MetadataImage(Mapping[TopicPartition, UpdateMetadataPartitionState]):
    """Partitions by topic; immutable.

    Args:
        of_topics: the partitions' states, per topic.
        update: the mapping from which this image was made; None for an image without a predecessor.
        forgotten: partitions that the image before this one had and that `update` removed.
        topic_ids: the ids of those topics that have one.
    """

    __slots__ = ("__weakref__", "_next", "_of_topics", "_update", "forgotten", "topic_ids")

    def __init__(
        self,
        of_topics: Mapping[str, OfTopic],
        update: PartitionUpdates | None = None,
        forgotten: Collection[TopicPartition] = (),
        topic_ids: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.forgotten = forgotten
        self.topic_ids = topic_ids
        self._of_topics = of_topics
        self._update = update
        self._next: ref[MetadataImage] | None = None  # weak: an image is kept alive by the brokers that use it

    def after(self, update: PartitionUpdates, topic_ids: Mapping[str, str] | None = None) -> "MetadataImage":
        """Return the image that follows after this update; the same object for all callers that pass the same mapping.

        The mapping must not change any more. Topics without an update are shared, not copied.

        Args:
            topic_ids: of the topics in the update; None if the update has none.
        """
        made = self._next() if self._next is not None else None
        if made is None or made._update is not update:
            made = self._after(update, topic_ids or {})
            self._next = ref(made)
        return made

    def _after(self, update: PartitionUpdates, topic_ids: Mapping[str, str]) -> "MetadataImage":
        touched: dict[str, dict[int, UpdateMetadataPartitionState]] = {}
        forgotten = []
        for tp, state in update.items():
            topic, number = tp
            known = touched.get(topic)
            if known is None:
                known = touched[topic] = dict(self._of_topics.get(topic, {}))
            if not state.is_being_deleted:
                known[number] = state
            elif known.pop(number, None) is not None:
                forgotten.append(tp)
        of_topics = {topic: known for topic, known in {**self._of_topics, **touched}.items() if known}
        ids = {**self.topic_ids, **topic_ids}
        return MetadataImage(of_topics, update, forgotten, {topic: ids[topic] for topic in ids if topic in of_topics})

    # --- reads

    @property
    def topics(self) -> Collection[str]:
        """The topics with at least one partition."""
        return self._of_topics.keys()

    def of_topic(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic, in order; none of an unknown one."""
        return [TopicPartition(topic, number) for number in sorted(self._of_topics.get(topic, ()))]

    def __getitem__(self, tp: TopicPartition) -> UpdateMetadataPartitionState:
        return self._of_topics[tp.topic][tp.partition]

    def __iter__(self) -> Iterator[TopicPartition]:
        return (TopicPartition(topic, number) for topic, known in self._of_topics.items() for number in known)

    def __len__(self) -> int:
        return sum(map(len, self._of_topics.values()))


EMPTY_IMAGE = MetadataImage({})
"""The image of a broker at its start."""
