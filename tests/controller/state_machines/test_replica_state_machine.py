"""The replica state machine's driver: legal moves, refused moves, and the removal of a replica from an ISR.

Source: docs/kafka/state_machines.md 1, 3 and 8.2; Kafka 2.8, ZkReplicaStateMachine.
"""

from itertools import product

import pytest

from kcsim.controller.decisions.replica_states import REPLICA_PREVIOUS_STATES, ReplicaMachineState
from kcsim.controller.requests import StopReplicaRequest
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, LeaderEpoch
from tests.controller.state_machine_fixture import B1, B2, B3, B9, T0, T1, WRITES, StateMachineFixture, described

NEW, ONLINE, OFFLINE, STARTED, SUCCESSFUL, INELIGIBLE, NON_EXISTENT = ReplicaMachineState
ALL_PAIRS = [*product(ReplicaMachineState, ReplicaMachineState)]
LEGAL = [(state, target) for state, target in ALL_PAIRS if state in REPLICA_PREVIOUS_STATES[target]]
ILLEGAL = [pair for pair in ALL_PAIRS if pair not in LEGAL]
SENT = {
    NEW: [("LeaderAndIsr", B2), ("UpdateMetadata", B1), ("UpdateMetadata", B2), ("UpdateMetadata", B3)],
    ONLINE: [("LeaderAndIsr", B2), ("UpdateMetadata", B1), ("UpdateMetadata", B2), ("UpdateMetadata", B3)],
    OFFLINE: [
        ("LeaderAndIsr", B1),
        ("LeaderAndIsr", B3),
        ("UpdateMetadata", B1),
        ("UpdateMetadata", B2),
        ("UpdateMetadata", B3),
        ("StopReplica", B2),
    ],
    STARTED: [("StopReplica", B2)],
}
"""Requests sent when the replica on 2 goes to a state; no requests for other states. Source: docs/kafka/requests.md 2.3."""


async def in_state(fixture: StateMachineFixture, state: ReplicaMachineState) -> None:
    """Put t-0 on 1, 2, 3, with leader 1, in such a way that its replica on 2 is in that state."""
    fixture.assign(T0, B1, B2, B3)
    await fixture.store(T0, B1, B1, B2, B3)
    fixture.context.replica_states[B2] = {T0: state}
    fixture.forget()


def test_together_the_two_lists_are_the_matrix() -> None:
    assert (len(LEGAL), len(ILLEGAL)) == (14, 35)


@pytest.mark.parametrize(("state", "target"), LEGAL)
def test_a_legal_move_ends_in_its_target_and_notifies_the_brokers_it_concerns(
    state: ReplicaMachineState, target: ReplicaMachineState
) -> None:
    """docs/kafka/state_machines.md 3.2. A replica that goes from New to Online got its request when it became new."""

    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, state)
        await fixture.replicas.handle_state_changes({B2: [T0]}, target, 0)
        assert fixture.context.replica_states[B2] == ({} if target is NON_EXISTENT else {T0: target})
        assert not fixture.found(EventKind.STATE_CHANGE_FAILED)
        assert fixture.sent() == ([] if (state, target) == (NEW, ONLINE) else SENT.get(target, []))

    StateMachineFixture().run(script)


@pytest.mark.parametrize(("state", "target"), ILLEGAL)
def test_an_illegal_move_is_reported_and_nothing_else_happens(
    state: ReplicaMachineState, target: ReplicaMachineState
) -> None:
    """docs/kafka/state_machines.md 1: logged with the allowed and the actual state, and skipped."""

    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, state)
        before = dict(fixture.context.leadership)
        await fixture.replicas.handle_state_changes({B2: [T0]}, target, 0)
        assert fixture.context.replica_states == {B2: {T0: state}}
        assert fixture.context.leadership == before
        assert not fixture.requests
        assert not fixture.found(*WRITES)
        (refused,) = fixture.found(EventKind.STATE_CHANGE_FAILED)
        assert (refused.topic, refused.partition, refused.broker_id, refused.state) == ("t", 0, 2, target)
        assert refused.error == "IllegalStateException"
        assert refused.rule == f"{target} is entered from {', '.join(sorted(REPLICA_PREVIOUS_STATES[target]))} only"
        assert refused.inputs == f"the replica of t-0 on 2 is in {state}"

    StateMachineFixture().run(script)


def test_a_refusal_carries_the_recent_story_of_that_replica() -> None:
    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1, B2)
        await fixture.replicas.handle_state_changes({B1: [T0], B2: [T0]}, NEW, 0)
        await fixture.replicas.handle_state_changes({B1: [T0]}, ONLINE, 0)
        await fixture.replicas.handle_state_changes({B2: [T0]}, SUCCESSFUL, 0)
        (refused,) = fixture.found(EventKind.STATE_CHANGE_FAILED)
        story = (refused.detail or "").partition("asked before: ")[2].split(", ")
        assert [move.split(" ")[0] for move in story] == [NEW, SUCCESSFUL]

    StateMachineFixture().run(script)


def test_the_legal_moves_of_a_call_are_made_and_the_others_are_not() -> None:
    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, STARTED)
        fixture.context.replica_states[B3] = {T0: ONLINE}
        await fixture.replicas.handle_state_changes({B2: [T0], B3: [T0]}, SUCCESSFUL, 0)
        assert fixture.context.replica_states == {B2: {T0: SUCCESSFUL}, B3: {T0: ONLINE}}
        assert described(fixture.found(EventKind.STATE_CHANGE_FAILED)) == [("t-0 on 3", SUCCESSFUL)]

    StateMachineFixture().run(script)


def test_a_new_replica_must_not_be_the_leader() -> None:
    """docs/kafka/state_machines.md 3.2: refused, and the log line names OfflineReplica as its target."""

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1, B2)
        await fixture.store(T0, B2, B2, B1)
        fixture.forget()
        await fixture.replicas.handle_state_changes({B2: [T0]}, NEW, 0)
        assert fixture.context.replica_states == {B2: {T0: NON_EXISTENT}}
        assert described(fixture.found(EventKind.STATE_CHANGE_FAILED)) == [("t-0 on 2", OFFLINE)]
        assert not fixture.requests

    StateMachineFixture().run(script)


def test_a_replica_that_goes_online_from_new_is_assigned_if_it_was_not() -> None:
    """docs/kafka/state_machines.md 3.2: this should not happen, and is repaired in memory."""

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1)
        fixture.context.replica_states[B2] = {T0: NEW}
        await fixture.replicas.handle_state_changes({B2: [T0]}, ONLINE, 0)
        assert fixture.context.assignment(T0).replicas == (B1, B2)

    StateMachineFixture().run(script)


def test_a_replica_that_ceases_to_exist_leaves_the_assignment_in_memory_only() -> None:
    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, SUCCESSFUL)
        await fixture.replicas.handle_state_changes({B2: [T0]}, NON_EXISTENT, 0)
        assert fixture.context.assignment(T0).replicas == (B1, B3)
        assert not fixture.found(*WRITES)

    StateMachineFixture().run(script)


# --- out of the ISR (8.2)

REMOVALS = [
    # removed replica, stored leader and ISR -> leader and ISR, written?
    (1, 1, (1, 2), None, (2,), True),
    (2, 1, (1, 2), 1, (1,), True),
    (1, 1, (1,), None, (1,), True),
    (1, None, (1,), None, (1,), True),
    (3, 1, (1, 2), 1, (1, 2), False),
    (1, 1, (2,), 1, (2,), False),
    (1, 1, (1, 1, 2), None, (2,), True),
    (2, 2, (2, 2), None, (), True),
]


@pytest.mark.parametrize(("out", "leader", "isr", "new_leader", "new_isr", "is_written"), REMOVALS)
def test_a_replica_leaves_the_isr_as_the_table_says(
    out: int, leader: int | None, isr: tuple[int, ...], new_leader: int | None, new_isr: tuple[int, ...], is_written: bool
) -> None:
    """Written or not, the cache has it, under this controller's epoch; others are notified.

    Source: docs/kafka/state_machines.md 8.2.
    """

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1, B2, B3)
        await fixture.store(T0, None if leader is None else BrokerId(leader), *map(BrokerId, isr))
        fixture.context.replica_states[BrokerId(out)] = {T0: ONLINE}
        fixture.forget()
        await fixture.replicas.handle_state_changes({BrokerId(out): [T0]}, OFFLINE, 0)
        stored = await fixture.stored(T0)
        assert stored is not None
        assert (stored.leader, stored.isr) == (new_leader, new_isr)
        assert (stored.leader_epoch, stored.zk_version) == ((1, 1) if is_written else (0, 0))
        assert fixture.context.leadership[T0].leader_and_isr == stored
        assert fixture.context.leadership[T0].controller_epoch == fixture.context.epoch
        assert {broker for name, broker in fixture.sent() if name == "LeaderAndIsr"} == {1, 2, 3} - {out}
        assert len(fixture.found(EventKind.REPLICA_REMOVED_FROM_ISR)) == is_written

    StateMachineFixture().run(script)


def test_the_broker_is_asked_to_stop_under_the_leader_epoch_before_the_removal() -> None:
    """docs/kafka/state_machines.md 3.3: the request is made before the ISR changes."""

    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, ONLINE)
        await fixture.replicas.handle_state_changes({B2: [T0]}, OFFLINE, 0)
        (stop,) = [request for _, request in fixture.requests if isinstance(request, StopReplicaRequest)]
        assert stop.partitions[T0].leader_epoch == LeaderEpoch(0)
        assert not stop.partitions[T0].delete_partition
        assert fixture.context.leadership[T0].leader_and_isr.leader_epoch == 1

    StateMachineFixture().run(script)


def test_each_broker_is_a_pass_of_its_own_in_the_order_of_the_hash_map() -> None:
    """docs/kafka/state_machines.md 1 (recorded): {2, 3, 4, 5} is handled as 5, 2, 3, 4, so 4 stays in the ISR."""
    brokers = [BrokerId(n) for n in (2, 3, 4, 5)]

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, *brokers)
        await fixture.store(T0, B2, *brokers)
        fixture.context.replica_states.update({broker: {T0: ONLINE} for broker in brokers})
        fixture.forget()
        await fixture.replicas.handle_state_changes({broker: [T0] for broker in brokers}, OFFLINE, 0)
        removed = fixture.found(EventKind.REPLICA_REMOVED_FROM_ISR)
        assert [(e.broker_id, e.isr) for e in removed] == [(5, (2, 3, 4)), (2, (3, 4)), (3, (4,)), (4, (4,))]
        stored = await fixture.stored(T0)
        assert stored is not None
        assert (stored.leader, stored.leader_epoch) == (None, 4)

    StateMachineFixture().run(script)


def test_going_offline_twice_costs_the_last_member_another_epoch() -> None:
    """docs/kafka/state_machines.md 3.4."""

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B2)
        await fixture.store(T0, B2, B2)
        fixture.context.replica_states[B2] = {T0: ONLINE}
        for _ in range(2):
            await fixture.replicas.handle_state_changes({B2: [T0]}, OFFLINE, 0)
        stored = await fixture.stored(T0)
        assert stored is not None
        assert (stored.leader, stored.isr, stored.leader_epoch) == (None, (B2,), 2)

    StateMachineFixture().run(script)


def test_a_partition_of_a_queued_topic_without_state_is_dropped_silently_and_keeps_its_state() -> None:
    """docs/kafka/state_machines.md 3.3: no state change; the broker still gets a StopReplica."""

    async def script(fixture: StateMachineFixture) -> None:
        await in_state(fixture, ONLINE)
        await fixture.zk.topics.delete("t", fixture.context.epoch_zk_version)
        fixture.context.queue_for_deletion(["t"])
        fixture.forget()
        await fixture.replicas.handle_state_changes({B2: [T0]}, OFFLINE, 0)
        assert fixture.context.replica_states[B2] == {T0: ONLINE}
        assert fixture.sent() == [("StopReplica", B2)]
        assert not fixture.found(EventKind.STATE_CHANGE_FAILED)

    StateMachineFixture().run(script)


def test_at_failover_replicas_are_online_or_ineligible_and_then_online_or_offline() -> None:
    """docs/kafka/state_machines.md 3.1: dead replicas end as OfflineReplica, outside the ISR."""

    async def script(fixture: StateMachineFixture) -> None:
        fixture.assign(T0, B1, B9)
        fixture.assign(T1, B9, B3)
        await fixture.store(T0, B1, B1, B9)
        await fixture.store(T1, B3, B3)
        fixture.forget()
        await fixture.replicas.startup(0)
        assert fixture.context.replica_states == {B1: {T0: ONLINE}, B3: {T1: ONLINE}, B9: {T0: OFFLINE, T1: OFFLINE}}
        stored = await fixture.stored(T0)
        assert stored is not None
        assert stored.isr == (B1,)
        assert [(e.topic, e.partition) for e in fixture.found(EventKind.REPLICA_REMOVED_FROM_ISR)] == [("t", 0)]

    StateMachineFixture().run(script)
