"""What a broker was told of the cluster's partitions, as a value that brokers share.

The controller tells all brokers the same, in the same order, so hundreds of them know the same of a million partitions: once
in memory, and once worked out. A broker that was told otherwise, or began later, has a value of its own. Nothing of this
can be seen from outside: it only spares memory and time.
"""

from collections.abc import Collection, Iterator, Mapping
from weakref import ref

from kcsim.controller.requests import UpdateMetadataPartitionState
from kcsim.zk.vocabulary import TopicPartition

Told = Mapping[TopicPartition, UpdateMetadataPartitionState]
OfTopic = Mapping[int, UpdateMetadataPartitionState]


class MetadataImage(Mapping[TopicPartition, UpdateMetadataPartitionState]):
    """Partitions by topic; never changed.

    Args:
        forgotten: partitions that the image before this one had, and that what was `told` then said to forget.
    """

    __slots__ = ("__weakref__", "_next", "_of_topics", "_told", "forgotten")

    def __init__(
        self, of_topics: Mapping[str, OfTopic], told: Told | None = None, forgotten: Collection[TopicPartition] = ()
    ) -> None:
        self.forgotten = forgotten
        self._of_topics = of_topics
        self._told = told
        self._next: ref[MetadataImage] | None = None  # weak: an image is kept by the brokers that have it

    def after(self, told: Told) -> "MetadataImage":
        """What a broker knows that is told this next; the same object for all who are given the same mapping.

        Nobody changes the mapping any more. Topics of which it says nothing are shared, not copied.
        """
        made = self._next() if self._next is not None else None
        if made is None or made._told is not told:
            made = self._after(told)
            self._next = ref(made)
        return made

    def _after(self, told: Told) -> "MetadataImage":
        touched: dict[str, dict[int, UpdateMetadataPartitionState]] = {}
        forgotten = []
        for tp, state in told.items():
            topic, number = tp
            known = touched.get(topic)
            if known is None:
                known = touched[topic] = dict(self._of_topics.get(topic, {}))
            if not state.is_being_deleted:
                known[number] = state
            elif known.pop(number, None) is not None:
                forgotten.append(tp)
        of_topics = {**self._of_topics, **touched}
        return MetadataImage({topic: known for topic, known in of_topics.items() if known}, told, forgotten)

    # --- looks

    @property
    def topics(self) -> Collection[str]:
        """Those of which it has a partition."""
        return self._of_topics.keys()

    def of_topic(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic, in order; none of an unknown one."""
        return [TopicPartition(topic, number) for number in sorted(self._of_topics.get(topic, ()))]

    def __getitem__(self, tp: TopicPartition) -> UpdateMetadataPartitionState:
        return self._of_topics[tp.topic][tp.partition]

    def __iter__(self) -> Iterator[TopicPartition]:
        return (TopicPartition(topic, number) for topic, known in self._of_topics.items() for number in known)

    def __len__(self) -> int:
        return sum(map(len, self._of_topics.values()))


NOTHING_TOLD = MetadataImage({})
"""What every broker knows at its start."""
