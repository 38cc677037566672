"""The page of a cluster in real time, in a browser: its past is read, its present acted on."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.play.server import PlayServer
from kcsim.zk.servers.free_ports import claimed_port
from tests.chromium import Chromium
from tests.requirements import require
from tests.scenarios.play.conftest import listening
from tests.scenarios.play.live_clusters import live_pages, served_live
from tests.scenarios.play.test_acts_in_browser import ACTS, BROKER, LAST, READY, REPLACED, at, choose, open_menu, process
from tests.scenarios.play.test_futures_in_browser import IS_LOST
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture
from tests.scenarios.views.trace.test_entity_feed import as_received, as_shown

PARTITIONS = f"[...kcsim.histories.allAt({LAST}, 'partition')]"
LEADERS = f"JSON.stringify({PARTITIONS}.map(([name, [replicas, leader]]) => [name, replicas, leader]))"
VISIBLE = (
    "[...document.querySelectorAll('#clock button, #clock select')].filter((one) => one.offsetParent).map(({ id }) => id)"
)


@pytest.mark.live
@pytest.mark.slow
def test_the_controller_is_killed_by_a_click_and_the_past_can_be_read(chromium: Chromium) -> None:  # noqa: F811
    require("java")
    with served_live() as live, chromium.open(live.server.address) as tab:
        tab.wait_for(READY)
        before = tab.evaluate(f"play.before = {{epoch: {at('epoch')}}}, {LAST}")
        victim = tab.evaluate(f"'broker-' + {at('controller')}")
        tab.evaluate(f"document.querySelector('#act-buttons [data-name={victim}]').click()")
        tab.click("#act-menu [data-act=Kill]")
        tab.wait_for(f"{process(victim, 'dead')} && {REPLACED}")
        tab.wait_for("byId('act-list').innerText.includes('became the controller with epoch 2')")
        tab.evaluate(f"kcsim.go({before})")
        assert tab.evaluate(f"kcsim.histories.at(kcsim.page.place, 'process', '{victim}')") == "running"
        assert tab.evaluate(VISIBLE) == ["clock-save", "clock-share"], "its clock cannot be set, and it has one future"
        tab.press("p")
        tab.press("n")
        tab.evaluate("play.bar.act('kill: broker-9')")
        tab.wait_for("byId('act-refused').innerText.includes('broker-9')")
        assert tab.complaints == []


@pytest.mark.live
@pytest.mark.slow
def test_after_each_act_the_page_shows_the_state_of_the_event_log(chromium: Chromium) -> None:  # noqa: F811
    require("java")
    shown = []
    with served_live() as live, chromium.open(live.server.address) as tab:
        tab.wait_for(READY)
        for thing, act, values, expected in ACTS:
            open_menu(tab, thing)
            choose(tab, act, values)
            tab.wait_for(f"{expected} || play.bar.acts.at(-1)[2]")
            refused = tab.evaluate("play.bar.acts.at(-1)[2]")
            assert refused is None, f"{act} of {thing}: {refused}"
            shown.append(json.loads(tab.evaluate(f"JSON.stringify([kcsim.run.length, kcsim.stateAt({LAST})])")))
        assert tab.complaints == []
        events = list(live.cluster.events)
    state, applied = ClusterState(), 0
    for (thing, act, *_), (length, at_page) in zip(ACTS, shown, strict=True):
        for event in events[applied:length]:
            state.apply(event)
        applied = length
        assert as_received(at_page) == as_shown(state), f"{act} of {thing}"


@pytest.mark.live
@pytest.mark.slow
def test_two_pages_agree_and_a_closed_one_has_no_effect(chromium: Chromium) -> None:  # noqa: F811
    require("java")
    alive = process(BROKER, "running")
    with served_live() as live, chromium.open(live.server.address) as one:
        one.wait_for(f"{READY} && {alive}")
        with chromium.open(live.server.address) as other:
            other.wait_for(READY)
            other.evaluate(f"play.bar.act('pause: {BROKER}')")
            for tab in (one, other):
                tab.wait_for(f"{process(BROKER, 'paused')} && play.bar.acts.length === 3")
            length = one.evaluate("kcsim.run.length")
            other.wait_for(f"kcsim.run.length >= {length}")
            states = [tab.evaluate(f"JSON.stringify(kcsim.stateAt({length - 1}))") for tab in (one, other)]
            assert states[0] == states[1]
        one.evaluate(f"play.bar.act('resume: {BROKER}')")
        one.wait_for(f"{alive} && play.bar.acts.length === 4")
        assert one.complaints == []


@pytest.mark.live
@pytest.mark.slow
def test_a_simulated_cluster_goes_on_from_the_present_state(chromium: Chromium) -> None:  # noqa: F811
    """What happens there has no effect on the cluster in real time; a broker that was paused is paused there, too."""
    require("java")
    with served_live() as live, chromium.open(live.server.address) as tab:
        tab.wait_for(READY)
        controller = tab.evaluate(f"'broker-' + {at('controller')}")
        other = "broker-1" if controller == BROKER else BROKER
        tab.evaluate(f"play.bar.act('pause: {other}')")
        tab.wait_for(process(other, "paused"))
        tab.click("#live-simulate")
        tab.wait_for("document.querySelector('#live-simulated a') !== null")
        before = tab.evaluate(LEADERS)
        with chromium.open(tab.evaluate("document.querySelector('#live-simulated a').href")) as simulated:
            simulated.wait_for(f"kcsim.run !== undefined && {process(other, 'paused')}")
            assert simulated.evaluate(LEADERS) == before
            assert "Not carried over" in simulated.text("#origin")
            simulated.evaluate(f"play.before = {{epoch: {at('epoch')}}}")
            assert simulated.evaluate(f"'broker-' + {at('controller')}") == controller
            simulated.evaluate("play.send({speed: 10.0}); play.send({paused: false}); play.bar.act('kill: controller')")
            simulated.wait_for(f"{process(controller, 'dead')} && {REPLACED}")
            simulated.press("p")
            simulated.wait_for("byId('clock-pause').getAttribute('aria-pressed') === 'true'")
            simulated.evaluate("play.send({back: 9000})")
            simulated.wait_for(f"{process(controller, 'running')} && play.futures.forks.all.length === 2")
            simulated.evaluate("play.send({save: true})")
            simulated.wait_for("byId('act-refused').innerText.includes('in the state of another one')")
            assert simulated.complaints == []
        assert tab.evaluate(at("process", controller)) == "running"
        tab.click("#live-simulated button")
        tab.wait_for("document.querySelector('#live-simulated a') === null")
        assert tab.complaints == []


@pytest.mark.live
@pytest.mark.slow
def test_what_was_done_is_saved_as_a_scenario_and_as_a_page(chromium: Chromium, tmp_path: Path) -> None:  # noqa: F811
    require("java")
    file = tmp_path / "play.html"
    with served_live() as live, chromium.open(live.server.address) as tab:
        tab.wait_for(READY)
        tab.evaluate("saveText = (name, text) => ((play.kept ??= {})[name] = text)")
        tab.evaluate(f"play.bar.act('stop: {BROKER}')")
        tab.wait_for(process(BROKER, "stopped"))
        tab.click("#clock-save")
        tab.click("#clock-share")
        tab.wait_for("Object.keys(play.kept ?? {}).length === 2")
        scenario, page = tab.evaluate("[play.kept['play.yaml'], play.kept['play.html']]")
        assert tab.complaints == []
    loaded = load_text(scenario, "play.yaml").scenario
    assert [step.verb() for step in loaded.timetable] == ["start", "create-topic", "stop"]
    assert f"stopped: [{BROKER}]" in scenario, "an expectation that a run of the scenario meets"
    file.write_text(page, encoding="utf-8")
    with chromium.open(file.as_uri()) as tab:
        tab.wait_for(process(BROKER, "stopped"))
        assert "stop: broker-2" in tab.text("#act-list")
        assert tab.complaints == []


@pytest.mark.live
@pytest.mark.slow
def test_a_lost_server_is_shown_and_the_page_goes_on_when_it_is_back(chromium: Chromium) -> None:  # noqa: F811
    require("java")
    with live_pages() as live, claimed_port() as port, ExitStack() as first:
        server = PlayServer(live.pages, port)
        first.enter_context(listening(server, port))
        with chromium.open(server.address) as tab:
            tab.wait_for(READY)
            first.close()
            tab.wait_for(IS_LOST)
            with listening(server, port):
                tab.wait_for(f"!{IS_LOST} && play.server.socket.readyState === WebSocket.OPEN")
                tab.evaluate(f"play.bar.act('pause: {BROKER}')")
                tab.wait_for(process(BROKER, "paused"))
        assert [text for text in tab.complaints if "ws://" not in text] == []
