"""A simulated cluster that goes on from the state of a cluster in real time."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import ClientConnection

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.scenarios.play import live_pages
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.live_cluster import LiveCluster
from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.simulated_continuation import REACHED_MS, CannotContinueError, live_state
from tests.scenarios.play.live_clusters import served_pages
from tests.scenarios.play.test_play_server import connected, get
from tests.scenarios.play.watched_runs import FIRST, PATIENCE_S, SCENARIO, Watched, run_processes


def state_after(events: Sequence[Event]) -> ClusterState:
    state = ClusterState()
    for event in events:
        state.apply(event)
    return state


def events_with(*steps: str) -> Sequence[Event]:
    """Return the events of a run in which this was done at last, a moment ago: no session has expired since."""
    return Watched(5_100, planned=[*FIRST, *(Act(5_000, step) for step in steps)]).events


def test_a_registered_broker_that_does_not_run_is_killed_or_paused_there() -> None:
    events = events_with("kill: broker-1", "pause: broker-3")
    begun = live_state("three", 5_100, state_after(events), SCENARIO, FIRST)
    assert begun.snapshot.registered_ids == (1, 2, 3)
    assert [(act.at_ms, act.step) for act in begun.first] == [
        (REACHED_MS, "kill: broker-1"),
        (REACHED_MS, "pause: broker-3"),
    ]


def test_what_was_declared_on_the_page_can_be_named_there() -> None:
    producers = {"writer": {"topics": "orders", "rate": 20, "settings": {"acks": "all"}}}
    act = Act(5_000, "start-workload: writer", {"workload": {"producers": producers}})
    begun = live_state("three", 5_100, state_after(events_with()), SCENARIO, [*FIRST, act])
    assert list(begun.scenario.workload.producers) == ["writer"]


def test_a_cluster_of_which_only_the_znodes_are_known_has_the_brokers_that_they_name() -> None:
    begun = live_state("127.0.0.1:2181/kafka", 0, state_after(events_with("stop: broker-2")), None, ())
    assert [broker.id for broker in begun.scenario.cluster.members()] == [1, 2, 3]
    assert "127.0.0.1:2181/kafka" in begun.origin


def test_a_cluster_without_brokers_cannot_go_on() -> None:
    with pytest.raises(CannotContinueError, match="no broker of Kafka has ever registered"):
        live_state("three", 0, state_after(events_with()[:1]), SCENARIO, ())
    stopped = Watched(60_000, planned=[*FIRST, Act(5_000, "stop: [broker-1, broker-2, broker-3]")]).events
    with pytest.raises(CannotContinueError, match="no broker is registered"):
        live_state("three", 0, state_after(stopped), SCENARIO, ())


def received(page: ClientConnection, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Read what a page is sent until a message is what the test waits for."""
    while not is_wanted(message := json.loads(page.recv(PATIENCE_S))):
        pass
    return dict(message)


def test_a_bounded_number_is_kept_each_below_the_address_of_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_pages, "MOST_SIMULATED", 1)
    live = LiveCluster()
    for event in events_with():
        live.see(event)
    with served_pages(live) as server, connected(server) as page:
        below = f"{urlsplit(server.address).path}simulated-1/"
        assert get(server, below)[0] == 404
        page.send(json.dumps({"simulate": True}))
        received(page, lambda message: bool(message.get("live", {}).get("simulated")))
        status, html = get(server, below)
        assert (status, "Not carried over" in html) == (200, True)
        assert get(server, below, {"Host": f"rebound.example:{urlsplit(server.address).port}"})[0] == 421
        page.send(json.dumps({"simulate": True}))
        assert "end one first" in received(page, lambda message: "problem" in message)["problem"]
        page.send(json.dumps({"end": "simulated-1"}))
        received(page, lambda message: message.get("live", {}).get("simulated") == [])
        assert get(server, below)[0] == 404


def test_its_story_begins_in_that_state() -> None:
    """How the cluster was brought into it is no part of the story: nobody has frozen a broker or written a znode by hand."""
    begun = live_state("three", 5_100, state_after(events_with("pause: broker-3")), SCENARIO, FIRST)
    cluster = PlayedCluster(begun.scenario, 1, begun.first, run_processes(), begun.snapshot)
    cluster.go_on_to(REACHED_MS)
    cluster.act("kill: controller")
    cluster.go_on_to(40_000)
    cluster.finish_passing()
    cluster.ask_for_story()
    cluster.finish_passing()
    incidents, cost, outcome = json.loads(cluster.fork.run.about)["story"]["sentences"]
    cluster.close()
    paused, killed = incidents.split("; ")
    assert (paused.startswith("broker-3, leader of "), paused.endswith("froze at 10.00 s")) == (True, True)
    assert killed.endswith("the controller, was killed at 10.00 s.")
    assert "no broker was a working controller" in cost
    assert "took over with epoch 2" in outcome
