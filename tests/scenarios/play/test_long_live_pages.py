"""The page of a cluster that is up for long: it has the latest events, and begins with the state before them."""

import json

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.live_cluster import LiveCluster
from kcsim.scenarios.play.live_pages import LivePages
from kcsim.scenarios.play.server import PlayServer
from kcsim.zk.servers.free_ports import claimed_port
from tests.chromium import Chromium
from tests.scenarios.play.conftest import listening
from tests.scenarios.play.test_acts_in_browser import LAST
from tests.scenarios.play.watched_runs import FIRST, SCENARIO, Watched
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
    with claimed_port() as port:
        server = PlayServer(LivePages(live, SCENARIO.name, SCENARIO, 1, most_events=MOST), port)
        with listening(server, port), chromium.open(server.address) as tab:
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
