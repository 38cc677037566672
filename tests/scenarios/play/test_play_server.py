"""Who may open the page of a played cluster, and act on it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from kcsim.scenarios.play.server import PlayServer
from tests.scenarios.play.conftest import served
from tests.scenarios.play.watched_runs import PATIENCE_S


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


def test_a_page_that_asks_for_nonsense_is_disconnected_and_others_go_on() -> None:
    with served() as server:
        address, origin = server.address.replace("http", "ws") + "stream", Origin(server.address.rsplit("/", 2)[0])
        with connect(address, origin=origin, max_size=None) as one, connect(address, origin=origin, max_size=None) as other:
            one.send("no JSON")
            until_closed(one)
            other.send(json.dumps({"act": "kill: broker-9"}))
            while "refused" not in (message := json.loads(other.recv(PATIENCE_S))):
                pass
            assert message["refused"]["step"] == "kill: broker-9"


def test_the_saved_scenario_has_expectations() -> None:
    with served() as server:
        address, origin = server.address.replace("http", "ws") + "stream", Origin(server.address.rsplit("/", 2)[0])
        with connect(address, origin=origin, max_size=None) as page:
            page.send(json.dumps({"speed": 100.0}))
            while json.loads(page.recv(PATIENCE_S)).get("clock", {}).get("now_ms", 0) < 5_000:
                pass
            page.send(json.dumps({"save": True}))
            while "scenario" not in (message := json.loads(page.recv(PATIENCE_S))):
                pass
    assert message["scenario"].startswith("# kcsim run FILE --zookeeper simulated --seed 1\nname: three\n")
    assert "controller-epoch: 1" in message["scenario"]
