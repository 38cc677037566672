"""Which members serve and which one leads, after any faults of members."""

import pytest

from kcsim.zk.memory.members import Members, MemberState

ONE, TWO, THREE = "member-1", "member-2", "member-3"


def kill(members: Members, name: str) -> tuple[str, ...]:
    members.set_state(name, MemberState.DEAD)
    return members.leave(name)


@pytest.fixture
def members() -> Members:
    return Members(3)


def test_the_highest_number_leads_at_first(members: Members) -> None:
    assert (members.names, members.leader, members.can_commit) == ((ONE, TWO, THREE), THREE, True)


def test_a_follower_s_death_stops_only_itself(members: Members) -> None:
    assert kill(members, ONE) == (ONE,)
    assert (members.leader, members.can_commit, members.serves(ONE), members.serves(TWO)) == (THREE, True, False, True)


def test_the_leader_s_death_stops_everybody_until_the_next_is_elected(members: Members) -> None:
    assert kill(members, THREE) == (THREE, ONE, TWO)
    assert (members.leader, members.can_commit) == (None, False)
    assert members.elect()
    assert (members.leader, members.can_commit, members.serves(THREE)) == (TWO, True, False)


def test_a_leader_without_a_majority_leads_no_more(members: Members) -> None:
    kill(members, ONE)
    assert kill(members, TWO) == (TWO, THREE)
    assert not members.elect()
    members.set_state(ONE, MemberState.UP)
    assert members.elect()
    assert members.leader == THREE


def test_a_leader_in_office_is_not_elected_anew(members: Members) -> None:
    assert not members.elect()


def test_a_member_that_comes_back_follows(members: Members) -> None:
    kill(members, THREE)
    members.elect()
    members.set_state(THREE, MemberState.UP)
    members.join(THREE)
    assert (members.leader, members.serves(THREE)) == (TWO, True)


def test_a_member_that_is_down_cannot_join(members: Members) -> None:
    kill(members, ONE)
    members.join(ONE)
    assert not members.serves(ONE)


@pytest.mark.parametrize(
    ("paused", "can_commit"), [((), True), ((ONE,), True), ((ONE, TWO), False), ((THREE,), False), ((ONE, THREE), False)]
)
def test_a_write_needs_the_leader_and_a_majority_that_run(
    members: Members, paused: tuple[str, ...], can_commit: bool
) -> None:
    for name in paused:
        members.set_state(name, MemberState.PAUSED)
    assert members.can_commit is can_commit
    assert members.leader == THREE


def test_one_alone_is_its_own_majority() -> None:
    members = Members(1)
    assert (members.is_ensemble, members.leader) == (False, ONE)
    assert kill(members, ONE) == (ONE,)
    members.set_state(ONE, MemberState.UP)
    assert members.elect()
