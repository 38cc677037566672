"""A recorded run, folded with the controller's own decisions, equals the run, record by record."""

import random
from collections.abc import Callable, Sequence

import msgspec
import pytest

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.folding import folding_runs
from kcsim.scenarios.analysis.folding.folding_runs import FoldedRun, fold_events, fold_facts
from kcsim.scenarios.analysis.folding.replay_fact import fact_of, facts_in_order
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.language.library import library_names
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.operations import Create, DataRead, Delete, GetData
from kcsim.znodes import partition_state_text, paths
from tests.controller.controller_harness import ControllerHarness, on_model
from tests.controller.transcript_commands import Commands
from tests.scenarios.analysis.folding.simulated_runs import (
    IN_MAKE_TEST,
    SEEDS,
    STATE,
    explored_run,
    is_failed_election,
    library_run,
    states_in_transitions,
    stored_states,
)
from tests.tiers import chosen, tiered

SEEDS_AT_ONCE = 8
FIRST_SEEDS = SEEDS[::SEEDS_AT_ONCE]


def assert_exact(events: Sequence[Event], name: str) -> FoldedRun:
    """Assert that the fold is the run: each change of a state znode, each election without a leader, and the final state."""
    folded = fold_events("batch", name, events)
    assert [str(mismatch) for mismatch in folded.mismatches] == []
    assert states_in_transitions(folded.transitions) == stored_states(events)
    nobody = [e.seq for e in events if e.kind is EventKind.LEADER_ELECTION and e.leader is None]
    assert sorted(row.seq for row in folded.transitions if is_failed_election(row)) == nobody
    ended = ClusterState()
    for event in events:
        ended.apply(event)
    for key, rows in by_partition(folded).items():
        assert [row.n for row in rows] == list(range(len(rows)))
        of = TopicPartition(*key)
        state, last = ended.of_topics.states.get(of), rows[-1]
        if state is not None:
            assert (last.leader_epoch, tuple(last.isr)) == (state.leader_and_isr.leader_epoch, state.leader_and_isr.isr)
        assignment = ended.of_topics.assignment(of)
        if assignment is not None and assignment.replicas:
            found = tuple(last.replicas), tuple(last.adding), tuple(last.removing)
            assert found == (assignment.replicas, assignment.adding_replicas, assignment.removing_replicas)
    return folded


def by_partition(folded: FoldedRun) -> dict[tuple[str, int], list[Transition]]:
    found: dict[tuple[str, int], list[Transition]] = {}
    for row in folded.transitions:
        found.setdefault((row.topic, row.partition), []).append(row)
    return found


@pytest.mark.parametrize("name", chosen(library_names(), fast=IN_MAKE_TEST))
def test_every_run_of_the_library_is_what_the_decisions_come_to(name: str) -> None:
    assert_exact(library_run(name), name)


def test_rows_of_a_partition_come_in_portions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = library_run("broker-crash-and-return")
    at_once = fold_events("batch", "run", events)
    monkeypatch.setattr(folding_runs, "FACTS_AT_ONCE", 3)
    facts = facts_in_order([fact for event in events if (fact := fact_of(event)) is not None])
    portions = list(fold_facts(("batch", "run", fact) for fact in facts))
    assert [row for rows, _ in portions for row in rows] == at_once.transitions
    assert len(portions) > 2 * len(by_partition(at_once))
    assert max(len(rows) for rows, _ in portions) < max(map(len, by_partition(at_once).values()))


@pytest.mark.parametrize("first", tiered(FIRST_SEEDS, fast=0, slow=15))
def test_runs_that_are_drawn_are_too(first: int) -> None:
    for seed in SEEDS[first : first + SEEDS_AT_ONCE]:
        assert_exact(explored_run(seed), f"seed {seed}")


def test_each_transition_knows_what_it_follows_from() -> None:
    """Two brokers die; the clean topic waits, the unclean one does not."""
    rows = fold_events("batch", "run", library_run("last-isr-member-lost")).transitions
    of_clicks = [(row.kind, row.trigger, row.clean) for row in rows if row.topic == "clicks"]
    assert of_clicks[0] == ("LeaderElection", Trigger.TOPIC_CREATED, True)
    assert ("LeaderElection", Trigger.BROKER_STARTED, False) in of_clicks
    assert ("ReplicaRemovedFromIsr", Trigger.BROKER_FAILED, None) in of_clicks
    assert of_clicks[-1] == ("IsrExpanded", Trigger.LEADER, None)
    assert all(row.trigger != Trigger.UNKNOWN for row in rows)


@pytest.mark.parametrize(
    ("name", "triggers"),
    [
        ("bounced-broker", {Trigger.BROKER_BOUNCED}),
        ("rolling-restart", {Trigger.CONTROLLED_SHUTDOWN}),
        ("controller-lost-with-its-replicas", {Trigger.CONTROLLER_FAILOVER}),
        ("reassignment-controller-killed", {Trigger.REASSIGNMENT}),
        ("deletion-with-dead-broker", {Trigger.TOPIC_DELETION}),
        ("preferred-election-after-rolling-restart", {Trigger.PREFERRED_ELECTION}),
        ("fault-left-over-state", {Trigger.WRITTEN}),
    ],
)
def test_triggers_are_those_of_the_scenario(name: str, triggers: set[Trigger]) -> None:
    rows = fold_events("batch", name, library_run(name)).transitions
    assert triggers <= {row.trigger for row in rows}


def test_a_history_without_a_word_of_controllers_is_taken_as_it_shows_itself() -> None:
    """Such a history is imported from ZooKeeper's transaction logs, with decisions inferred from the changes."""
    of_controllers = {EventKind.CONTROLLER_FAILOVER, EventKind.BROKER_CHANGE, EventKind.CONTROLLER_EVENT_BEGUN}
    events = []
    for event in library_run("broker-crash-and-return"):
        if event.kind is EventKind.LEADER_ELECTION:
            events.append(msgspec.structs.replace(event, rule=None, replicas=None, controller_epoch=1))
        elif event.kind is EventKind.REPLICA_REMOVED_FROM_ISR:
            events.append(msgspec.structs.replace(event, controller_epoch=1))
        elif event.kind not in of_controllers:
            events.append(event)
    folded = fold_events("batch", "run", events)
    assert folded.mismatches == []
    assert states_in_transitions(folded.transitions) == stored_states(events)
    assert {row.kind for row in folded.transitions} == {"LeaderElection", "ReplicaRemovedFromIsr", "IsrExpanded"}


def test_a_reassignment_that_could_not_be_written_changes_nothing_of_what_the_controller_knows() -> None:
    """The topic's znodes are gone at that moment, and back when its leader has died: the next leads by the old list."""

    async def script(harness: ControllerHarness) -> None:
        await harness.start_brokers(map(BrokerId, (2, 3, 4)))
        await harness.start_module(BrokerId(1))
        commands = Commands(harness)
        await commands.carry_out("topic orders 0:2,3,4")

        tree = await harness.tree(paths.topic("orders"))
        contents = [reply.data for reply in await harness.ask(*map(GetData, tree)) if isinstance(reply, DataRead)]

        async def lose_leader_and_topic() -> None:
            await harness.kill_brokers([BrokerId(2)])
            await harness.write(*map(Delete, reversed(tree)))

        def restore_topic(event: Event) -> None:
            if event.kind is EventKind.PARTITION_REASSIGNMENT and event.step == "failed":
                restored = harness.write(*map(Create, tree, contents))
                harness.runtime.spawn("restore", restored)

        harness.before_write_of(paths.topic("orders"), lose_leader_and_topic)
        harness.log.subscribe(restore_topic)
        await commands.carry_out("api-reassign orders-0:4,3,2")

    events = on_model(script).log.events
    steps = [event.step for event in events if event.kind is EventKind.PARTITION_REASSIGNMENT]
    assert steps == ["started", "failed"]
    elections = [(event.leader, event.replicas) for event in events if event.kind is EventKind.LEADER_ELECTION]
    assert elections == [(2, (2, 3, 4)), (3, (2, 3, 4))]
    (restored,) = fold_events("batch", "run", events).mismatches
    assert (restored.what, restored.computed) == ("written", "nothing that a broker would write")


def test_what_was_decided_before_a_deletion_is_not_written_after_it() -> None:
    """Whoever writes the same state into a new znode, with the same version, writes it by hand."""
    path = "/brokers/topics/orders/partitions/0/state"
    first, second = partition_state_text(1, 0, (1, 2), 1), partition_state_text(2, 1, (2,), 1)
    elected = Event(1, 0, "broker-1", EventKind.LEADER_ELECTION, topic="orders", partition=0, leader=1, isr=(1, 2))
    by_hand = [
        Event(4, 0, "zookeeper", EventKind.ZNODE_DELETED, path=path),
        Event(5, 0, "zookeeper", EventKind.ZNODE_CREATED, path=path, data=first, zk_version=0),
        Event(6, 0, "zookeeper", EventKind.ZNODE_CHANGED, path=path, data=second, zk_version=1),
    ]
    events = [
        msgspec.structs.replace(elected, leader_epoch=0, controller_epoch=1),
        Event(2, 0, "zookeeper", EventKind.ZNODE_CREATED, path=path, data=first, zk_version=0),
        msgspec.structs.replace(elected, seq=3, leader=2, isr=(2,), leader_epoch=1, controller_epoch=1),
        *by_hand,
    ]
    rows = fold_events("batch", "run", events).transitions
    assert [(row.seq, row.kind) for row in rows] == [(2, "LeaderElection"), *((e.seq, e.kind) for e in by_hand)]
    assert {row.trigger for row in rows[1:]} == {Trigger.WRITTEN}


# --- changed histories -----------------------------------------------------------------------------------------------------

Change = Callable[[list[Event], int], None]


def changes_of_state(events: Sequence[Event]) -> list[int]:
    """Return the indexes of the changes of state znodes that are not the last of their partition."""
    places: dict[str, list[int]] = {}
    for place, event in enumerate(events):
        if event.kind is EventKind.ZNODE_CHANGED and STATE.fullmatch(event.path or ""):
            places.setdefault(event.path or "", []).append(place)
    return sorted(place for of_one in places.values() for place in of_one[:-1])


def decisions(events: Sequence[Event]) -> list[int]:
    kinds = (EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR, EventKind.LEADER_EPOCH_BUMPED)
    return [place for place, event in enumerate(events) if event.kind in kinds and event.leader is not None]


def take_away(events: list[Event], place: int) -> None:
    del events[place]


def duplicate(events: list[Event], place: int) -> None:
    events.insert(place, events[place])


def change_leader(events: list[Event], place: int) -> None:
    events[place] = msgspec.structs.replace(events[place], leader=7)


def change_isr(events: list[Event], place: int) -> None:
    events[place] = msgspec.structs.replace(events[place], isr=[7])


def change_leader_epoch(events: list[Event], place: int) -> None:
    events[place] = msgspec.structs.replace(events[place], leader_epoch=70)


def write_another_epoch(events: list[Event], place: int) -> None:
    data = (events[place].data or "").replace('"leader_epoch":', '"leader_epoch":9')
    events[place] = msgspec.structs.replace(events[place], data=data)


@pytest.mark.parametrize("change", [take_away, duplicate, change_leader, change_isr, change_leader_epoch])
@pytest.mark.parametrize("name", ["rolling-restart-without-controlled-shutdown", "reassignment-controller-killed"])
def test_a_decision_that_is_recorded_otherwise_is_a_mismatch(name: str, change: Change) -> None:
    original = library_run(name)
    for place in decisions(original)[::3]:
        events = list(original)
        change(events, place)
        folded = fold_events("batch", name, events)
        assert folded.mismatches, f"{change.__name__} of event {original[place].seq} went unseen"


@pytest.mark.parametrize("change", [take_away, duplicate, write_another_epoch])
def test_a_write_that_is_missing_or_another_is_a_mismatch(change: Change) -> None:
    original = library_run("rolling-restart-without-controlled-shutdown")
    for place in changes_of_state(original)[::3]:
        events = list(original)
        change(events, place)
        folded = fold_events("batch", "run", events)
        assert folded.mismatches, f"{change.__name__} of event {original[place].seq} went unseen"


def test_a_mismatch_says_where_it_is_and_what_was_computed() -> None:
    events = list(library_run("broker-crash-and-return"))
    place = decisions(events)[-1]
    change_leader(events, place)
    (mismatch,) = fold_events("batch", "run", events).mismatches
    changed = events[place]
    assert str(mismatch).startswith(f"run: event {changed.seq} of {changed.topic}-{changed.partition}: ")
    assert "leader 7" in mismatch.recorded
    assert "leader 7" not in mismatch.computed


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_missing_or_out_of_place_nothing_breaks(seed: int) -> None:
    """Half of the events are given, in any order, some of them twice."""
    numbers = random.Random(seed)
    events = list(library_run("reassignment-controller-killed"))
    chosen = numbers.sample(events, len(events) // 2) + numbers.sample(events, len(events) // 10)
    fold_events("batch", "run", chosen)
