"""Evenness of replica placement, counted."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.controller.decisions.assignment import assign_replicas, naive_modulo_assignment
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Draw
from kcsim.controller.decisions.spread import Evenness, Load, evenness, spread
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.controller.decisions.made_up_brokers import SIX_ON_THREE, draws, on_racks, racked_brokers, without_racks


def test_replicas_and_leaders_are_counted_per_broker_and_rack() -> None:
    brokers = on_racks(a=[0, 1], b=[2])
    found = spread({0: (BrokerId(0), BrokerId(2)), 1: (BrokerId(0), BrokerId(1))}, brokers)
    assert found.brokers == {0: Load(replicas=2, leaders=2), 1: Load(1, 0), 2: Load(1, 0)}
    assert found.racks == {"a": Load(replicas=3, leaders=2), "b": Load(1, 0)}
    assert (found.sharing_a_rack, found.fewest_racks, found.most_racks) == ((1,), 1, 2)


def test_a_broker_that_is_not_there_counts_and_has_no_rack() -> None:
    found = spread({0: (BrokerId(7), BrokerId(0))}, on_racks(a=[0]))
    assert (found.brokers[BrokerId(7)], found.racks) == (Load(1, 1), {"a": Load(1, 0)})


def test_a_whole_cluster_is_counted_by_its_partitions() -> None:
    brokers = on_racks(a=[0, 1])
    two = (BrokerId(0), BrokerId(1))
    orders, payments = TopicPartition("orders", 0), TopicPartition("payments", 0)
    found = spread({orders: two, payments: two[::-1]}, brokers)
    assert found.sharing_a_rack == (orders, payments)
    assert found.leaders_per_broker == Evenness(smallest=1, largest=1, mean=1.0, standard_deviation=0.0)


def test_follower_sets_show_why_kafka_does_not_use_the_naive_rule() -> None:
    """When a broker dies, its load falls on the same few brokers, or on all others."""
    brokers = without_racks(*range(6))
    naive = spread(naive_modulo_assignment(brokers, 30, 2), brokers)
    kafkas = spread(assign_replicas(brokers, 30, 2, Draw(0, 0)), brokers)
    assert set(naive.follower_sets.values()) == {1}
    assert set(kafkas.follower_sets.values()) == {5}


def test_followers_in_another_order_are_the_same_set() -> None:
    a, b, c = map(BrokerId, (0, 1, 2))
    assert spread({0: (a, b, c), 1: (a, c, b)}, []).follower_sets == {a: 1, b: 0, c: 0}


def test_a_partition_without_replicas_leads_nowhere() -> None:
    found = spread({0: ()}, on_racks(a=[0]))
    assert (found.brokers, found.sharing_a_rack, found.most_racks) == ({0: Load(0, 0)}, (), 0)


def test_the_example_on_three_racks_is_even() -> None:
    found = spread(assign_replicas(SIX_ON_THREE, 6, 3, Draw(0, 0)), SIX_ON_THREE)
    assert found.replicas_per_broker == Evenness(3, 3, 3.0, 0.0)
    assert found.leaders_per_rack == Evenness(2, 2, 2.0, 0.0)
    assert (found.sharing_a_rack, found.fewest_racks) == ((), 3)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([2, 4, 4, 4, 5, 5, 7, 9], Evenness(smallest=2, largest=9, mean=5.0, standard_deviation=2.0)),
        ([3], Evenness(3, 3, 3.0, 0.0)),
        ([], Evenness(0, 0, 0.0, 0.0)),
    ],
)
def test_evenness_is_that_of_the_whole_population(counts: list[int], expected: Evenness) -> None:
    assert evenness(counts) == expected


@given(racked_brokers(), st.data(), draws, st.integers(1, 60))
def test_nothing_is_lost_in_counting(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, partitions: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    placed = assign_replicas(brokers, partitions, rf, drawn)
    found = spread(placed, brokers)
    counted = Counter(broker for replicas in placed.values() for broker in replicas)
    assert {broker: load.replicas for broker, load in found.brokers.items() if load.replicas} == counted
    assert sum(load.leaders for load in found.brokers.values()) == partitions
    assert sum(load.replicas for load in found.racks.values()) == partitions * rf
    assert bool(found.sharing_a_rack) == (rf > found.fewest_racks)
