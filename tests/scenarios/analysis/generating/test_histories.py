"""The rules that every generated history keeps: Kafka's own, and those of the event log."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import pytest

from kcsim.brokers.invariants.history import PartitionStateChange, RunHistory, state_writes
from kcsim.brokers.invariants.safety import SAFETY_OF_THE_CLUSTER
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.what_if import AS_IT_WAS
from kcsim.scenarios.analysis.folding.what_if_replay import fold_what_if
from tests.scenarios.analysis.generating.histories import EACH, ROUGH, drawn, made
from tests.tiers import tiered

SEEDS = range(200)
NAMES = pytest.mark.parametrize("name", EACH)
BY_LEADERS = (EventKind.ISR_EXPANDED, EventKind.ISR_SHRUNK)


@NAMES
def test_seq_is_unique_and_goes_with_time(name: str) -> None:
    assert all(a.seq < b.seq and a.t_ms <= b.t_ms for a, b in pairwise(made(EACH[name]).events))


@NAMES
def test_every_cause_is_an_earlier_event(name: str) -> None:
    seqs = {event.seq for event in made(EACH[name]).events}
    wrong = [e for e in made(EACH[name]).events if e.cause is not None and not (e.cause < e.seq and e.cause in seqs)]
    assert wrong == []


@NAMES
def test_zookeepers_transactions_are_in_the_order_of_events(name: str) -> None:
    zxids = [event.zxid for event in made(EACH[name]).events if event.zxid is not None]
    assert zxids == sorted(zxids)


@NAMES
def test_a_replay_decides_everything_as_the_history_records_it(name: str) -> None:
    """The controller's decisions compute every election, removal and raised epoch again from the events alone."""
    folded = fold_events("made", name, made(EACH[name]).events)
    assert [str(mismatch) for mismatch in folded.mismatches] == []
    written = Counter(e.kind for e in made(EACH[name]).rows)
    folded_kinds = Counter(transition.kind for transition in folded.transitions)
    assert folded_kinds["IsrShrunk"] == written["IsrShrunk"]
    assert folded_kinds["LeaderElection"] == written["LeaderElection"]
    assert "Unknown" not in {transition.trigger for transition in folded.transitions}


@NAMES
def test_a_replay_of_the_facts_alone_finds_the_same_transitions(name: str) -> None:
    """All other transitions follow from these facts.

    The facts are: which replicas fell behind and caught up, what administrators requested, and the cluster's own events.
    """
    events = made(EACH[name]).events
    recorded, derived = (
        fold_events("made", name, events),
        fold_events("made", name, events, partial(fold_what_if, AS_IT_WAS)),
    )
    assert list(map(_outcome, derived.transitions)) == list(map(_outcome, recorded.transitions))


def _outcome(t: Transition) -> tuple[object, ...]:
    """Return all of a transition but the event that reports it."""
    state = t.leader, t.leader_epoch, tuple(t.isr), tuple(t.replicas), t.controller_epoch, t.zk_version
    return (t.topic, t.partition, t.n, t.kind, *state, t.strategy, t.rule, t.trigger, t.clean)


@NAMES
def test_the_safety_invariants_of_the_cluster_hold(name: str) -> None:
    assert list(_violations(made(EACH[name]).events)) == []


def _violations(events: Sequence[Event]) -> Iterator[str]:
    history = RunHistory()
    for event in events:
        history.apply(event)
        for invariant in SAFETY_OF_THE_CLUSTER:
            if event.kind in invariant.kinds:
                yield from (f"{invariant.name}: {sentence}" for sentence in invariant.check(history))


@NAMES
def test_versions_have_no_gap_and_leader_epochs_rise_by_one_with_each_decision(name: str) -> None:
    for write in _changes(name):
        assert write.before is not None
        before, after = write.before.leader_and_isr, write.after.leader_and_isr
        assert after.zk_version == before.zk_version + 1, str(write)
        assert after.leader_epoch - before.leader_epoch in (0, 1), str(write)
        if after.leader_epoch == before.leader_epoch:
            assert after.leader == before.leader, str(write)
            assert set(after.isr) != set(before.isr), f"{write}, as before"


def _changes(name: str) -> list[PartitionStateChange]:
    found = [write for write in state_writes(made(EACH[name]).events) if write.before is not None]
    assert len(found) > 30
    return found


@NAMES
def test_a_dead_broker_does_nothing(name: str) -> None:
    dead: set[str] = set()
    for event in made(EACH[name]).events:
        if event.kind is EventKind.PROCESS_STATE:
            (dead.discard if event.state == "running" else dead.add)(event.node)
        else:
            assert event.node not in dead, f"{event}"


@NAMES
def test_only_who_is_in_the_isr_and_keeps_a_session_writes_it_as_leader(name: str) -> None:
    history = made(EACH[name]).generated.history
    for event in made(EACH[name]).events:
        if event.kind in BY_LEADERS:
            assert event.leader is not None
            assert event.node == f"broker-{event.leader}"
            assert event.leader in (event.isr or ())
            assert history.serving_interval_at(event.leader, event.t_ms - 1) is not None, f"{event}"


def test_every_rule_of_election_decides_somewhere() -> None:
    rules = {event.rule for event in made(ROUGH).events if event.kind is EventKind.LEADER_ELECTION}
    assert rules == {
        "NewPartition",
        "AliveAndInIsr",
        "Unclean",
        "ReassignmentTarget",
        "PreferredLeader",
        "ControlledShutdown",
    }


def test_moved_partitions_end_on_their_targets_and_deleted_topics_are_gone() -> None:
    plans, layout = made(ROUGH).generated.admin_schedule, made(ROUGH).generated.layout
    history = RunHistory()
    for event in made(ROUGH).events:
        history.apply(event)
    topics = history.state.of_topics.topics
    assert plans.moves
    assert plans.deletions
    assert topics.keys() == {t.name for t in layout.topics if t.number not in plans.deletions}
    for number, moves in plans.moves.items():
        if number not in plans.deletions:
            last = {move.partition: move.target for move in moves}
            for partition, target in last.items():
                assignment = topics[layout.topics[number].name].assignments[partition]
                assert (assignment.replicas, assignment.is_being_reassigned) == (target, False)
    assert not history.state.of_topics.deleting


def test_a_lost_leader_leads_back_to_the_fault() -> None:
    """The consequences of a crash can be traced to it, as in any run."""
    by_seq = {event.seq: event for event in made(ROUGH).events}
    elections = [e for e in made(ROUGH).rows if e.kind == "LeaderElection" and e.rule == "AliveAndInIsr"]
    roots = Counter(_root(by_seq, election.cause).kind for election in elections)
    assert roots.keys() <= {EventKind.FAULT, EventKind.ADMIN_ACT}
    assert roots[EventKind.FAULT] > len(elections) / 2


def _root(by_seq: dict[int, Event], cause: int | None) -> Event:
    assert cause is not None
    event = by_seq[cause]
    while event.cause is not None:
        event = by_seq[event.cause]
    return event


@pytest.mark.parametrize("seed", tiered(SEEDS, fast=200, slow=50))
def test_whatever_a_cluster_is_made_to_live_through_its_history_holds(seed: int) -> None:
    events = made(drawn(seed)).events
    seqs = {event.seq for event in events}
    assert all(a.seq < b.seq and a.t_ms <= b.t_ms for a, b in pairwise(events))
    assert [e for e in events if e.cause is not None and not (e.cause < e.seq and e.cause in seqs)] == []
    assert list(_violations(events)) == []
    recorded = fold_events("made", "drawn", events)
    assert [str(mismatch) for mismatch in recorded.mismatches] == []
    derived = fold_events("made", "drawn", events, partial(fold_what_if, AS_IT_WAS))
    assert list(map(_outcome, derived.transitions)) == list(map(_outcome, recorded.transitions))
