"""kcsim broker as a user sees it: brokers in processes of their own, which form one cluster."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.command_exit import ExitStatus
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.free_ports import free_ports
from tests.brokers.cluster.test_client_records import read, values, written
from tests.scenarios.cli.live_cluster import new_chroot
from tests.zk.servers.processes import until

PATIENCE_S = 600
TRACES = "traces"
PROGRAM = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
from kcsim.scenarios.cli.main import main
main()"""
ONE_REPLICA = ("--partitions", "3", "--replication-factor", "1")
SETTINGS = ("--setting", "zookeeper.session.timeout.ms=8000", "--setting", "controlled.shutdown.retry.backoff.ms=50")
"""Settings with which a killed broker's session expires after 8 s, and a slow broker's on a busy machine does not."""


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


class BrokerProcess:
    """`kcsim broker` in a process of its own, whose output goes into a file."""

    def __init__(self, name: str, process: "subprocess.Popen[str]", directory: Path) -> None:
        self.name = name
        self.process = process
        self.trace = directory / TRACES / f"{name}.jsonl"
        self._output_file = directory / f"{name}.txt"

    def wait_for(self, words: str) -> str:
        return until(self._output, lambda output: words in output, f"{self.name}: {words!r}", PATIENCE_S)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def _output(self) -> str:
        return self._output_file.read_text(encoding="utf-8")


@contextmanager
def broker_process(broker_id: int, connect: str, directory: Path, *arguments: str) -> Iterator[BrokerProcess]:
    """Start a broker, and yield it once it is registered."""
    name = f"broker-{broker_id}"
    (directory / TRACES).mkdir(exist_ok=True)
    given = ["broker", "--id", str(broker_id), "--zookeeper", connect, "--execute", *SETTINGS]
    with (
        (directory / f"{name}.txt").open("w") as file,
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *given, "--trace", str(directory / TRACES / f"{name}.jsonl"), *arguments],
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as process,
    ):
        try:
            broker = BrokerProcess(name, process, directory)
            broker.wait_for(f"{name} listens at ")
            yield broker
        finally:
            process.kill()


def registered(connect: str) -> dict[str, dict[str, object]]:
    """Return the registrations by broker id."""
    tree = json.loads(kcsim("zk", "tree", connect, "/brokers/ids", "--output", "json").stdout)
    return {path.rpartition("/")[2]: json.loads(znode["data"]) for path, znode in tree.items() if path != "/brokers/ids"}


@pytest.mark.live
def test_processes_lose_no_record_when_their_controller_crashes(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    connect = new_chroot(server.connect_string)
    with ExitStack() as stack:
        first, second, third = (
            stack.enter_context(broker_process(broker_id, connect, tmp_path, "--rack", rack))
            for broker_id, rack in ((1, "a"), (2, "b"), (3, "c"))
        )
        created = kcsim(
            *("topics", "--zookeeper", connect, "--execute", "--create", "--topic", "orders", "--partitions", "3"),
            *("--replication-factor", "3"),
        )
        assert created.exit_code == 0, created.output
        for broker in (first, second, third):
            broker.wait_for(f"{broker.name}   leads orders-")
        servers = ",".join(f"127.0.0.1:{broker['port']}" for broker in registered(connect).values())
        before = written(servers, values(0), acks="all")
        first.process.kill()
        # Whichever broker wins, one of the survivors leads what the controller led.
        until(
            lambda: kcsim("topics", "--zookeeper", connect, "--describe").stdout,
            lambda described: "Leader: 1" not in described and described.count("Leader: ") == 3,
            "new leaders",
            PATIENCE_S,
        )
        after = written(servers, values(len(before)), acks="all")
        found = read(servers, dict.fromkeys(range(3), 0), len(before) + len(after))
        assert {place: message.value() for place, message in found.items()} == {
            place: value for value, place in (before | after).items()
        }
        assert second.stop() == 0
        assert third.stop() == 0
    won = {
        broker.name: [event for event in read_trace(broker.trace) if event.kind is EventKind.ELECTION_WON]
        for broker in (first, second, third)
    }
    assert [event.controller_epoch for event in won["broker-1"]] == [1]
    assert 2 in [event.controller_epoch for name in ("broker-2", "broker-3") for event in won[name]]
    assert list(read_trace(third.trace))[-1].kind is EventKind.RUN_ENDED
    assert registered(connect) == {}
    check_merged(list(read_trace(tmp_path / TRACES)))


@pytest.mark.live
def test_a_broker_ends_when_its_records_vanish(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """It ends by itself when its only log directory is gone. Before that, it has what the killed process had written."""
    connect, log_dir = new_chroot(server.connect_string), tmp_path / "data"
    kept = ("--data", str(log_dir))
    with broker_process(1, connect, tmp_path, *kept) as broker:
        created = kcsim("topics", "--zookeeper", connect, "--execute", "--create", "--topic", "orders", *ONE_REPLICA)
        assert created.exit_code == 0, created.output
        broker.wait_for("broker-1   leads orders-")
        records = written(f"127.0.0.1:{registered(connect)['1']['port']}", values(0), acks="all")
        broker.process.kill()
        broker.process.wait()
    until(lambda: registered(connect), lambda found: found == {}, "the session to expire", PATIENCE_S)
    with broker_process(1, connect, tmp_path, *kept) as broker:
        broker.wait_for("broker-1   leads orders-")
        servers = f"127.0.0.1:{registered(connect)['1']['port']}"
        found = read(servers, dict.fromkeys(range(3), 0), len(records))
        assert {place: message.value() for place, message in found.items()} == {at: value for value, at in records.items()}
        log_dir.rename(tmp_path / "gone")
        assert broker.process.wait(PATIENCE_S) == 0
    assert EventKind.LOG_DIR_FAILED in {event.kind for event in read_trace(broker.trace)}


def check_merged(events: list[Event]) -> None:
    """Check the one log of all processes: ZooKeeper's order, and causes that lead from process to process."""
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(event.cause is None or event.cause < event.seq for event in events)
    assert [event.kind for event in events].count(EventKind.RUN_STARTED) == 1
    assert EventKind.REQUEST_RECEIVED not in {event.kind for event in events}
    zxids = [event.zxid for event in events if event.kind in ZNODE_CHANGES and event.zxid is not None]
    assert zxids == sorted(zxids)
    written = Counter((e.path, e.zxid, e.zk_version) for e in events if e.kind in ZNODE_CHANGES and e.zxid is not None)
    assert set(written.values()) == {1}
    elected = next(event for event in events if event.kind is EventKind.LEADER_ELECTION and event.leader == 2)
    led = next(event for event in events if event.kind is EventKind.BECAME_LEADER and event.node == "broker-2")
    assert elected.node == "broker-1"
    chain = set(chain_of(led, events))
    assert {("broker-1", EventKind.REQUEST_SENT), ("broker-1", EventKind.TOPIC_CHANGE)} <= chain


def chain_of(event: Event, events: list[Event]) -> Iterator[tuple[str, EventKind]]:
    while event.cause is not None:
        event = events[event.cause]
        yield event.node, event.kind


@pytest.mark.live
def test_a_second_broker_with_the_same_id_is_refused_and_changes_nothing(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    connect = new_chroot(server.connect_string)
    with broker_process(1, connect, tmp_path) as broker:
        before = registered(connect)
        refused = kcsim("broker", "--id", "1", "--zookeeper", connect, "--execute")
        assert refused.exit_code == 2
        assert "NODEEXISTS for /brokers/ids/1: another broker has this id" in refused.stderr
        assert registered(connect) == before
        assert broker.stop() == 0


@pytest.mark.live
def test_a_port_in_use_is_one_line(server: EmbeddedZooKeeper) -> None:
    (port,) = free_ports(1)
    connect = new_chroot(server.connect_string)
    with socket.create_server(("127.0.0.1", port)):
        refused = kcsim("broker", "--id", "1", "--zookeeper", connect, "--execute", "--listen", f"127.0.0.1:{port}")
    assert refused.exit_code == 2
    assert refused.stderr.endswith(f"kcsim: broker-1 does not start: 127.0.0.1:{port} is in use\n")
    assert registered(connect) == {}


@pytest.mark.live
def test_nothing_is_written_to_a_zookeeper_of_others_without_execute(server: EmbeddedZooKeeper) -> None:
    connect = new_chroot(server.connect_string)
    dry = kcsim("broker", "--id", "1", "--zookeeper", connect)
    assert (dry.exit_code, f"nothing has been written to {connect}" in dry.stdout) == (5, True)
    assert kcsim("zk", "tree", connect).stdout.count("\n") == 1


@pytest.mark.live
def test_a_chroot_that_does_not_exist_is_not_created(server: EmbeddedZooKeeper) -> None:
    result = kcsim("broker", "--id", "1", "--zookeeper", f"{server.connect_string}/absent", "--execute")
    assert (result.exit_code, result.stderr.startswith("--zookeeper: chroot /absent does not exist")) == (64, True)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--zookeeper", "embedded"], 64, "--zookeeper: name a ZooKeeper that runs, by host:port; `kcsim zk start`"),
        (["--zookeeper", "127.0.0.1:1", "--execute"], 2, "no ZooKeeper reachable at 127.0.0.1:1"),
        (["--zookeeper", "127.0.0.1:1", "--listen", "9092"], 64, "--listen: '9092' is no host:port; write 127.0.0.1:9092"),
        (["--zookeeper", "127.0.0.1:1", "--listen", "127.0.0.1:0"], 64, "--listen: '127.0.0.1:0' is no host:port"),
        (["--zookeeper", "127.0.0.1:1", "--listen", "192.0.2.1:9092"], 64, "--listen: nothing can listen on 192.0.2.1 here"),
        (["--zookeeper", "127.0.0.1:1", "--setting", "port=1"], 64, "--setting: port: --id, --rack and --listen say this"),
        (["--zookeeper", "127.0.0.1:1", "--setting", "inter.broker.protocol.version=1.0"], 64, "'1.0' is no value of inter"),
        (
            ["--zookeeper", "127.0.0.1:1", "--release", "2.7"],
            64,
            "--release: '2.7' is no release of Kafka that is simulated",
        ),
        (["--zookeeper", "127.0.0.1:1", "--without", "fence"], 64, "--without: unknown protection 'fence'"),
        (["--zookeeper", "127.0.0.1:1", "--trace", "/no/such/place.jsonl"], 64, "--trace: there is no directory /no/such"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], status: int, message: str) -> None:
    result = kcsim("broker", "--id", "1", *arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.live
def test_records_outlive_the_crash_of_all_processes(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """All brokers are killed at once, and the file of one has a torn tail. With --data nothing acknowledged is lost."""
    connect = new_chroot(server.connect_string)

    def with_data(broker_id: int) -> AbstractContextManager[BrokerProcess]:
        return broker_process(broker_id, connect, tmp_path, "--data", str(tmp_path / f"data-{broker_id}"))

    with ExitStack() as stack:
        brokers = [stack.enter_context(with_data(broker_id)) for broker_id in (1, 2)]
        created = kcsim(
            *("topics", "--zookeeper", connect, "--execute", "--create", "--topic", "orders", "--partitions", "1"),
            *("--replication-factor", "2"),
        )
        assert created.exit_code == 0, created.output
        servers = ",".join(f"127.0.0.1:{broker['port']}" for broker in registered(connect).values())
        before = written(servers, values(0), acks="all")
        for broker in brokers:
            broker.process.kill()
    until(lambda: registered(connect), lambda ids: not ids, "expired sessions", PATIENCE_S)
    first, second = (tmp_path / f"data-{broker_id}" / "orders-0" / f"{0:020}.log" for broker_id in (1, 2))
    assert first.read_bytes() == second.read_bytes()
    with first.open("ab") as file:
        file.write(b"\x00" * 30)
    with ExitStack() as stack:
        brokers = [stack.enter_context(with_data(broker_id)) for broker_id in (1, 2)]
        assert "30 bytes from offset" in brokers[0].wait_for("were cut off")
        servers = ",".join(f"127.0.0.1:{broker['port']}" for broker in registered(connect).values())
        after = written(servers, values(len(before)), acks="all")
        found = read(servers, {0: 0}, len(before) + len(after))
        assert {place: message.value() for place, message in found.items()} == {
            place: value for value, place in (before | after).items()
        }
        assert [broker.stop() for broker in brokers] == [0, 0]
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.live
@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ({"meta.properties": "broker.id=2\nversion=0\n"}, "{data}/meta.properties is of broker 2, not of broker 1"),
        ({"notes.txt": "mine"}, "{data} is not empty, and has no meta.properties: it is no log directory"),
        (
            {"meta.properties": "broker.id=1\ncluster.id=other\nversion=0\n"},
            "meta.properties is of cluster other, and ZooKeeper has cluster ",
        ),
        (
            {"meta.properties": "broker.id=1\nversion=0\n", "replication-offset-checkpoint": "x"},
            "{data}/replication-offset-checkpoint: not a checkpoint file of version 0",
        ),
    ],
)
def test_a_folder_that_is_not_the_brokers_is_refused_and_left_as_it_is(
    server: EmbeddedZooKeeper, tmp_path: Path, folder: Mapping[str, str], message: str
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name, text in folder.items():
        (data / name).write_text(text)
    result = kcsim("broker", "--id", "1", "--zookeeper", new_chroot(server.connect_string), "--execute", "--data", str(data))
    assert result.exit_code == 2
    assert message.format(data=data) in result.stderr.splitlines()[-1]
    # Only the cluster of the folder's logs needs ZooKeeper: everything else is refused before anything begins.
    assert ("the run of broker-1 begins" in result.stderr) == ("of cluster" in message)
    assert {path.name: path.read_text() for path in data.iterdir() if path.name != ".lock"} == folder


@pytest.mark.live
def test_the_controller_is_taken_by_the_broker_that_is_wanted(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    connect = new_chroot(server.connect_string)
    with ExitStack() as stack:
        for broker_id in (1, 2):
            stack.enter_context(broker_process(broker_id, connect, tmp_path))
        before = kcsim("zk", "tree", connect, "/controller").stdout
        dry_run = kcsim("controller", "take", "--zookeeper", connect, "--by", "2")
        assert (dry_run.exit_code, kcsim("zk", "tree", connect, "/controller").stdout) == (ExitStatus.DRY_RUN, before)
        taken = kcsim("controller", "take", "--zookeeper", connect, "--by", "2", "--elections", "100", "--execute")
        assert taken.exit_code == 0, taken.output
        assert taken.stdout.splitlines()[-1].startswith("broker-2 is the controller of epoch ")
        again = kcsim("controller", "take", "--zookeeper", connect, "--by", "2", "--execute")
        assert (again.exit_code, again.stdout) == (0, "broker-2 is the controller already\n")
        unknown = kcsim("controller", "take", "--zookeeper", connect, "--by", "7", "--execute")
        assert (unknown.exit_code, unknown.stderr) == (ExitStatus.REFUSED, "kcsim: not registered: broker-7\n")
    assert kcsim("controller", "take", "--by", "two").exit_code == ExitStatus.USAGE
