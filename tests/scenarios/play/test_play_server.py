"""Who may open the page of a played cluster, and act on it."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from kcsim.scenarios.play.page_queue import PageQueue
from kcsim.scenarios.play.server import PlayServer
from tests.scenarios.play.conftest import served
from tests.scenarios.play.watched_runs import PATIENCE_S, Watched, played_cluster


def get(server: PlayServer, path: str | None = None, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    address = urlsplit(server.address)
    connection = HTTPConnection("127.0.0.1", address.port or 0, timeout=PATIENCE_S)
    connection.request("GET", path or address.path, headers=dict(headers or {}))
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_page_is_served_to_those_who_know_its_address_under_its_own_name() -> None:
    with served() as server:
        port = urlsplit(server.address).port
        status, page = get(server)
        assert (status, "<title>three</title>" in page) == (200, True)
        assert f"connect-src ws://127.0.0.1:{port}" in page
        assert get(server, headers={"Host": f"localhost:{port}"})[0] == 200
        assert get(server, headers={"Host": f"rebound.example:{port}"})[0] == 421
        assert get(server, "/")[0] == 404
        assert get(server, "/0123456789abcdefghijkl/")[0] == 404


@pytest.mark.parametrize("origin", ["http://evil.example", None])
def test_the_page_of_another_site_cannot_act(origin: str | None) -> None:
    with served() as server:
        address = server.address.replace("http", "ws") + "stream"
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            ask(address, origin, "kill: controller")


def ask(address: str, origin: str | None, step: str) -> None:
    """Connect as a page of this origin, ask for an act, and wait for an answer."""
    with connect(address, origin=None if origin is None else Origin(origin)) as socket:
        socket.send(json.dumps({"act": step}))
        socket.recv(PATIENCE_S)


def until_closed(socket: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        while True:
            socket.recv(PATIENCE_S)


@pytest.mark.parametrize(
    "nonsense", ["no JSON", "[]", '{"act": 1}', '{"future": 99}', '{"forget": 0}', '{"name": "A", "of": 7}']
)
def test_a_page_that_asks_for_nonsense_is_disconnected_and_others_go_on(nonsense: str) -> None:
    with served() as server, connected(server) as one, connected(server) as other:
        one.send(nonsense)
        until_closed(one)
        other.send(json.dumps({"act": "kill: broker-9"}))
        while "refused" not in (message := json.loads(other.recv(PATIENCE_S))):
            pass
        assert message["refused"]["step"] == "kill: broker-9"


def test_an_error_of_ours_while_time_passes_is_shown_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise the cluster would stand still, and nobody would know why."""

    def fail(real_ms: float) -> None:
        raise RuntimeError("a mistake")

    cluster = played_cluster()
    with served(cluster) as server, connected(server) as page:
        page.recv(PATIENCE_S)
        monkeypatch.setattr(cluster, "pass_time", fail)
        while "problem" not in (message := json.loads(page.recv(PATIENCE_S))):
            pass
        assert "the cluster does not go on: RuntimeError('a mistake')" in message["problem"]
        page.send(json.dumps({"paused": not cluster.is_paused}))
        while "clock" not in json.loads(page.recv(PATIENCE_S)):
            pass  # what pages ask for is answered all the same
    assert caplog.text.count("RuntimeError: a mistake") == 1


def connected(server: PlayServer, **options: Any) -> ClientConnection:
    """Return a websocket as that of a page of the server. It takes its time: nobody asks whether it is still there."""
    origin = Origin(server.address.rsplit("/", 2)[0])
    address = server.address.replace("http", "ws") + "stream"
    page: ClientConnection = connect(address, origin=origin, max_size=None, ping_interval=None, **options)
    return page


def events_until_paused(page: ClientConnection) -> int:
    """Read what a page is sent until the run waits. Returns: how many events the page has then."""
    events = 0
    while True:
        message = json.loads(page.recv(PATIENCE_S))
        if "all" in message:
            events = 0
        events += sum(len(part["rank"]) for part in (*message.get("all", ()), *message.get("parts", ())))
        clock = message.get("clock", {})
        if clock.get("paused") and not clock["behind"]:
            return events


def test_a_page_that_does_not_read_has_no_effect_on_the_cluster_and_on_other_pages() -> None:
    """A browser suspends pages that nobody looks at. What such a page was not sent, it is sent when it reads again."""
    cluster = played_cluster()
    with served(cluster) as server:
        with connected(server, max_queue=1) as suspended, connected(server) as other:
            other.send(json.dumps({"act": "kill: controller"}))
            other.send(json.dumps({"speed": 100.0}))
            while json.loads(other.recv(PATIENCE_S)).get("clock", {}).get("now_ms", 0) < 30_000:
                pass
            other.send(json.dumps({"paused": True}))
            while "clock" not in (message := json.loads(other.recv(PATIENCE_S))) or not message["clock"]["paused"]:
                pass
            seen_by_suspended = events_until_paused(suspended)
        with connected(server) as new:
            assert events_until_paused(new) == seen_by_suspended
        events = [msgspec.json.encode(event) for event in cluster.events]
    rerun = Watched(cluster.now_ms, planned=cluster.acts)
    assert len(events) == seen_by_suspended
    assert events == [msgspec.json.encode(event) for event in rerun.events[: len(events)]]


def test_a_page_is_sent_everything_again_when_it_has_not_taken_too_much() -> None:
    async def taken() -> list[str]:
        page = PageQueue(lambda around: f"all around {around}", most_waiting=5)
        page.put("before the page was there")
        messages = [await page.get()]
        page.put("one")
        page.put("2")
        messages += [await page.get(), await page.get()]
        page.put("three")
        page.put("4")
        page.put("5")
        messages.append(await page.get())
        page.begin_anew(7)
        page.put("6")
        messages.append(await page.get())
        page.begin_anew()
        return [*messages, await page.get()]

    all_of_it = "all around None"
    assert asyncio.run(taken()) == [all_of_it, "one", "2", all_of_it, "all around 7", all_of_it]


def test_the_saved_scenario_has_expectations() -> None:
    with served() as server, connected(server) as page:
        page.send(json.dumps({"speed": 100.0}))
        while json.loads(page.recv(PATIENCE_S)).get("clock", {}).get("now_ms", 0) < 5_000:
            pass
        page.send(json.dumps({"save": True}))
        while "scenario" not in (message := json.loads(page.recv(PATIENCE_S))):
            pass
    assert message["scenario"].startswith("# kcsim run FILE --zookeeper simulated --seed 1\nname: three\n")
    assert "controller-epoch: 1" in message["scenario"]
