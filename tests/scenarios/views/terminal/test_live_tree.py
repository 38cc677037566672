"""On a real server: the znodes that `kcsim show --at` prints for an event are those that a plain client read then.

While a broker crashes and comes back, an independent client reads the whole tree before each step of the timetable, until
nothing was written meanwhile: the tree is then that of one transaction.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.live_environment import run_live
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import FailSafeTraceWriter, read_trace
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from tests.requirements import require
from tests.scenarios.long_timeouts import patient
from tests.scenarios.scenario_library import of_library
from tests.scenarios.views.terminal.conftest import kcsim

SCENARIO = "broker-crash-and-return"
ATTEMPTS = 1_000
SESSION_S, CONNECT_WITHIN_S = 10.0, 300.0
FEWEST_MOMENTS = 10

Znodes = dict[str, tuple[str | None, int, str | None]]
"""Path -> data, version, ephemeral owner."""


class Recording(NamedTuple):
    """The znodes that a client read, and the last transaction at that time."""

    zxid: int
    znodes: Znodes


def zxid_of(client: KazooClient) -> int:
    found = re.search(r"Zxid: (0x[0-9a-f]+)", client.command(b"srvr"))
    assert found is not None
    return int(found[1], 16)


def read(client: KazooClient) -> Znodes:
    found: Znodes = {}
    paths = ["/"]
    while paths:
        path = paths.pop()
        if path != "/":
            data, stat = client.get(path)
            owner = f"0x{stat.ephemeralOwner & (2**64 - 1):x}" if stat.ephemeralOwner else None
            found[path] = None if data is None else data.decode(), stat.version, owner
        paths += [f"{path.rstrip('/')}/{name}" for name in client.get_children(path) if (path, name) != ("/", "zookeeper")]
    return found


def record(client: KazooClient) -> Recording:
    """Read the tree until nothing was written during one reading."""
    zxids = []
    for _ in range(ATTEMPTS):
        before = zxid_of(client)
        try:
            znodes = read(client)
        except NoNodeError:  # the znode was deleted during the reading
            zxids.append(f"{before:#x}")
            continue
        if zxid_of(client) == before:
            return Recording(before, znodes)
        zxids.append(f"{before:#x}")
    raise AssertionError(f"the tree never stood still for one reading; last seen: {zxids[-5:]}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Recording]]:
    """Return the trace of a run on a real server, and the client's recordings."""
    require("java")
    loaded = patient(of_library(SCENARIO))
    trace = tmp_path_factory.mktemp("live") / "run.jsonl"
    clients: list[KazooClient] = []
    recordings: list[Recording] = []

    @contextmanager
    def around(connect: str) -> Iterator[None]:
        client = KazooClient(connect, timeout=SESSION_S)
        client.start(timeout=CONNECT_WITHIN_S)
        clients.append(client)
        try:
            yield
        finally:
            client.stop()
            client.close()

    async def look(place: int) -> None:
        recordings.append(await asyncio.to_thread(record, clients[0]))

    async def script(cluster: Cluster) -> None:
        verdict = await run_scenario(loaded, cluster, before_step=look)
        assert verdict.failure is None

    kept = FailSafeTraceWriter(trace)
    choice = ZooKeeperChoice(ZooKeeperKind.EMBEDDED, members=1)
    try:
        run_live(choice, cluster_spec(loaded.scenario), RunInfo(SCENARIO, 1, "embedded"), script, [kept.write], around)
    finally:
        kept.close()
    return trace, recordings


@pytest.mark.slow
@pytest.mark.live
def test_the_tree_of_any_moment_is_what_a_client_saw_then(run: tuple[Path, list[Recording]]) -> None:
    trace, recordings = run
    events = [event for event in read_trace(trace) if event.zxid is not None and event.path is not None]
    compared = 0
    for recording in recordings:
        if not recording.znodes:
            continue
        seq = max(event.seq for event in events if event.node == "zookeeper" and (event.zxid or 0) <= recording.zxid)
        result = kcsim("show", str(trace), "--at", f"#{seq}", "--tree", "--output", "json")
        assert result.exit_code == 0, result.stderr
        znodes = {p: (z["data"], z["version"], z["owner"]) for p, z in json.loads(result.stdout)["znodes"].items()}
        assert znodes == recording.znodes
        compared += 1
    assert compared >= FEWEST_MOMENTS
    assert len({recording.zxid for recording in recordings}) >= FEWEST_MOMENTS / 2
