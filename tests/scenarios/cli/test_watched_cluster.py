"""kcsim status and kcsim watch with --zookeeper: a cluster that is known by its ZooKeeper only."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import EventKind
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import BrokerId
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Create, Delete
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.znodes import paths
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, led, live_cluster, new_chroot, on, topic
from tests.zk.servers.processes import until

PATIENCE_S = 120
SECOND = paths.broker_id(BrokerId(2))
PARTITION = {"/brokers/topics/orders/partitions": None, "/brokers/topics/orders/partitions/0": None}


@pytest.fixture
def cluster(server: EmbeddedZooKeeper) -> LiveCluster:
    """Two brokers, registered for ever, and a partition led by one of them, that a third has left."""
    orders = {**topic("orders", {0: on(1, 2, 3)}), **PARTITION, **led("orders", 0, 1, (1, 2))}
    return live_cluster(server.connect_string, {**brokers(1, 2), **orders})


@pytest.mark.live
def test_the_status_of_a_cluster_is_read_from_its_znodes(cluster: LiveCluster) -> None:
    before = cluster.znodes()
    printed = cluster.run("status")
    assert printed.exit_code == 0
    lines = [line.split() for line in printed.stdout.splitlines()]
    assert lines[0][:2] == ["ZooKeeper", f"{cluster.connect},"]
    assert ["orders-0", "1", "0", "[1,", "2]", "[1,", "2,", "3]", "under-replicated"] in lines
    (partition,) = json.loads(cluster.run("status", "--output", "json").stdout)["partitions"]
    assert (partition["leader"], partition["isr"]) == (1, [1, 2])
    assert cluster.znodes() == before


@pytest.mark.live
def test_a_watched_cluster_is_printed_at_each_change_and_its_event_log_is_kept(cluster: LiveCluster, tmp_path: Path) -> None:
    printed, trace = tmp_path / "watch.txt", tmp_path / "seen.jsonl"
    command = [sys.executable, "-m", "kcsim.scenarios", "watch", "--zookeeper", cluster.connect, "--trace", str(trace)]

    async def change() -> None:
        session = await LiveZooKeeper(cluster.connect).open_session(10_000, lambda _: None, 60_000)
        await session.call([Delete(SECOND), Create("/controller", b'{"version":1,"brokerid":1}', ephemeral=True)])
        await asyncio.to_thread(until, printed.read_text, lambda text: "Controller: broker-1" in text, "the controller")
        await session.close()

    with printed.open("w") as file, subprocess.Popen([*command, "--every", "0.1"], stdout=file) as process:
        try:
            until(printed.read_text, lambda text: "orders-0" in text, "the first state", PATIENCE_S)
            WallClockRuntime().run(change())
            until(printed.read_text, lambda text: "/controller is gone" in text, "the changes", PATIENCE_S)
            until(trace.read_text, lambda text: "SessionClosed" in text, "the event log", PATIENCE_S)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
    assert printed.read_text().count(f"ZooKeeper {cluster.connect}, watched for ") >= 2
    events = list(read_trace(trace))
    assert events[-1].kind is EventKind.RUN_ENDED
    deleted = next(e for e in events if e.kind is EventKind.ZNODE_DELETED and e.path == SECOND)
    assert deleted.cause is not None
    assert events[deleted.cause].kind is EventKind.ADMIN_ACT
    why = kcsim("why", str(trace), "last:ZnodeDeleted")
    assert why.exit_code == 0
    assert "closed, or expired: its znodes do not show which" in why.stdout


@pytest.mark.live
def test_where_no_cluster_is_the_command_ends_with_one_line(server: EmbeddedZooKeeper) -> None:
    empty = new_chroot(server.connect_string)
    for command, given, status, text in (
        ("status", ("--zookeeper", empty), 2, f"no broker of Kafka has ever registered in {empty}"),
        ("watch", ("--zookeeper", f"{server.connect_string}/nowhere"), 64, "chroot"),
        ("watch", ("--zookeeper", "127.0.0.1:1"), 2, "127.0.0.1:1"),
        ("watch", ("--zookeeper", "a:b:c"), 64, "a:b:c"),
        ("status", ("--zookeeper", empty, "--cluster", "default"), 64, "give either --zookeeper or --cluster"),
        ("watch", ("--trace", "seen.jsonl"), 64, "--trace is for --zookeeper"),
        ("watch", ("--zookeeper", empty, "--trace", "/nowhere/seen.jsonl"), 64, "there is no directory /nowhere"),
    ):
        result = kcsim(command, *given)
        assert (result.exit_code, result.stdout) == (status, ""), (command, given, result.output)
        assert text in result.stderr
        assert len(result.stderr.splitlines()) == 1
