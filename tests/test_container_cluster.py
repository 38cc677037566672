"""`docker compose --profile cluster`: five brokers, each a container, and the faults that Docker itself offers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.cli.app import app
from tests.container_image import ROOT, make_image
from tests.requirements import compose_command, require

IMAGE = "kcsim:tests"
PROJECT = "kcsim-tests"
ZOOKEEPER = "127.0.0.1:2181"
PATIENCE_S = 600
BROKERS = ("1", "2", "3", "4", "5")

T = TypeVar("T")

pytestmark = [pytest.mark.live, pytest.mark.slow]


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout


def until(look: Callable[[], T], holds: Callable[[T], bool], what: str) -> T:
    """Look until it holds, and return what was seen."""
    end = time.monotonic() + PATIENCE_S
    while not holds(seen := look()):
        assert time.monotonic() < end, f"waited {PATIENCE_S} s for {what}; last seen: {seen}"
        time.sleep(1)
    return seen


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[Path]:
    """Start the cluster, and yield the directory of its traces once all brokers are healthy."""
    require("docker", "compose")
    make_image(IMAGE)
    directory = tmp_path / "traces"
    directory.mkdir()
    user = f"{os.getuid()}:{os.getgid()}"
    environment = {**os.environ, "KCSIM_IMAGE": IMAGE, "KCSIM_TRACES": str(directory), "KCSIM_USER": user}
    compose = [*compose_command(), "--project-name", PROJECT, "--file", str(ROOT / "docker-compose.yml")]
    command = [*compose, "--profile", "cluster"]
    try:
        subprocess.run([*command, "up", "--no-build", "--detach"], env=environment, check=True)
        until(healthy, lambda names: len(names) == len(BROKERS), "healthy brokers")
        yield directory
    finally:
        subprocess.run([*command, "down", "--volumes", "--timeout", "1"], env=environment, check=True)
        docker("image", "rm", "--force", IMAGE)


def healthy() -> list[str]:
    return docker("ps", "--filter", "health=healthy", "--filter", "name=kcsim-broker-", "--format", "{{.Names}}").split()


def controller() -> str | None:
    """Return the id of the broker that has the role; None if nobody has."""
    found = kcsim("zk", "tree", ZOOKEEPER, "/controller", "--output", "json")
    if found.exit_code != 0:
        return None
    return str(json.loads(json.loads(found.stdout)["/controller"]["data"])["brokerid"])


def another_than(*former: str) -> str:
    found = until(controller, lambda one: one is not None and one not in former, "another controller")
    assert found is not None
    return found


def test_brokers_in_containers_survive_docker_s_own_faults(traces: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.jsonl"
    command = [sys.executable, "-m", "kcsim.scenarios", "watch", "--zookeeper", ZOOKEEPER, "--trace", str(seen)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as watch:
        try:
            first, second, third = break_and_repair()
            watch.send_signal(signal.SIGINT)
            assert watch.wait(PATIENCE_S) == 0
        finally:
            watch.kill()
    events = list(read_trace(traces))
    won = [(f"broker-{broker}", epoch) for epoch, broker in enumerate((first, second, third), 1)]
    assert elections(events)[:3] == won
    assert elections(read_trace(seen))[:2] == won[1:]
    stalled = [event.node for event in events if event.kind is EventKind.RUN_STALLED]
    assert f"broker-{second}" in stalled
    assert sorted(file.name for file in traces.glob(f"broker-{first}-*")) == [
        f"broker-{first}-{life}.jsonl" for life in (1, 2)
    ]


def elections(events: Iterable[Event]) -> list[tuple[str, int | None]]:
    return [(event.node, event.controller_epoch) for event in events if event.kind is EventKind.ELECTION_WON]


def break_and_repair() -> tuple[str, str, str]:
    """Break the brokers one after the other, until all are well again, and stop them. Returns: the first controllers."""
    first = another_than()
    created = kcsim(
        *("topics", "--zookeeper", ZOOKEEPER, "--execute", "--create", "--topic", "orders", "--partitions", "6"),
        *("--replication-factor", "3"),
    )
    assert created.exit_code == 0, created.output
    docker("kill", f"kcsim-broker-{first}")
    second = another_than(first)
    docker("pause", f"kcsim-broker-{second}")
    third = another_than(first, second)
    docker("unpause", f"kcsim-broker-{second}")
    docker("start", f"kcsim-broker-{first}")
    isolated = next(broker for broker in BROKERS if broker not in (first, second, third))
    docker("network", "disconnect", f"{PROJECT}_default", f"kcsim-broker-{isolated}")
    until(registered, lambda ids: isolated not in ids, "the end of the isolated broker's session")
    docker("network", "connect", f"{PROJECT}_default", f"kcsim-broker-{isolated}")
    until(registered, lambda ids: len(ids) == len(BROKERS), "all brokers")
    in_sync = until(isrs, lambda isrs: len(isrs) == 6 and all(len(isr) == 3 for isr in isrs), "full ISRs")
    assert len(in_sync) == 6
    docker("stop", "--time", "60", *(f"kcsim-broker-{broker}" for broker in BROKERS))
    assert registered() == []
    return first, second, third


def registered() -> list[str]:
    tree = json.loads(kcsim("zk", "tree", ZOOKEEPER, "/brokers/ids", "--output", "json").stdout)
    return [path.rpartition("/")[2] for path in tree if path != "/brokers/ids"]


def isrs() -> list[list[str]]:
    described = kcsim("topics", "--zookeeper", ZOOKEEPER, "--describe").stdout
    return [line.partition("Isr: ")[2].split()[0].split(",") for line in described.splitlines() if "Isr: " in line]
