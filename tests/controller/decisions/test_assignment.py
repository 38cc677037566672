"""Placement of replicas: Kafka's worked examples, properties of every placement, and the two random numbers."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.controller.decisions.assignment import MANY_PARTITIONS, assign_replicas, naive_modulo_assignment
from kcsim.controller.decisions.assignment_table import assignment_from_table
from kcsim.controller.decisions.broker_ring import (
    BrokerMetadata,
    RackAwareMode,
    effective_brokers,
    rack_alternated_list,
    ring_of,
)
from kcsim.controller.decisions.kafka_refusals import (
    AdminCommandFailedError,
    AdminOperationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    RefusedError,
    topic_command_line,
)
from kcsim.controller.decisions.placement import CandidateRule, Draw, candidates, draw, replica_index
from tests.bench.assignment import direct_loop
from tests.controller.decisions.made_up_brokers import (
    SIX_ON_THREE,
    any_brokers,
    draws,
    evenly_racked_brokers,
    on_racks,
    racked_brokers,
    unracked_brokers,
    without_racks,
)
from tests.examples import fewer

NOTHING_DRAWN = Draw(0, 0)

# --- Kafka's own examples --------------------------------------------------------------------------------------------------


def test_without_racks_followers_move_one_broker_on_with_each_round() -> None:
    """Source: Kafka's AdminTest.testReplicaAssignment: 5 brokers, 10 partitions."""
    assert assign_replicas(without_racks(0, 1, 2, 3, 4), 10, 3, NOTHING_DRAWN) == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


def test_racks_alternate_in_the_list_that_is_walked() -> None:
    """Source: Kafka's AdminRackAwareTest; exhausted racks are skipped."""
    assert rack_alternated_list(SIX_ON_THREE) == (0, 3, 1, 5, 4, 2)
    assert rack_alternated_list(on_racks(rack1=[0, 1, 2], rack2=[3], rack3=[4, 5])) == (0, 3, 4, 1, 5, 2)


def test_racks_are_sorted_as_text() -> None:
    assert rack_alternated_list(on_racks(r10=[0], r2=[1], r1=[2])) == (2, 0, 1)


def test_with_racks_a_new_round_moves_the_followers_on_by_a_round_of_racks() -> None:
    """Source: docs/kafka/assignment.md 4: partition 6 of the example."""
    assert assign_replicas(SIX_ON_THREE, 7, 3, NOTHING_DRAWN)[6] == (0, 4, 2)


def test_the_last_brokers_of_small_racks_get_a_replica_of_everything() -> None:
    """Source: docs/kafka/assignment.md 4: with racks of unequal size the followers are not distributed evenly."""
    placed = assign_replicas(on_racks(a=[0, 1, 2], b=[3]), 20, 2, NOTHING_DRAWN)
    assert all(3 in replicas for replicas in placed.values())


def test_partitions_may_begin_anywhere() -> None:
    """A start on a multiple of n counts as one more round immediately."""
    brokers = without_racks(0, 1, 2, 3)
    assert assign_replicas(brokers, 2, 2, Draw(1, 1), start_partition=8) == {8: (1, 0), 9: (2, 1)}
    assert assign_replicas(brokers, 2, 2, Draw(1, 1), start_partition=5) == {5: (2, 0), 6: (3, 1)}


def test_a_negative_start_partition_counts_as_0() -> None:
    brokers = without_racks(0, 1, 2)
    assert assign_replicas(brokers, 3, 2, Draw(1, 2), -1) == assign_replicas(brokers, 3, 2, Draw(1, 2), 0)


def test_without_racks_the_order_handed_over_is_walked() -> None:
    assert assign_replicas(without_racks(7, 3, 5), 3, 1, NOTHING_DRAWN) == {0: (7,), 1: (3,), 2: (5,)}


def test_the_naive_rule_leaves_the_followers_where_they_were() -> None:
    """The two rules differ from partition n on; before, with both numbers 0, they are equal."""
    brokers = without_racks(0, 1, 2)
    naive = naive_modulo_assignment(brokers, 4, 2)
    kafkas = assign_replicas(brokers, 4, 2, NOTHING_DRAWN)
    assert [naive[p] for p in range(3)] == [kafkas[p] for p in range(3)]
    assert (naive[3], kafkas[3]) == ((0, 1), (0, 2))


# --- properties of every placement -----------------------------------------------------------------------------------------


@fewer(4)
@given(any_brokers, st.data(), draws, st.integers(1, 60), st.integers(0, 30))
def test_the_answer_is_that_of_kafkas_formulae(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, partitions: int, start: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    assert assign_replicas(brokers, partitions, rf, drawn, start) == direct_loop(brokers, partitions, rf, drawn, start)


@fewer(4)
@given(any_brokers, st.data(), draws, st.integers(1, 200), st.integers(0, 30))
def test_whole_rounds_at_once_give_the_same_answer(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, partitions: int, start: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    expected = direct_loop(brokers, partitions, rf, drawn, start)
    assert assignment_from_table(ring_of(brokers), partitions, rf, drawn, start) == expected


@fewer(4)
@given(any_brokers, st.data(), draws, st.integers(1, 60))
def test_the_replicas_of_a_partition_are_different_brokers(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, partitions: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    placed = assign_replicas(brokers, partitions, rf, drawn)
    assert {len(set(replicas)) for replicas in placed.values()} == {rf}


@fewer(4)
@given(any_brokers, st.data(), draws, st.integers(1, 5))
def test_whole_rounds_give_every_broker_equally_many_leaders(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, rounds: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    placed = assign_replicas(brokers, rounds * len(brokers), rf, drawn)
    assert Counter(replicas[0] for replicas in placed.values()) == {broker.id: rounds for broker in brokers}


@fewer(4)
@given(any_brokers, draws, st.integers(1, 60))
def test_leaders_never_differ_by_more_than_one(brokers: list[BrokerMetadata], drawn: Draw, partitions: int) -> None:
    leaders = Counter(replicas[0] for replicas in assign_replicas(brokers, partitions, 1, drawn).values())
    counts = [leaders[broker.id] for broker in brokers]
    assert max(counts) - min(counts) <= 1


@fewer(4)
@given(st.one_of(unracked_brokers(), evenly_racked_brokers()), st.data(), draws, st.integers(1, 5))
def test_whole_rounds_give_every_broker_equally_many_replicas_if_racks_are_of_one_size(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, rounds: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    placed = assign_replicas(brokers, rounds * len(brokers), rf, drawn)
    counts = Counter(broker for replicas in placed.values() for broker in replicas)
    assert counts == {broker.id: rounds * rf for broker in brokers}


@fewer(4)
@given(racked_brokers(), st.data(), draws, st.integers(1, 60))
def test_replicas_reach_as_many_racks_as_they_can(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, partitions: int
) -> None:
    """rf >= racks: every rack has one. rf <= racks: no rack has two."""
    rf = data.draw(st.integers(1, len(brokers)))
    rack_of = {broker.id: broker.rack for broker in brokers}
    reached = min(rf, len(set(rack_of.values())))
    placed = assign_replicas(brokers, partitions, rf, drawn)
    assert {len({rack_of[broker] for broker in replicas}) for replicas in placed.values()} == {reached}


@fewer(4)
@given(unracked_brokers(), st.data(), draws)
def test_one_rack_is_as_good_as_none(brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    by_id = sorted(brokers)
    on_one = [BrokerMetadata(broker.id, "only") for broker in brokers]
    assert assign_replicas(on_one, 40, rf, drawn) == assign_replicas(by_id, 40, rf, drawn)


@fewer(4)
@given(racked_brokers(), st.randoms(use_true_random=False), draws)
def test_with_racks_the_order_handed_over_does_not_matter(
    brokers: list[BrokerMetadata], random: Random, drawn: Draw
) -> None:
    shuffled = random.sample(brokers, len(brokers))
    assert assign_replicas(shuffled, 40, 1, drawn) == assign_replicas(brokers, 40, 1, drawn)


@fewer(4)
@given(any_brokers, st.data(), draws)
def test_shifts_that_agree_modulo_the_distinct_ones_place_alike(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    later = Draw(drawn.start_index, drawn.next_replica_shift + ring_of(brokers).distinct_shifts(rf))
    assert assign_replicas(brokers, 40, rf, later) == assign_replicas(brokers, 40, rf, drawn)


# --- very many partitions --------------------------------------------------------------------------------------------------


def test_very_many_partitions_are_a_mapping_like_any_other() -> None:
    brokers = on_racks(a=[0, 1], b=[2, 3], c=[4])
    placed = assign_replicas(brokers, MANY_PARTITIONS, 3, Draw(2, 1), start_partition=7)
    assert placed == direct_loop(brokers, MANY_PARTITIONS, 3, Draw(2, 1), 7)
    assert (len(placed), next(iter(placed)), 6 in placed, MANY_PARTITIONS + 7 in placed) == (
        MANY_PARTITIONS,
        7,
        False,
        False,
    )
    with pytest.raises(KeyError, match="6"):
        placed[6]


# --- one candidate after the other -----------------------------------------------------------------------------------------


def test_the_search_names_who_was_passed_over_and_for_which_rule() -> None:
    """A rack that has a replica waits for those that have none; the search goes on round the ring, never from the start."""
    ring = ring_of(on_racks(a=[0, 1, 2], b=[3], c=[4]))
    assert ring.brokers == (0, 3, 4, 1, 2)
    assert [(ring.brokers[c.position], c.number, c.rule) for c in candidates(ring, 0, shift=3)] == [
        (0, None, CandidateRule.CHOSEN),
        (4, 0, CandidateRule.CHOSEN),
        (1, 1, CandidateRule.SAME_RACK),
        (2, 2, CandidateRule.SAME_RACK),
        (3, 3, CandidateRule.CHOSEN),
        (4, 4, CandidateRule.ALREADY_REPLICA),
        (1, 5, CandidateRule.CHOSEN),
        (2, 6, CandidateRule.CHOSEN),
    ]


def test_the_worked_formula_of_a_followers_position() -> None:
    assert [replica_index(2, 1, j, 3) for j in (0, 1)] == [1, 0]


# --- the two random numbers ------------------------------------------------------------------------------------------------


class Scripted:
    """A source of random numbers that returns these numbers and records the calls."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)
        self.asked: list[int] = []

    def randrange(self, stop: int, /) -> int:
        self.asked.append(stop)
        return self.numbers.pop(0)


def test_the_start_is_drawn_first_and_the_shift_second() -> None:
    numbers = Scripted(4, 2)
    assert (draw(numbers, 5), numbers.asked) == (Draw(start_index=4, next_replica_shift=2), [5, 5])


def test_a_fixed_start_is_the_shift_too_and_nothing_is_drawn() -> None:
    """The start may lie beyond the list: the formulae reduce it."""
    numbers = Scripted()
    assert (draw(numbers, 5, fixed_start_index=13), numbers.asked) == (Draw(13, 13), [])
    assert assign_replicas(without_racks(0, 1, 2, 3, 4), 1, 3, Draw(13, 13)) == {0: (3, 0, 1)}


@fewer(4)
@given(st.integers(0, 2**32), st.integers(1, 50))
def test_the_same_seed_draws_the_same_numbers(seed: int, brokers: int) -> None:
    drawn = draw(Random(seed), brokers)
    assert drawn == draw(Random(seed), brokers)
    assert set(drawn) <= set(range(brokers))


# --- racks of some brokers only --------------------------------------------------------------------------------------------


MIXED = [*on_racks(rack1=[2], rack2=[1]), *without_racks(0)]


def test_enforced_racks_refuse_a_half_labelled_cluster() -> None:
    with pytest.raises(AdminOperationError) as refused:
        effective_brokers(MIXED, RackAwareMode.ENFORCED)
    assert str(refused.value) == (
        "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment"
        " without rack information."
    )


@pytest.mark.parametrize(
    ("mode", "brokers", "racks"),
    [
        (RackAwareMode.SAFE, MIXED, [None, None, None]),
        (RackAwareMode.DISABLED, MIXED, [None, None, None]),
        (RackAwareMode.SAFE, on_racks(a=[1, 0]), ["a", "a"]),
        (RackAwareMode.ENFORCED, on_racks(b=[1], a=[0]), ["a", "b"]),
        (RackAwareMode.DISABLED, on_racks(b=[1], a=[0]), [None, None]),
        (RackAwareMode.ENFORCED, without_racks(1, 0), [None, None]),
        (RackAwareMode.ENFORCED, [], []),
    ],
)
def test_brokers_come_by_id_with_all_racks_or_none(
    mode: RackAwareMode, brokers: Sequence[BrokerMetadata], racks: list[str | None]
) -> None:
    seen = effective_brokers(brokers, mode)
    assert [broker.id for broker in seen] == list(range(len(brokers)))
    assert [broker.rack for broker in seen] == racks


# --- refusals --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("brokers", "partitions", "rf", "error", "message"),
    [
        (without_racks(0, 1, 2), 0, 0, InvalidPartitionsError, "Number of partitions must be larger than 0."),
        (without_racks(), 3, -2, InvalidReplicationFactorError, "Replication factor must be larger than 0."),
        (
            without_racks(0, 1, 2),
            10,
            4,
            InvalidReplicationFactorError,
            "Replication factor: 4 larger than available brokers: 3.",
        ),
        (MIXED, 1, 4, InvalidReplicationFactorError, "Replication factor: 4 larger than available brokers: 3."),
        (
            MIXED,
            1,
            2,
            AdminOperationError,
            "Not all brokers have rack information for replica rack aware assignment.",
        ),
        (without_racks(0, 1, 1), 1, 1, AdminCommandFailedError, "Broker list contains duplicate entries: 1"),
    ],
)
def test_the_first_failing_check_speaks(
    brokers: list[BrokerMetadata], partitions: int, rf: int, error: type[RefusedError], message: str
) -> None:
    """Source: docs/kafka/assignment.md 6, in this order: partitions, replication factor, its size, racks."""
    with pytest.raises(error) as refused:
        assign_replicas(brokers, partitions, rf, NOTHING_DRAWN)
    assert str(refused.value) == message


def test_the_topic_tool_puts_its_prefix_before_a_refusal() -> None:
    assert topic_command_line(InvalidPartitionsError("No.")) == "Error while executing topic command : No."


@fewer(4)
@given(st.lists(st.sampled_from([*MIXED, *on_racks(a=[7])]), max_size=5), st.integers(-2, 9), st.integers(-2, 9), draws)
def test_no_input_breaks_it(brokers: list[BrokerMetadata], partitions: int, rf: int, drawn: Draw) -> None:
    with suppress(RefusedError):
        assert len(assign_replicas(brokers, partitions, rf, drawn)) == partitions
