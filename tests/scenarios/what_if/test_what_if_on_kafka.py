"""What-ifs against reality: a broker of Apache Kafka 2.8.2 dies, and Kafka does what was predicted of each partition."""

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from tests.requirements import KAFKA_3_9_1, require
from tests.scenarios.what_if.losses_on_kafka import compare_loss, drawn_cluster

SEEDS = range(20)


def test_the_drawn_clusters_differ_in_what_matters() -> None:
    """Three to five brokers, with and without one that stays away, and partitions without a second replica."""
    drawn = [drawn_cluster(seed) for seed in SEEDS]
    assert {len(one.brokers) for one in drawn} == {3, 4, 5}
    assert {one.stays_away is None for one in drawn} == {True, False}
    assert {len(replicas) for one in drawn for placed in one.topics.values() for replicas in placed} == {1, 2, 3}


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_leaders_isrs_and_offline_partitions_are_as_predicted(seed: int) -> None:
    require("java", "kafka")
    compared = compare_loss(find_kafka(None), seed)
    assert compared.drawn.lost in compared.snapshot.registered_ids
    assert compared.observed
    assert compared.differences == []


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.nightly
def test_the_newest_kafka_with_zookeeper_does_so_too() -> None:
    """Its znodes have more fields, and another version of the broker registration."""
    require("java", "kafka-3.9.1")
    compared = compare_loss(find_kafka(KAFKA_3_9_1), 1)
    assert compared.snapshot.unread == ()
    assert compared.observed
    assert compared.differences == []
