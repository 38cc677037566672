"""The page of a cluster that is up for long: it has the latest events, and begins with the state before them."""

import json

from websockets.sync.client import ClientConnection

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.live_cluster import LiveCluster
from tests.chromium import Chromium
from tests.scenarios.play.live_clusters import served_pages
from tests.scenarios.play.test_acts_in_browser import LAST
from tests.scenarios.play.test_play_server import connected
from tests.scenarios.play.watched_runs import FIRST, PATIENCE_S, Watched
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture
from tests.scenarios.views.trace.test_entity_feed import as_received, as_shown

MOST = 100
ALL_ACTS = (*FIRST, Act(5_000, "kill: controller"), Act(30_000, "start: broker-1"))


def test_earlier_events_are_dropped_and_the_states_of_the_others_stay(chromium: Chromium) -> None:  # noqa: F811
    events = Watched(40_000, planned=ALL_ACTS).events
    half = len(events) // 2
    live = LiveCluster()
    for event in events[:half]:
        live.see(event)
    with served_pages(live, MOST) as server, chromium.open(server.address) as tab:
        for begun, end in ((0, half), (half, len(events))):
            for event in events[begun:end] if begun else ():
                live.see(event)
            tab.wait_for(f"kcsim.run !== undefined && kcsim.run.seqs.at(-1) === {end - 1} && play.growth === null")
            first = tab.evaluate("kcsim.run.seqs[0]")
            tab.wait_for(f"byId('live-dropped').innerText.includes('after the first {first} events')")
            assert end - MOST <= first < end
            for seq in (first, (first + end) // 2, end - 1):
                shown = tab.evaluate(f"JSON.stringify(kcsim.stateAt(kcsim.run.placeOf({seq})))")
                state = ClusterState()
                for event in events[: seq + 1]:
                    state.apply(event)
                assert as_received(json.loads(shown)) == as_shown(state)
        assert tab.evaluate(f"kcsim.page.place === {LAST}")
        assert tab.complaints == []


def test_a_page_that_does_not_read_has_no_effect_on_the_cluster_and_on_other_pages() -> None:
    """A browser suspends pages that nobody looks at. What such a page was not sent, it is sent when it reads again."""
    events = Watched(40_000, planned=ALL_ACTS).events
    live = LiveCluster()
    live.see(events[0])
    with served_pages(live) as server, connected(server, max_queue=1) as suspended, connected(server) as other:
        for event in events[1:]:
            live.see(event)
        assert seqs_until(other, events[-1].seq) == [event.seq for event in events]
        assert seqs_until(suspended, events[-1].seq) == [event.seq for event in events]


def test_an_unreachable_zookeeper_is_shown_on_the_page(chromium: Chromium) -> None:  # noqa: F811
    live = LiveCluster("others run this cluster")
    for event in Watched(5_000).events:
        live.see(event)
    with served_pages(live) as server, chromium.open(server.address) as tab:
        tab.wait_for(
            "kcsim.run !== undefined && byId('live-watched').innerText === 'Watched only: others run this cluster.'"
        )
        assert tab.text("#live-gaps") == ""
        live.gaps = ["ZooKeeper does not answer"]
        tab.wait_for("byId('live-gaps').innerText === 'ZooKeeper does not answer.'")
        live.gaps = []
        tab.wait_for("byId('live-gaps').innerText === ''")
        assert tab.complaints == []


def seqs_until(page: ClientConnection, last: int) -> list[int]:
    """Read what a page is sent until it has this event. Returns: the events that it has then."""
    seqs: list[int] = []
    while not seqs or seqs[-1] != last:
        message = json.loads(page.recv(PATIENCE_S))
        if "all" in message:
            seqs = []
        for part in (*message.get("all", ()), *message.get("parts", ())):
            for difference in part["seq"]:
                seqs.append(difference + (seqs[-1] if seqs else 0))
    return seqs
