"""The futures of a played cluster on its pages: on two at once, compared, and in a page that was saved."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.played_pages import PlayedPages
from kcsim.scenarios.play.server import PlayServer
from kcsim.zk.servers.free_ports import claimed_port
from tests.chromium import Chromium, Tab
from tests.scenarios.play.conftest import listening, served
from tests.scenarios.play.watched_runs import played_cluster
from tests.scenarios.views.page.conftest import chromium  # noqa: F401 -- a fixture

STATE = "kcsim.stateAt(kcsim.run.length - 1)"
SHOWN = f"JSON.stringify([kcsim.run.seqs.at(-1), {STATE}, play.bar.acts, play.futures.forks])"
IS_LOST = "byId('connection').innerText.includes('does not answer')"


def paused_at(now_ms: int) -> str:
    """Return whether the page has all of a run that waits at this moment or a later one."""
    is_paused = "byId('clock-pause').getAttribute('aria-pressed') === 'true'"
    return f"play.reached_ms >= {now_ms} && {is_paused} && play.growth === null"


def go_past(tab: Tab, now_ms: int) -> None:
    """Let the run go on until a moment or a little longer, and wait there."""
    tab.evaluate("play.send({speed: 100}); play.send({paused: false})")
    tab.wait_for(f"play.now_ms >= {now_ms}")
    tab.evaluate("play.send({paused: true})")
    tab.wait_for(paused_at(now_ms))


def click_text(tab: Tab, selector: str, text: str) -> None:
    """Click the element that begins with a text."""
    found = (
        f"[...document.querySelectorAll({json.dumps(selector)})].find((one) => one.innerText.startsWith({json.dumps(text)}))"
    )
    tab.evaluate(f"{found}.click()")


def with_two_futures() -> PlayedCluster:
    """Return a cluster with a future in which broker-1 was killed, and one in which broker-2 was paused."""
    cluster = played_cluster()
    for act, to_ms in (("kill: broker-1", 20_000), ("pause: broker-2", 15_000)):
        cluster.go_on_to(4_000)
        cluster.finish_passing()
        cluster.act(act)
        cluster.go_on_to(to_ms)
        cluster.finish_passing()
        cluster.take()
        if act.startswith("kill"):
            cluster.go_back(3_000)
    return cluster


def check_comparison(tab: Tab) -> None:
    """Compare the future A with B, which is shown, and look at what the page says about them."""
    tab.evaluate(
        "[...document.querySelectorAll('#future-list button')].find((one) => one.innerText === 'Compare with B').click()"
    )
    tab.wait_for("!byId('comparison').hidden")
    text = tab.text("#comparison")
    assert "A and B, compared until 15.000 s" in text
    assert "broker-1, leader of" in text
    assert "was killed at 4.00 s" in text
    assert "The first difference: scenario" in text
    assert "What came of it" in text
    assert tab.evaluate("[...document.querySelectorAll('#comparison canvas')].every(({width}) => width > 100)")


def test_two_pages_show_the_same(chromium: Chromium) -> None:  # noqa: F811
    with (
        served() as server,
        chromium.open(server.address) as one,
        chromium.open(server.address, 390, 844) as other,
    ):
        go_past(one, 4_000)
        other.evaluate("play.bar.act('kill: broker-1')")
        one.wait_for("play.bar.acts.length === 3")
        go_past(one, 20_000)
        other.wait_for(f"{paused_at(20_000)} && {SHOWN} === {json.dumps(one.evaluate(SHOWN))}")
        other.evaluate("play.send({back: 3000})")
        for tab in (one, other):
            tab.wait_for("play.futures.forks.all.length === 2 && kcsim.run.times.at(-1) <= 3000")
        assert one.evaluate(SHOWN) == other.evaluate(SHOWN)
        assert one.complaints == other.complaints == []


def test_a_lost_server_is_shown_and_the_page_goes_on_when_it_is_back(chromium: Chromium) -> None:  # noqa: F811
    cluster = played_cluster()
    with claimed_port() as port, ExitStack() as first:
        server = PlayServer(PlayedPages(cluster), port)
        first.enter_context(listening(server, port))
        with chromium.open(server.address) as tab:
            go_past(tab, 4_000)
            first.close()
            tab.wait_for(IS_LOST)
            before = tab.evaluate(SHOWN)
            with listening(server, port):
                tab.wait_for(f"!{IS_LOST} && play.server.socket.readyState === WebSocket.OPEN")
                tab.wait_for(f"{SHOWN} === {json.dumps(before)}")
                tab.evaluate("play.bar.act('kill: broker-1')")
                tab.wait_for(f"{STATE}.process['broker-1'] === 'dead'")
        assert [text for text in tab.complaints if "ws://" not in text] == []
    cluster.close()


def test_two_futures_are_compared_on_the_page(chromium: Chromium) -> None:  # noqa: F811
    with served(with_two_futures()) as server, chromium.open(server.address) as tab:
        tab.wait_for(paused_at(15_000))
        check_comparison(tab)
        click_text(tab, "#comparison .live", "Let B go on")
        tab.wait_for("byId('comparison').innerText.includes('compared until 20.000 s')")
        assert tab.complaints == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_saved_page_replays_all_futures_from_disk(chromium: Chromium, tmp_path: Path, width: int, dark: bool) -> None:  # noqa: F811
    """The page that the server sends is asked to save itself. Nothing is fetched by the file: its server is gone."""
    file = tmp_path / "play.html"
    with served(with_two_futures()) as server, chromium.open(server.address) as tab:
        tab.wait_for(paused_at(15_000))
        tab.evaluate("saveText = (name, text) => (play.kept = text); play.send({share: true})")
        tab.wait_for("play.kept !== undefined")
        file.write_text(tab.evaluate("play.kept"), encoding="utf-8")
        shown = tab.evaluate(SHOWN)
    with chromium.open(file.as_uri(), width, 844, dark=dark) as tab:
        assert tab.evaluate(f"JSON.stringify({STATE})") in shown
        check_comparison(tab)
        assert "pause: broker-2" in tab.text("#act-list")
        click_text(tab, "#future-list .future", "A")
        tab.wait_for(f"{STATE}.process['broker-1'] === 'dead' && play.growth === null")
        assert "kill: broker-1" in tab.text("#act-list")
        assert "pause: broker-2" not in tab.text("#act-list")
        tab.evaluate("saveText = (name, text) => (play.kept = text)")
        tab.click("#clock-save")
        assert "kill: broker-1" in tab.evaluate("play.kept")
        for panel in ("cluster", "partitions", "messages", "znodes", "states"):
            tab.evaluate(f"kcsim.page.panel('{panel}')")
        tab.evaluate("kcsim.go(1)")
        assert tab.evaluate("document.documentElement.scrollWidth") == width, "nothing to scroll sideways to"
        assert tab.complaints == []
