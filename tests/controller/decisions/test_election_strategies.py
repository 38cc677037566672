"""The elected leader, its ISR, and the recipients. Source: docs/kafka/state_machines.md 2.3, 4 and 8.1;
docs/kafka/assignment.md 10.

Recorded examples are in tests/vectors/leader_election.json; the rules are tested here.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.controller.decisions.election import (
    Election,
    ElectionRule,
    controlled_shutdown_choice,
    elect_at_controlled_shutdown,
    elect_for_new_partition,
    elect_for_reassignment,
    elect_offline,
    elect_preferred,
    first_alive_in_isr,
    may_be_unclean,
    offline_choice,
    preferred_choice,
)
from kcsim.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch, ZkVersion
from tests.examples import fewer

Ids = tuple[BrokerId, ...]


def ids(*numbers: int) -> Ids:
    return tuple(map(BrokerId, numbers))


def stored(isr: Ids, leader: int | None = 9) -> LeaderAndIsr:
    return LeaderAndIsr(None if leader is None else BrokerId(leader), LeaderEpoch(7), isr, ZkVersion(3))


def outcome(election: Election) -> tuple[int | None, Ids, Ids] | None:
    """Return leader, ISR and recipients; None when no leader was elected."""
    elected = election.elected
    return None if elected is None else (elected.leader, elected.isr, election.recipients)


def offline(isr: Ids, online: Ids, assignment: Ids, unclean: bool = False) -> Election:
    return elect_offline(assignment, stored(isr), online, unclean)


@pytest.mark.parametrize(
    ("isr", "marks_recovery", "was_recovering", "is_recovering"),
    [
        (ids(3), True, False, True),
        (ids(3), False, False, False),
        (ids(1), True, False, False),
        (ids(1), True, True, True),
    ],
    ids=["unclean", "unclean before 3.2", "clean", "clean, and the ISR has not changed since an unclean election"],
)
def test_a_leader_from_outside_the_isr_is_marked(
    isr: Ids, marks_recovery: bool, was_recovering: bool, is_recovering: bool
) -> None:
    """KIP-704; recorded from Kafka 3.9.1: tests/conformance/traces/protocol-3.9/unclean-by-command.json."""
    state = replace(stored(isr), is_recovering=was_recovering)
    elected = elect_offline(ids(1, 3), state, ids(1), unclean_allowed=True, marks_recovery=marks_recovery).elected
    assert elected is not None
    assert (elected.leader, elected.is_recovering) == (1, is_recovering)


def controlled(isr: Ids, online: Ids, shutting_down: Ids, assignment: Ids) -> Election:
    return elect_at_controlled_shutdown(assignment, stored(isr), online + shutting_down, shutting_down)


class Row(NamedTuple):
    """A row of the table in 8.1; `expected` is leader, ISR and recipients, or None when the election fails."""

    number: int
    election: Election
    expected: tuple[int, Ids, Ids] | None


A123, A12 = ids(1, 2, 3), ids(1, 2)
TABLE = [
    Row(1, offline(ids(1, 2, 3), ids(2, 3), A123), (2, ids(2, 3), ids(2, 3))),
    Row(2, offline(ids(2, 1), ids(1, 2), ids(3, 1, 2)), (1, ids(2, 1), ids(1, 2))),
    Row(3, offline(ids(1), ids(2, 3), A123), None),
    Row(4, offline(ids(1), ids(2, 3), A123, unclean=True), (2, ids(2), ids(2, 3))),
    Row(5, offline(ids(1, 2), ids(), A12, unclean=True), None),
    Row(6, offline(ids(4, 2), ids(2, 4), A12), (2, ids(4, 2), ids(2))),
    Row(7, offline(ids(4), ids(1, 2, 4), A12, unclean=True), None),
    Row(8, offline(ids(1, 2), ids(2), A12), (2, ids(2), ids(2))),
    Row(9, elect_preferred(A123, stored(ids(2, 3)), A123), None),
    Row(10, elect_preferred(A123, stored(ids(3, 2, 1)), A12), (1, ids(3, 2, 1), A123)),
    Row(11, elect_preferred(A123, stored(A123), ids(2, 3)), None),
    Row(12, elect_for_reassignment(ids(4, 5), stored(ids(1, 4, 5)), ids(5)), (5, ids(1, 4, 5), ids(4, 5))),
    Row(13, elect_for_reassignment(ids(4, 5), stored(A12), ids(1, 2, 4, 5)), None),
    Row(14, controlled(A123, ids(2, 3), ids(1), A123), (2, ids(2, 3), A123)),
    Row(15, controlled(ids(1, 3), ids(2, 3), ids(1), A123), (3, ids(3), A123)),
    Row(16, controlled(ids(1), ids(2), ids(1), A12), None),
    Row(17, controlled(A123, ids(3), ids(1, 2), A123), (3, ids(3), A123)),
    Row(18, offline(ids(2, 2, 3), ids(3), ids(2, 2, 3)), (3, ids(3), ids(3))),
    Row(19, offline(ids(), ids(2), ids(2, 2)), None),
]


@pytest.mark.parametrize("row", TABLE, ids=[str(row.number) for row in TABLE])
def test_the_reference_table_of_elections_holds(row: Row) -> None:
    """docs/kafka/state_machines.md 8.1, by its numbers."""
    assert outcome(row.election) == row.expected


@pytest.mark.parametrize("row", [row for row in TABLE if row.expected], ids=lambda row: str(row.number))
def test_every_election_costs_one_epoch_and_is_written_over_the_version_that_was_read(row: Row) -> None:
    assert row.election.elected is not None
    assert (row.election.elected.leader_epoch, row.election.elected.zk_version) == (8, 3)


# --- one rule each ---------------------------------------------------------------------------------------------------------


def test_a_new_partition_is_led_by_the_first_one_alive_and_its_isr_is_all_that_are() -> None:
    """2.3: dead replicas are left out of the ISR; epoch and version begin at 0."""
    election = elect_for_new_partition(ids(3, 1, 2), ids(1, 2, 4))
    assert election.elected == LeaderAndIsr(BrokerId(1), LeaderEpoch(0), ids(1, 2), ZkVersion(0))
    assert election.recipients == ids(1, 2)


def test_a_new_partition_without_a_live_replica_gets_no_leader() -> None:
    assert outcome(elect_for_new_partition(ids(3, 1, 2), ids(4))) is None


def test_the_old_leader_may_be_elected_again_for_one_more_epoch() -> None:
    """4.5: the old leader's broker has come back."""
    assert outcome(elect_offline(A12, stored(ids(1), leader=1), A12, unclean_allowed=False)) == (1, ids(1), A12)


def test_unclean_settings_do_not_matter_while_a_member_of_the_isr_is_online() -> None:
    """4.2: this also holds for a member that is not assigned; in these cases Kafka does not look the settings up."""
    assert not may_be_unclean(ids(4), online=ids(1, 2, 4))
    assert may_be_unclean(ids(4), online=ids(1, 2))


def test_a_clean_leader_is_preferred_to_an_unclean_one_that_stands_before_it() -> None:
    assert offline_choice(A123, ids(3), A123, unclean_enabled=True) == (3, False)


def test_preferred_does_not_fall_back_on_another_replica() -> None:
    assert preferred_choice(A123, ids(2, 3), A123) is None


def test_a_partition_without_replicas_has_no_preferred_leader() -> None:
    assert preferred_choice(ids(), ids(1), ids(1)) is None


def test_controlled_shutdown_keeps_dead_members_in_the_isr() -> None:
    """Only those shutting down leave the ISR; 3 may be back before its failure is noticed."""
    assert outcome(controlled(A123, ids(2), ids(1), A123)) == (2, ids(2, 3), A12)


def test_two_brokers_that_shut_down_together_leave_the_last_isr_member_in_place() -> None:
    """T8: first 1 stops and hands over to 2; then no broker is left to take over from 2."""
    first = controlled(A12, ids(2), ids(1), A12)
    assert first.elected is not None
    assert first.elected.isr == ids(2)
    assert elect_at_controlled_shutdown(A12, first.elected, A12, A12).elected is None


# --- inputs in the event log -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("election", "sentence"),
    [
        (
            offline(ids(2, 1), A12, ids(3, 2, 1)),
            "leader 2: first of the assignment [3, 2, 1] that is alive and in the ISR [2, 1]",
        ),
        (
            offline(ids(1), ids(2, 3), A123),
            "no leader: no replica of the assignment [1, 2, 3] is alive and in the ISR [1], and no unclean election applies;"
            " alive are [2, 3]",
        ),
        (
            offline(ids(1), ids(2, 3), A123, unclean=True),
            "leader 2: first of the assignment [1, 2, 3] that is alive, as no replica in the ISR [1] is: unclean,"
            " and what only they have may be lost",
        ),
        (
            offline(ids(1), ids(), A12, unclean=True),
            "no leader: no replica of the assignment [1, 2] is alive, in the ISR [1] or not; alive are []",
        ),
        (elect_for_new_partition(A12, ids(2)), "leader 2: first of the assignment [1, 2] that is alive"),
        (
            elect_for_reassignment(ids(4, 5), stored(A12), ids(1, 4)),
            "no leader: no replica of the target [4, 5] is alive and in the ISR [1, 2]; alive are [1, 4]",
        ),
        (
            elect_preferred(A12, stored(ids(2, 1)), A12),
            "leader 1: the preferred leader of [1, 2], alive and in the ISR [2, 1]",
        ),
        (
            controlled(A12, ids(2), ids(1), A12),
            "leader 2: first of the assignment [1, 2] that is alive, in the ISR [1, 2] and not shutting down [1]",
        ),
    ],
)
def test_an_election_says_in_one_sentence_what_decided(election: Election, sentence: str) -> None:
    assert str(election) == sentence


def test_inputs_name_everything_that_was_looked_at_and_no_broker_that_was_not() -> None:
    """A cluster has many brokers; only those of the assignment and the ISR can affect the election."""
    election = controlled(ids(1, 3), ids(2, 3, 77, 78), ids(1, 79), A123)
    assert election.inputs == "candidates [1, 2, 3], ISR [1, 3], alive [1, 2, 3], shutting down [1]"


def test_only_an_election_that_succeeded_outside_the_isr_is_unclean() -> None:
    assert offline(ids(1), ids(2, 3), A123, unclean=True).is_unclean
    assert not offline(ids(1), ids(), A123, unclean=True).is_unclean
    assert not offline(ids(1), ids(1), A123, unclean=True).is_unclean


# --- properties ------------------------------------------------------------------------------------------------------------

BROKERS = st.integers(1, 6).map(BrokerId)
LISTS = st.lists(BROKERS, max_size=6).map(tuple)
SETS = st.frozensets(BROKERS)
FLAGS = st.booleans()

Elects = Callable[[Ids, Ids, frozenset[BrokerId], frozenset[BrokerId], bool], Election]
ELECTS: dict[str, Elects] = {
    "offline": lambda a, isr, alive, down, unclean: elect_offline(a, stored(isr), alive - down, unclean),
    "reassignment": lambda a, isr, alive, down, _: elect_for_reassignment(a, stored(isr), alive - down),
    "preferred": lambda a, isr, alive, down, _: elect_preferred(a, stored(isr), alive - down),
    "controlled shutdown": lambda a, isr, alive, down, _: elect_at_controlled_shutdown(a, stored(isr), alive, down),
}


@pytest.mark.parametrize("elect", ELECTS.values(), ids=ELECTS.keys())
@fewer(4)
@given(assignment=LISTS, isr=LISTS, alive=SETS, down=SETS, unclean=FLAGS)
def test_a_leader_is_assigned_alive_staying_and_in_its_isr(
    elect: Elects, assignment: Ids, isr: Ids, alive: frozenset[BrokerId], down: frozenset[BrokerId], unclean: bool
) -> None:
    election = elect(assignment, isr, alive, down, unclean)
    if election.elected is not None:
        assert election.elected.leader in set(assignment) & alive - down
        assert election.elected.leader in election.elected.isr
        assert election.is_unclean == (election.elected.leader not in isr)


@pytest.mark.parametrize("elect", ELECTS.values(), ids=ELECTS.keys())
@fewer(4)
@given(assignment=LISTS, isr=LISTS, alive=SETS, down=SETS, unclean=FLAGS, order=st.randoms(use_true_random=False))
def test_the_order_of_the_isr_never_decides(
    elect: Elects,
    assignment: Ids,
    isr: Ids,
    alive: frozenset[BrokerId],
    down: frozenset[BrokerId],
    unclean: bool,
    order: Random,
) -> None:
    shuffled = list(isr)
    order.shuffle(shuffled)
    one, other = elect(assignment, isr, alive, down, unclean), elect(assignment, tuple(shuffled), alive, down, unclean)
    assert (one.elected and one.elected.leader) == (other.elected and other.elected.leader)
    assert one.recipients == other.recipients


@pytest.mark.parametrize("elect", ELECTS.values(), ids=ELECTS.keys())
@fewer(4)
@given(assignment=LISTS, isr=LISTS, alive=SETS, down=SETS)
def test_no_clean_election_lets_anybody_into_the_isr(
    elect: Elects, assignment: Ids, isr: Ids, alive: frozenset[BrokerId], down: frozenset[BrokerId]
) -> None:
    election = elect(assignment, isr, alive, down, False)
    if election.elected is not None:
        assert set(election.elected.isr) <= set(isr)


@fewer(4)
@given(assignment=LISTS, isr=LISTS, alive=SETS, down=SETS)
def test_the_first_suitable_one_of_the_list_is_chosen(
    assignment: Ids, isr: Ids, alive: frozenset[BrokerId], down: frozenset[BrokerId]
) -> None:
    """The reference is the obvious version: remove all unsuitable replicas, and take the first of the rest."""
    staying = alive - down
    clean = [broker for broker in assignment if broker in isr and broker in staying]
    assert first_alive_in_isr(assignment, isr, staying) == (clean[0] if clean else None)
    assert controlled_shutdown_choice(assignment, isr, alive, down) == (clean[0] if clean else None)
    living = [broker for broker in assignment if broker in staying]
    assert offline_choice(assignment, isr, staying, unclean_enabled=True)[0] == (clean + living + [None])[0]


@fewer(4)
@given(assignment=LISTS, isr=LISTS, alive=SETS)
def test_with_unclean_elections_a_live_replica_is_enough_unless_a_stranger_of_the_isr_lives(
    assignment: Ids, isr: Ids, alive: frozenset[BrokerId]
) -> None:
    election = elect_offline(assignment, stored(isr), alive, unclean_allowed=True)
    strangers = set(isr) - set(assignment)
    if set(assignment) & alive and not strangers & alive:
        assert election.elected is not None
    if election.rule is ElectionRule.UNCLEAN and election.elected is not None:
        assert election.elected.isr == (election.elected.leader,)
