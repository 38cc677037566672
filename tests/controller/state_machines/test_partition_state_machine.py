"""The partition state machine's driver: legal moves, refused moves, and the absence of other effects of a refusal.

Source: docs/kafka/state_machines.md 1, 2 and 4; Kafka 2.8, ZkPartitionStateMachine.
"""

from itertools import product

import pytest

from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.controller.decisions.partition_states import PARTITION_PREVIOUS_STATES, PartitionMachineState
from kcsim.controller.errors import StateChangeFailedError
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import TopicPartition
from tests.controller.state_machine_fixture import B1, B2, B3, B9, DEAD, T0, T1, WRITES, StateMachineFixture, described

NEW, ONLINE, OFFLINE, NON_EXISTENT = PartitionMachineState
ALL_PAIRS = [*product(PartitionMachineState, PartitionMachineState)]
LEGAL = [(state, target) for state, target in ALL_PAIRS if state in PARTITION_PREVIOUS_STATES[target]]
ILLEGAL = [pair for pair in ALL_PAIRS if pair not in LEGAL]


async def in_state(fixture: StateMachineFixture, state: PartitionMachineState) -> None:
    """Put t-0 on 1, 2, 3 into that state; it has a leader if it was ever online."""
    fixture.assign(T0, B1, B2, B3)
    if state in (ONLINE, OFFLINE):
        await fixture.store(T0, B1, B1, B2, B3)
    fixture.context.put_partition_state(T0, state)
    fixture.forget()


def test_together_the_two_lists_are_the_matrix() -> None:
    """docs/kafka/state_machines.md 1: 3 states lead to Online and to Offline, 1 each to the others."""
    assert (len(LEGAL), len(ILLEGAL)) == (8, 8)


@pytest.mark.parametrize(("state", "target"), LEGAL)
def test_a_legal_move_ends_in_its_target(state: PartitionMachineState, target: PartitionMachineState) -> None:
    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, state)
        await fixture.partitions.handle_state_changes([T0], target, 0, PartitionLeaderElectionStrategy.OFFLINE)
        assert fixture.context.partition_states == {T0: target}
        assert not fixture.found(EventKind.STATE_CHANGE_FAILED)

    StateMachineFixture().run(script)


@pytest.mark.parametrize(("state", "target"), [pair for pair in LEGAL if pair[1] is not ONLINE])
def test_only_a_move_online_writes_or_sends_anything(state: PartitionMachineState, target: PartitionMachineState) -> None:
    """docs/kafka/state_machines.md 2.2: the other three are moves in memory."""

    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, state)
        await fixture.partitions.handle_state_changes([T0], target, 0)
        assert not fixture.requests
        assert not fixture.found(*WRITES)

    StateMachineFixture().run(script)


@pytest.mark.parametrize(("state", "target"), ILLEGAL)
def test_an_illegal_move_is_reported_and_nothing_else_happens(
    state: PartitionMachineState, target: PartitionMachineState
) -> None:
    """docs/kafka/state_machines.md 1: logged with the allowed and the actual state, and skipped."""

    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, state)
        results = await fixture.partitions.handle_state_changes([T0], target, 0, PartitionLeaderElectionStrategy.OFFLINE)
        assert results == {}
        assert fixture.context.partition_states == {T0: state}
        assert not fixture.requests
        assert not fixture.found(*WRITES)
        (refused,) = fixture.found(EventKind.STATE_CHANGE_FAILED)
        assert (refused.topic, refused.partition, refused.state) == ("t", 0, target)
        assert refused.error == "IllegalStateException"
        assert refused.rule == f"{target} is entered from {', '.join(sorted(PARTITION_PREVIOUS_STATES[target]))} only"
        assert refused.inputs == f"t-0 is in {state}"

    StateMachineFixture().run(script)


def test_a_refusal_carries_the_recent_story_of_that_partition() -> None:
    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1)
        fixture.assign(T1, B1)
        await fixture.partitions.handle_state_changes([T0], NEW, 0)
        await fixture.partitions.handle_state_changes([T1], NEW, 0)
        await fixture.partitions.handle_state_changes([T0, T1], OFFLINE, 0)
        await fixture.partitions.handle_state_changes([T0], NEW, 0)
        moves = {e.detail: e.seq for e in fixture.found(EventKind.PARTITION_STATE_CHANGE)}
        (refused,) = fixture.found(EventKind.STATE_CHANGE_FAILED)
        story = (refused.detail or "").partition("asked before: ")[2].split(", ")
        assert [move.split(" ")[0] for move in story] == [NEW, OFFLINE, NEW]
        assert f"#{moves['t-1 to NewPartition']}" not in (refused.detail or "")

    StateMachineFixture().run(script)


@pytest.mark.parametrize(
    ("partitions", "cause"), [([T0], EventKind.LEADER_ELECTION), ([T0, T1], EventKind.PARTITION_STATE_CHANGE)]
)
def test_the_write_of_one_decision_follows_from_it_and_that_of_several_from_what_led_to_them(
    partitions: list[TopicPartition], cause: EventKind
) -> None:
    async def script(fixture: StateMachineFixture) -> None:
        for tp in partitions:
            fixture.assign(tp, B1, B2)
            await fixture.store(tp, B9, B1, B2)
            fixture.context.partition_states[tp] = OFFLINE
        fixture.forget()
        await fixture.partitions.handle_state_changes(partitions, ONLINE, 0, PartitionLeaderElectionStrategy.OFFLINE)
        (write,) = fixture.found(EventKind.ZK_WRITE)
        assert [event.kind for event in fixture.log.events if event.seq == write.cause] == [cause]

    StateMachineFixture().run(script)


def test_the_legal_moves_of_a_call_are_made_and_the_others_are_not() -> None:
    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, ONLINE)
        fixture.assign(T1, B2)
        await fixture.partitions.handle_state_changes([T0, T1], NEW, 0)
        assert fixture.context.partition_states == {T0: ONLINE, T1: NEW}
        assert described(fixture.found(EventKind.STATE_CHANGE_FAILED)) == [("t-0", NEW)]

    StateMachineFixture().run(script)


def test_a_partition_nobody_knew_is_not_existent_first() -> None:
    """docs/kafka/state_machines.md 1: unknown items are given that state, and keep it when the move is refused."""

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1)
        await fixture.partitions.handle_state_changes([T0], ONLINE, 0, PartitionLeaderElectionStrategy.OFFLINE)
        assert fixture.context.partition_states == {T0: NON_EXISTENT}

    StateMachineFixture().run(script)


def test_no_partitions_are_no_batch_and_no_event() -> None:
    async def script(fixture: StateMachineFixture) -> None:
        fixture.forget()
        assert await fixture.partitions.handle_state_changes([], ONLINE, 0, PartitionLeaderElectionStrategy.OFFLINE) == {}
        assert not fixture.log.events

    StateMachineFixture().run(script)


def test_an_online_partition_whose_election_fails_stays_online_under_its_leader() -> None:
    """docs/kafka/state_machines.md 2.2: partitions whose move fails keep their old state; here a preferred election."""

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1, B2)
        await fixture.store(T0, B2, B2)
        fixture.context.put_partition_state(T0, ONLINE)
        fixture.forget()
        results = await fixture.partitions.handle_state_changes([T0], ONLINE, 0, PartitionLeaderElectionStrategy.PREFERRED)
        assert isinstance(results[T0], StateChangeFailedError)
        assert fixture.context.partition_states[T0] is ONLINE
        assert fixture.context.leadership[T0].leader_and_isr.leader == B2
        assert not fixture.requests

    StateMachineFixture().run(script)


def test_results_are_given_for_elections_and_not_for_partitions_that_were_created() -> None:
    """docs/kafka/state_machines.md 2.2."""

    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, OFFLINE)
        fixture.assign(T1, B2)
        fixture.context.put_partition_state(T1, NEW)
        results = await fixture.partitions.handle_state_changes([T0, T1], ONLINE, 0, PartitionLeaderElectionStrategy.OFFLINE)
        assert list(results) == [T0]
        assert fixture.context.partition_states == {T0: ONLINE, T1: ONLINE}

    StateMachineFixture().run(script)


def test_at_failover_the_first_state_follows_from_the_leader() -> None:
    """No leadership is New, an online leader Online, anything else Offline; then all go online.

    Source: docs/kafka/state_machines.md 2.1.
    """
    seen: dict[str, str | None] = {}

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1, B2)
        fixture.assign(T1, B2, B3)
        fixture.assign(DEAD, B9, B2)
        await fixture.store(T0, B1, B1, B2)
        await fixture.store(DEAD, B9, B9)
        fixture.forget()
        await fixture.partitions.startup(0)
        (move,) = fixture.found(EventKind.PARTITION_STATE_CHANGE)
        seen["asked"] = move.detail
        assert fixture.context.partition_states == {T0: ONLINE, T1: ONLINE, DEAD: OFFLINE}

    StateMachineFixture().run(script)
    assert seen == {"asked": "t-1, dead-0 to OnlinePartition"}
