"""The page of a long run, which is sent parts of it only: it shows the states that the whole event log leads to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.played_pages import PlayedPages
from kcsim.scenarios.play.run_processes import RunProcesses
from kcsim.scenarios.play.server import PlayServer
from kcsim.scenarios.play.shared_play import shared_page
from kcsim.scenarios.views.trace.entity_feed import EntityFeed
from kcsim.zk.servers.free_ports import claimed_port
from tests.chromium import Chromium, Tab
from tests.scenarios.play.conftest import listening
from tests.scenarios.play.watched_runs import FIRST, SCENARIO
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture

SEGMENT, MOST_WHOLE = 60, 100
ACTS = [Act(4_000 + 20_000 * turn, step) for turn, step in enumerate(["kill: broker-1", "start: all"] * 4)]
IS_COMPLETE = "play.growth === null && play.fetched === null && play.shownEnd === kcsim.run.length - 1"


@contextmanager
def long_run() -> Iterator[tuple[PlayedCluster, PlayServer]]:
    """Serve a run of some hundred events, of which a page is sent the part around the moment that it shows."""
    processes = RunProcesses(segment_events=SEGMENT)
    cluster = PlayedCluster(SCENARIO, 1, [*FIRST, *ACTS], processes)
    for until_ms in range(0, 160_001, 1_000):  # in many parts, as a run that is watched
        cluster.go_on_to(until_ms)
        cluster.finish_passing()
    cluster.take()
    with claimed_port() as port:
        server = PlayServer(PlayedPages(cluster, most_whole=MOST_WHOLE), port)
        with listening(server, port):
            yield cluster, server
    processes.close()


def state_after(cluster: PlayedCluster, seq: int) -> dict[str, dict[str, Any]]:
    """Return the state that the event log leads to, up to an event, as the page has it."""
    feed = EntityFeed()
    state: dict[tuple[str, str], Any] = {}
    for event in cluster.events:
        if event.seq > seq:
            break
        feed.apply(event)
        state |= {(change.entity_type, change.name): change.value for change in feed.take()}
    found: dict[str, dict[str, Any]] = {}
    for (entity_type, name), value in state.items():
        if value is not None:
            found.setdefault(entity_type, {})[name] = value
    return found


def check_state(tab: Tab, cluster: PlayedCluster) -> int:
    """Compare the state at the event that the page shows with the event log. Returns: the number of the event."""
    seq, is_known, state = tab.evaluate(
        "[kcsim.run.seqs[kcsim.page.place], kcsim.run.isKnown(kcsim.page.place), kcsim.stateAt(kcsim.page.place)]"
    )
    assert is_known
    assert {family: of for family, of in state.items() if of} == json.loads(json.dumps(state_after(cluster, seq)))
    return int(seq)


def go_to(tab: Tab, seq: int) -> None:
    tab.evaluate(f"location.hash = '#e={seq}'")
    tab.wait_for(f"{IS_COMPLETE} && kcsim.run.seqs[kcsim.page.place] === {seq}")


def test_the_state_is_that_of_the_event_log_wherever_one_goes(chromium: Chromium) -> None:  # noqa: F811
    """At present, at an event that was not sent at first, at the beginning, and after having come back."""
    with long_run() as (cluster, server), chromium.open(server.address) as tab:
        tab.wait_for(IS_COMPLETE)
        last = cluster.events[-1].seq
        assert check_state(tab, cluster) == last
        assert tab.evaluate("kcsim.run.length") < len(cluster.events)
        go_to(tab, last // 2)
        assert tab.evaluate("kcsim.run.length") < len(cluster.events)
        check_state(tab, cluster)
        tab.press("Home")
        tab.wait_for(f"{IS_COMPLETE} && kcsim.page.place === 0")
        check_state(tab, cluster)
        tab.press("End")
        tab.wait_for(f"{IS_COMPLETE} && kcsim.page.place === kcsim.run.length - 1")
        assert check_state(tab, cluster) == last
        assert tab.complaints == []


def test_a_cause_that_was_not_sent_can_be_gone_to(chromium: Chromium) -> None:  # noqa: F811
    with long_run() as (cluster, server), chromium.open(server.address) as tab:
        tab.wait_for(IS_COMPLETE)
        late = max(
            (event for event in cluster.events if event.cause is not None), key=lambda event: event.seq - (event.cause or 0)
        )
        go_to(tab, late.seq)
        assert "has not been sent" in tab.text("#story")
        tab.click("#story .elsewhere a")
        tab.wait_for(f"{IS_COMPLETE} && kcsim.run.seqs[kcsim.page.place] === {late.cause}")
        check_state(tab, cluster)


def test_another_future_is_begun_from_a_moment_that_was_not_sent_at_first(chromium: Chromium) -> None:  # noqa: F811
    with long_run() as (cluster, server), chromium.open(server.address) as tab:
        tab.wait_for(IS_COMPLETE)
        go_to(tab, cluster.events[-1].seq // 2)
        tab.click("#clock-back")
        tab.wait_for("play.futures.forks.all.length === 2")
        tab.wait_for(f"{IS_COMPLETE} && kcsim.page.place === kcsim.run.length - 1")
        assert check_state(tab, cluster) == cluster.events[-1].seq
        tab.evaluate("play.bar.act('pause: broker-2')")
        tab.evaluate("play.send({speed: 100}); play.send({paused: false})")
        tab.wait_for("kcsim.histories.at(kcsim.run.length - 1, 'process', 'broker-2') === 'paused'")
        tab.evaluate("play.send({paused: true})")
        tab.wait_for("byId('clock-pause').getAttribute('aria-pressed') === 'true'")
        tab.wait_for(f"{IS_COMPLETE} && play.reached_ms >= play.now_ms")
        check_state(tab, cluster)


@pytest.mark.parametrize("is_at_end", [True, False])
def test_a_page_that_follows_a_run_keeps_a_bounded_part_of_it(chromium: Chromium, is_at_end: bool) -> None:  # noqa: F811
    """Also when one has gone to an earlier event meanwhile: what is around it stays."""
    most = 3 * SEGMENT
    with long_run() as (cluster, server), chromium.open(server.address) as tab:
        tab.wait_for(IS_COMPLETE)
        if not is_at_end:
            tab.evaluate("kcsim.go(kcsim.run.length - 20)")
        seq, before = tab.evaluate("kcsim.run.seqs[kcsim.page.place]"), len(cluster.events)
        tab.evaluate(f"play.mostWhole = {most}")
        for step in ("kill: broker-2", "start: all", "kill: broker-3", "start: all"):
            until_ms = cluster.now_ms + 20_000
            tab.evaluate(f"play.bar.act({json.dumps(step)}); play.send({{speed: 100}}); play.send({{paused: false}})")
            tab.wait_for(f"play.now_ms >= {until_ms}")
        tab.evaluate("play.send({paused: true})")
        tab.wait_for("byId('clock-pause').getAttribute('aria-pressed') === 'true'")
        tab.wait_for(f"{IS_COMPLETE} && play.reached_ms >= play.now_ms")
        assert len(cluster.events) > before + most
        whole = tab.evaluate("kcsim.run.stretches.reduce((sum, [first, end]) => sum + end - first, 0)")
        assert whole <= most
        shown = check_state(tab, cluster)
        assert shown == (cluster.events[-1].seq if is_at_end else seq)
        tab.evaluate("kcsim.go(kcsim.run.length - 1)")
        check_state(tab, cluster)
        assert tab.complaints == []


def test_a_saved_page_says_what_it_leaves_out_of_a_long_run(
    chromium: Chromium,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kcsim.scenarios.play.shared_play.MOST_SHARED", MOST_WHOLE)
    with long_run() as (cluster, _):
        file = tmp_path / "play.html"
        file.write_text(shared_page(cluster), encoding="utf-8")
        with chromium.open(file.as_uri()) as tab:
            kept = tab.evaluate("kcsim.run.length")
            assert f"The run has {len(cluster.events)} events, this page {kept} of them" in tab.text("#notices")
            assert check_state(tab, cluster) == cluster.events[-1].seq
            assert "is not in it" in tab.evaluate("(kcsim.go(kcsim.run.stretches[0][0] - 1), byId('cluster').innerText)")
            assert tab.complaints == []
