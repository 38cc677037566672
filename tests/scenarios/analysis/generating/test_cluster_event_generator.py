"""The events of the cluster: in order, with their causes, and with one controller at a time."""

from collections import Counter
from itertools import pairwise

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.generating.cluster_history import GeneratedActionKind
from tests.scenarios.analysis.generating.histories import EACH, ROUGH, made

NAMES = pytest.mark.parametrize("name", EACH)


@NAMES
def test_no_two_events_of_the_cluster_share_a_millisecond(name: str) -> None:
    events = made(EACH[name]).of_cluster
    assert all(a.t_ms < b.t_ms and a.seq < b.seq for a, b in pairwise(events))


@NAMES
def test_it_begins_and_ends_as_a_run_does(name: str) -> None:
    first, *_, last = made(EACH[name]).of_cluster
    assert (first.kind, first.t_ms, first.seed) == (EventKind.RUN_STARTED, 0, EACH[name].seed)
    assert last.kind is EventKind.RUN_ENDED
    assert last.t_ms >= EACH[name].length_ms


def test_everything_that_is_asked_for_happens() -> None:
    counted = Counter((e.kind, e.fault or e.op or e.state) for e in made(ROUGH).of_cluster)
    for kind, what in (
        (EventKind.FAULT, "kill"),
        (EventKind.FAULT, "expire"),
        (EventKind.ADMIN_ACT, "stop"),
        (EventKind.PROCESS_STATE, "dead"),
        (EventKind.PROCESS_STATE, "stopped"),
        (EventKind.PROCESS_STATE, "running"),
        (EventKind.CONTROLLED_SHUTDOWN, None),
        (EventKind.LEADER_REBALANCE, None),
    ):
        assert counted[kind, what], f"no {kind} {what}"
    assert any("without power" in (e.detail or "") for e in made(ROUGH).of_cluster)
    assert any(step == "bounced: back" for step in (e.step for e in made(ROUGH).of_cluster))


@NAMES
def test_controllers_follow_each_other_by_epochs_without_gap(name: str) -> None:
    won = [e for e in made(EACH[name]).of_cluster if e.kind is EventKind.ELECTION_WON]
    assert len(won) > 2
    assert [e.controller_epoch for e in won] == list(range(1, len(won) + 1))


@NAMES
def test_a_controller_that_is_dead_does_nothing(name: str) -> None:
    controller: str | None = None
    dead: set[str] = set()
    for event in made(EACH[name]).of_cluster:
        if event.kind is EventKind.PROCESS_STATE:
            (dead.discard if event.state == "running" else dead.add)(event.node)
        elif event.kind is EventKind.ELECTION_WON:
            controller = event.node
        elif event.kind in (EventKind.BROKER_CHANGE, EventKind.CONTROLLER_FAILOVER, EventKind.LEADER_REBALANCE):
            assert event.node == controller, f"{event} by a former controller"
            assert event.node not in dead, f"{event} by a dead one"


@NAMES
def test_nobody_registers_while_registered(name: str) -> None:
    registered: set[str] = set()
    for event in made(EACH[name]).of_cluster:
        if (event.path or "").startswith("/brokers/ids/") and event.kind is EventKind.ZNODE_CREATED:
            assert event.path not in registered, f"{event}"
            registered.add(event.path or "")
        elif event.path in registered and event.kind is EventKind.ZNODE_DELETED:
            registered.remove(event.path or "")


@NAMES
def test_a_replay_finds_the_moments_that_the_history_was_made_of(name: str) -> None:
    """The replay finds which brokers came and went, in which epoch, and when, from the events alone."""
    generated = made(EACH[name]).generated
    kinds = {
        "failover": GeneratedActionKind.FAILOVER,
        "started": GeneratedActionKind.STARTED,
        "stopped": GeneratedActionKind.STOPPED,
        "shutting down": GeneratedActionKind.SHUTDOWN,
    }
    kinds["rebalance"] = GeneratedActionKind.REBALANCE
    found = [(m.seq, kinds[m.kind.value], m.view.epoch, sorted(m.brokers)) for m in generated.timeline.actions]
    assert found == [(m.seq, m.kind, m.epoch, sorted(m.brokers)) for m in generated.history.actions]


@NAMES
def test_brokers_serve_within_the_lives_of_their_processes_and_sessions(name: str) -> None:
    of_cluster, history = made(EACH[name]).of_cluster, made(EACH[name]).generated.history
    ends = [(e.t_ms, e.node) for e in of_cluster if e.kind is EventKind.PROCESS_STATE and e.state != "running"]
    for broker, intervals in history.serving_intervals.items():
        assert all(a.until <= b.since for a, b in pairwise(intervals))
        for t_ms, node in ends:
            assert node != f"broker-{broker}" or history.serving_interval_at(broker, t_ms + 1) is None
