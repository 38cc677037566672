"""Brokers on racks, topics of different sizes, and Kafka's placement of replicas."""

from collections import Counter
from dataclasses import replace

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.scenarios.analysis.generating.layout import layout_of
from kcsim.scenarios.analysis.generating.settings import CONSUMER_OFFSETS, Settings

LAYOUT = layout_of(Settings(partitions=5_000))


def test_topics_have_exactly_as_many_partitions_as_asked_for() -> None:
    assert sum(topic.partitions for topic in LAYOUT.topics) == LAYOUT.partitions == 5_000
    assert len(LAYOUT.topics) == 100


def test_sizes_differ_much_and_no_topic_is_empty() -> None:
    sizes = sorted((topic.partitions for topic in LAYOUT.topics), reverse=True)
    assert sizes[0] > 500
    assert sizes[50] < 50
    assert sizes[-1] >= 1


def test_consumer_offsets_have_their_fifty_partitions() -> None:
    (offsets,) = (topic for topic in LAYOUT.topics if topic.name == CONSUMER_OFFSETS)
    assert offsets.partitions == 50


def test_a_cluster_too_small_for_them_has_no_consumer_offsets() -> None:
    small = layout_of(Settings(topics=3, partitions=10))
    assert CONSUMER_OFFSETS not in {topic.name for topic in small.topics}
    assert small.partitions == 10


def test_replicas_are_placed_as_kafka_places_them_each_on_a_rack_of_its_own() -> None:
    topic = LAYOUT.topics[7]
    assignment = LAYOUT.assignment(topic)
    assert assignment == assign_replicas(LAYOUT.brokers, topic.partitions, 3, topic.drawn)
    assert all(len({LAYOUT.rack_of(b) for b in replicas}) == 3 for replicas in assignment.values())


def test_load_is_even_over_brokers() -> None:
    leaders = Counter(replicas[0] for topic in LAYOUT.topics for replicas in LAYOUT.assignment(topic).values())
    assert max(leaders.values()) < 1.2 * min(leaders.values())


def test_no_two_events_of_a_millisecond_can_have_one_seq() -> None:
    places = [0, *map(LAYOUT.place_of_topic, range(100)), *map(LAYOUT.place_of_partition, range(5_000))]
    assert places == list(range(LAYOUT.stride))


def test_seq_fits_for_a_million_partitions_and_a_century() -> None:
    huge = replace(LAYOUT, partitions=1_000_000)
    assert huge.seq(100 * 366 * 86_400_000, huge.stride - 1) < 2**63


def test_topics_lie_in_the_order_of_their_names() -> None:
    """Files are sorted by name, and a partition's index follows its place in the files."""
    assert [topic.name for topic in LAYOUT.topics] == sorted(topic.name for topic in LAYOUT.topics)
    assert [LAYOUT.topic_of(topic.first_index) for topic in LAYOUT.topics] == list(LAYOUT.topics)
