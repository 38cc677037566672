"""Inference of a topic's placement parameters: start index, possible shifts, moved partitions, and where the topic grew."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.partition_growth import added_partitions
from kcsim.controller.decisions.placement import Draw, Replicas
from kcsim.controller.decisions.placement_inference import DrawInference, infer_draw, infer_growth
from kcsim.vocabulary import BrokerId
from tests.controller.decisions.made_up_brokers import (
    SIX_ON_THREE,
    any_brokers,
    draws,
    on_racks,
    unracked_brokers,
    without_racks,
)
from tests.examples import fewer

FOUR = without_racks(0, 1, 2, 3)


def pairs_that_fit(
    described: dict[int, Replicas], brokers: list[BrokerMetadata], rf: int, start_partition: int
) -> list[Draw]:
    """Return all pairs that fit, by trying every start with every shift."""
    n, count = len(brokers), len(described)
    tried = [Draw(start, shift) for start in range(n) for shift in range(n)]
    return [pair for pair in tried if assign_replicas(brokers, count, rf, pair, start_partition) == described]


@fewer(4)
@given(any_brokers, st.data(), draws, st.integers(1, 30), st.integers(0, 12))
def test_every_pair_that_makes_the_topic_is_found_and_no_other(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, partitions: int, start: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    described = dict(assign_replicas(brokers, partitions, rf, drawn, start))
    found = infer_draw(described, brokers, start)
    assert list(found.solutions) == pairs_that_fit(described, brokers, rf, start)
    assert (found.deviating, len({pair.start_index for pair in found.solutions})) == ((), 1)


def test_shift_0_and_the_largest_shift_cannot_be_distinguished() -> None:
    """Source: docs/kafka/assignment.md 8: one of them is therefore twice as likely."""
    described = assign_replicas(FOUR, 40, 3, Draw(1, 3))
    assert infer_draw(described, FOUR) == DrawInference((Draw(1, 0), Draw(1, 3)), ())
    assert infer_draw(assign_replicas(FOUR, 40, 3, Draw(1, 2)), FOUR).is_unique


def test_without_followers_every_shift_fits() -> None:
    described = assign_replicas(FOUR, 4, 1, Draw(2, 2))
    assert infer_draw(described, FOUR).solutions == (Draw(2, 0), Draw(2, 1), Draw(2, 2), Draw(2, 3))


def test_with_racks_more_shifts_are_alike() -> None:
    """4 brokers on 3 racks: the shift has no effect at all."""
    brokers = on_racks(a=[0, 3], b=[1], c=[2])
    assert len(infer_draw(assign_replicas(brokers, 12, 3, Draw(0, 2)), brokers).solutions) == 4


def test_a_partition_that_was_moved_is_reported_with_the_pair_it_deviates_from() -> None:
    """From the vectors' infer-no-solution: partition 3 is swapped."""
    described = {**assign_replicas(FOUR, 6, 2, Draw(1, 2)), 3: (BrokerId(3), BrokerId(0))}
    found = infer_draw(described, FOUR)
    assert (found.solutions, found.is_unique) == ((), False)
    assert (found.fitting, found.deviating) == ((Draw(1, 2),), (3,))


@fewer(4)
@given(unracked_brokers(), draws, st.data())
def test_of_many_partitions_a_few_moved_ones_are_found(
    brokers: list[BrokerMetadata], drawn: Draw, data: st.DataObject
) -> None:
    assume(len(brokers) >= 3)
    described = dict(assign_replicas(brokers, 20, 2, drawn))
    moved = data.draw(st.sets(st.integers(0, 19), min_size=1, max_size=4))
    for partition in moved:
        described[partition] = described[partition][::-1]
    assert infer_draw(described, brokers).deviating == tuple(sorted(moved))


def test_a_partition_with_more_replicas_than_the_others_was_changed() -> None:
    described = {**assign_replicas(FOUR, 6, 2, Draw(1, 2)), 4: assign_replicas(FOUR, 6, 3, Draw(1, 2))[4]}
    assert infer_draw(described, FOUR).deviating == (4,)


def test_brokers_that_took_no_part_explain_nothing() -> None:
    described = {0: (BrokerId(8), BrokerId(9))}
    assert infer_draw(described, FOUR) == DrawInference((), (0,))


def test_partitions_before_the_one_it_began_with_deviate() -> None:
    described = {**assign_replicas(FOUR, 3, 2, Draw(1, 2), start_partition=2), 1: (BrokerId(0), BrokerId(1))}
    found = infer_draw(described, FOUR, start_partition=2)
    assert (found.fitting, found.deviating) == ((Draw(1, 2),), (1,))


def test_of_no_partitions_nothing_is_known() -> None:
    assert infer_draw({}, FOUR) == DrawInference((), ())


# --- growth ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("brokers", [without_racks(0, 1, 2, 3, 4, 5), SIX_ON_THREE], ids=["without racks", "with racks"])
def test_a_topic_that_grew_twice_gives_away_when(brokers: list[BrokerMetadata]) -> None:
    described = dict(assign_replicas(brokers, 7, 2, Draw(2, 4)))
    for total in (15, 21):
        described |= added_partitions("t", described, brokers, total)
    assert infer_draw(described, brokers).solutions == ()
    growth = infer_growth(described, brokers)
    assert growth is not None
    assert growth.additions == (7, 15)
    assert Draw(2, 4) in growth.created.solutions


@fewer(4)
@given(any_brokers, st.data(), draws, st.integers(1, 12), st.integers(1, 12))
def test_an_explanation_by_growth_does_make_the_topic(
    brokers: list[BrokerMetadata], data: st.DataObject, drawn: Draw, before: int, more: int
) -> None:
    rf = data.draw(st.integers(1, len(brokers)))
    described = dict(assign_replicas(brokers, before, rf, drawn))
    described |= added_partitions("t", described, brokers, before + more)
    assume(not infer_draw(described, brokers).solutions)
    growth = infer_growth(described, brokers)
    assert growth is not None
    made = dict(assign_replicas(brokers, growth.additions[0], rf, growth.created.solutions[0]))
    for total in (*growth.additions[1:], before + more):
        made |= added_partitions("t", made, brokers, total)
    assert made == described


def test_a_topic_that_one_placement_explains_has_not_grown() -> None:
    assert infer_growth(assign_replicas(FOUR, 9, 2, Draw(1, 2)), FOUR) is None


def test_a_partition_that_was_moved_is_no_growth() -> None:
    described = {**assign_replicas(FOUR, 12, 2, Draw(1, 2)), 3: (BrokerId(3), BrokerId(0))}
    assert infer_growth(described, FOUR) is None


def test_partitions_that_are_missing_leave_growth_undecided() -> None:
    described = {**assign_replicas(FOUR, 3, 2, Draw(1, 2)), 9: (BrokerId(3), BrokerId(0))}
    assert infer_growth(described, FOUR) is None
