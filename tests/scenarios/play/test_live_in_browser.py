"""The page of a cluster in real time, in a browser: its past is read, its present acted on."""

import json

import pytest

from kcsim.eventlog.cluster_state import ClusterState
from tests.chromium import Chromium
from tests.requirements import require
from tests.scenarios.play.live_clusters import served_live
from tests.scenarios.play.test_acts_in_browser import ACTS, BROKER, LAST, READY, REPLACED, at, choose, open_menu, process
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture
from tests.scenarios.views.trace.test_entity_feed import as_received, as_shown

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
        events = list(live.events)
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
