"""What a hardened controller makes of replica lists that cannot be right."""

from hypothesis import given
from hypothesis import strategies as st

from kcsim.controller.decisions.faulty_assignments import usable_assignment, usable_isr, wrong_replicas
from kcsim.vocabulary import BrokerId, NoBrokerId, ReplicaAssignment

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)
brokers = st.lists(st.integers(1, 4).map(BrokerId), max_size=6).map(tuple)


def test_a_list_is_wrong_if_it_is_empty_or_names_no_broker() -> None:
    assert wrong_replicas(()) == "it has no replicas"
    assert wrong_replicas((B1, BrokerId(-1))) == "-1 is no broker id"
    assert wrong_replicas((BrokerId(NoBrokerId("2.5")),)) == "2.5 is no broker id"
    assert wrong_replicas((B2, B2)) is None


def test_a_reassignment_to_nobody_is_none() -> None:
    """All replicas would be removed, and none would be left to copy from."""
    assert usable_assignment(ReplicaAssignment((B1, B2), (), (B2, B1))) == ReplicaAssignment((B1, B2))


def test_an_assignment_that_can_be_right_stays() -> None:
    moving = ReplicaAssignment((B3, B1, B2), (B3,), (B1,))
    assert usable_assignment(moving) == moving


@given(brokers.filter(bool), brokers, brokers)
def test_a_usable_assignment_names_each_broker_once_and_keeps_a_target(
    replicas: tuple[BrokerId, ...], adding: tuple[BrokerId, ...], removing: tuple[BrokerId, ...]
) -> None:
    usable = usable_assignment(ReplicaAssignment(replicas, adding, removing))
    assert sorted(usable.replicas) == sorted(set(replicas))
    assert set(usable.adding_replicas) <= set(replicas)
    assert usable.target_replicas


@given(brokers, brokers)
def test_a_usable_isr_has_replicas_only(isr: tuple[BrokerId, ...], replicas: tuple[BrokerId, ...]) -> None:
    usable = usable_isr(isr, replicas)
    assert sorted(usable) == sorted(set(isr) & set(replicas))
