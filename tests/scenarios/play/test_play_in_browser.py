"""The page of a played cluster, in a browser."""

import json

from tests.chromium import Chromium
from tests.scenarios.play.conftest import served
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture

RUNNING = 'kcsim.histories.at(kcsim.run.length - 1, "process", "broker-2") === "running"'
DEAD = 'kcsim.histories.at(kcsim.run.length - 1, "process", "broker-2") === "dead"'
LEADERS = '[...kcsim.histories.allAt(kcsim.run.length - 1, "partition").values()].map((value) => value[1])'


def test_a_broker_is_killed_by_a_click_and_comes_back_when_one_goes_back(chromium: Chromium) -> None:  # noqa: F811
    with served() as server, chromium.open(server.address) as tab:
        tab.evaluate("play.send({speed: 10})")
        tab.wait_for(f"{LEADERS}.length === 2 && {LEADERS}.every((leader) => leader > 0)")
        tab.wait_for(RUNNING)
        before_ms = tab.evaluate("kcsim.run.times.at(-1)")
        tab.click("#act-buttons [data-name=broker-2]")
        tab.click("#act-menu [data-act=Kill]")
        tab.wait_for(DEAD)
        tab.wait_for(f"{LEADERS}.every((leader) => leader > 0 && leader !== 2)")
        assert "kill: broker-2" in tab.text("#act-list")
        tab.wait_for("byId('summary').innerText.includes('broker-2')")  # the story comes later than the events
        tab.press("p")
        tab.wait_for("document.querySelector('#clock-pause').getAttribute('aria-pressed') === 'true'")
        tab.wait_for("play.growth === null")  # until then, the page may show that event as its last one, and move on with it
        tab.evaluate(f"kcsim.go(kcsim.run.times.indexOf({before_ms}))")
        tab.click("#clock-back")
        tab.wait_for(
            "typeof kcsim !== 'undefined' && kcsim.run !== undefined && kcsim.run.times.at(-1) <= " + str(before_ms)
        )
        tab.wait_for(RUNNING)
        assert "kill: broker-2" not in tab.text("#act-list")
        assert [one for one in tab.complaints if "ws://" not in one] == []


def test_who_has_gone_to_an_earlier_event_stays_there(chromium: Chromium) -> None:  # noqa: F811
    """Also when a part of the run that came before has not been shown yet."""
    with served() as server, chromium.open(server.address) as tab:
        tab.wait_for(f"{RUNNING} && play.shownEnd > 1")
        tab.evaluate(
            "play.append = (parts) => { Play.prototype.append.call(play, parts); kcsim.go(1); delete play.append; }"
        )
        tab.evaluate("play.bar.act('kill: broker-2')")
        tab.wait_for(f"{DEAD} && play.shownEnd === kcsim.run.length - 1 && play.growth === null")
        assert tab.evaluate("kcsim.page.place") == 1


def test_a_step_is_typed_and_what_cannot_be_done_is_shown(chromium: Chromium) -> None:  # noqa: F811
    with served() as server, chromium.open(server.address) as tab:
        tab.wait_for(RUNNING)
        for step in ("pause: broker-2", "pause: broker-9"):
            tab.evaluate(f"byId('act-text').value = {json.dumps(step)}; byId('act-form').requestSubmit()")
        tab.wait_for("document.querySelector('#act-refused').innerText.includes('broker-9')")
        tab.wait_for('kcsim.histories.at(kcsim.run.length - 1, "process", "broker-2") === "paused"')


def test_markup_in_what_is_typed_and_in_data_of_znodes_is_text(chromium: Chromium) -> None:  # noqa: F811
    markup = "<img src=x onerror='window.hit = 1'>"
    written = f'zk-set: {{path: /controller_epoch, data: "{markup}"}}'
    with served() as server, chromium.open(server.address) as tab:
        tab.wait_for(RUNNING)
        for step in (f'kill: "{markup}"', written):
            tab.evaluate(f"byId('act-text').value = {json.dumps(step)}; byId('act-form').requestSubmit()")
        tab.wait_for(f"document.querySelector('#act-refused').innerText.includes({json.dumps(markup)})")
        tab.wait_for(f"[...document.querySelectorAll('#act-list')].at(-1).innerText.includes({json.dumps(written)})")
        tab.wait_for(f"kcsim.run.texts.some((text) => text.includes({json.dumps(markup)}))")
        tab.evaluate("kcsim.go(kcsim.run.length - 1)")
        assert tab.evaluate("document.querySelectorAll('img').length") == 0
        assert tab.evaluate("window.hit") is None
        assert tab.complaints == []
