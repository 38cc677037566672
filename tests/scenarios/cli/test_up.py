"""kcsim up and kcsim fault as a user sees them: a cluster in one terminal, and actions on it from another."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.cli.app import app
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.free_ports import free_ports
from tests.requirements import require
from tests.zk.servers.processes import assert_nothing_left, until

PATIENCE_S = 600
RESTORED = "signal.signal(signal.SIGINT, signal.default_int_handler)"
IGNORED = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
SETTINGS = ("--setting", "zookeeper.session.timeout.ms=8000", "--setting", "controlled.shutdown.retry.backoff.ms=50")
"""Settings with which a killed broker's session expires after 8 s, and a slow broker's on a busy machine does not."""


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


class Terminal:
    """`kcsim up` in a process of its own. Its output goes into a file, so that no test has to read it while it runs."""

    def __init__(self, process: "subprocess.Popen[str]", output_file: Path) -> None:
        self.process = process
        self._output_file = output_file

    def output(self) -> str:
        return self._output_file.read_text(encoding="utf-8")

    def wait_for(self, words: str) -> str:
        return until(self.output, lambda output: words in output, f"{words!r}", PATIENCE_S)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        return self.process.wait(PATIENCE_S)


@contextmanager
def up(
    directory: Path,
    *arguments: str,
    interrupts: str = RESTORED,
    given: tuple[str, ...] = ("up", "--brokers", "3", *SETTINGS),
) -> Iterator[Terminal]:
    """Yield a cluster that is up.

    Args:
        given: the command before the other arguments.
        interrupts: how SIGINT is handled first: a background job inherits that it is ignored, and tests may run as one.
    """
    require("java")
    program = f"import signal; {interrupts}\nfrom kcsim.scenarios.cli.main import main\nmain()"
    output_file = directory / "output.txt"
    with (
        output_file.open("w") as file,
        subprocess.Popen(
            [sys.executable, "-c", program, *given, *arguments],
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as process,
    ):
        terminal = Terminal(process, output_file)
        try:
            assert "Ctrl-C stops it." in terminal.wait_for("Ctrl-C stops it.")
            yield terminal
        finally:
            process.kill()


# --- a running cluster -----------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_a_cluster_is_played_with_from_another_terminal(tmp_path: Path, runtime_directory: Path) -> None:
    trace = tmp_path / "up.jsonl"
    with up(tmp_path, "--racks", "3", "--topic", "orders:2:3", "--trace", str(trace)) as terminal:
        killed = kcsim("fault", "kill", "controller")
        assert (killed.exit_code, "is dead; session 0x" in killed.stdout) == (0, True), killed.output
        terminal.wait_for("controller epoch 2 ")
        victim = killed.stdout.split()[0]
        assert kcsim("fault", "resume", "preferred-of", "orders-0").stderr.endswith(" is not paused\n")
        assert "registers anew, with broker epoch" in kcsim("fault", "start", victim).stdout
        cut = kcsim("fault", "partition", "broker-1", "and", "broker-2,", "broker-3")
        assert cut.stdout.startswith("between broker-1 and broker-2, broker-3: 4 links, "), cut.output
        healed = kcsim("fault", "heal", "all").stdout
        assert healed == "an operator heals the network between all and all, 4 links in trouble\n"
        state = json.loads(kcsim("status", "--output", "json").stdout)
        assert (state["cluster"], [broker["process"] for broker in state["brokers"]]) == ("default", ["running"] * 3)
        assert "Partitions: 2, " in kcsim("status").stdout
        assert kcsim("topics", "--list").stdout == "orders\n"
        # The brokers that were cut off may have lost their sessions, and their partitions have no leader for a while.
        led = "wait: {leader: {orders-0: any}, within: 300s}"
        in_sync = "wait: {in-sync: all, within: 300s}"
        stepped = kcsim("step", led, "pause: leader-of orders-0\nas: old", "resume: old", in_sync)
        assert (stepped.exit_code, "is frozen" in stepped.stdout) == (0, True), stepped.output
        refused = kcsim("fault", "kill", "broker-7")
        assert (refused.exit_code, "unknown target 'broker-7'" in refused.stderr) == (64, True)
        taken = kcsim("up")
        assert (taken.exit_code, "a cluster named default is up already" in taken.stderr) == (64, True)
        # The trace can be read while it grows.
        until(
            lambda: kcsim("why", str(trace), "last:ElectionWon").stdout,
            lambda output: f"kills {victim}" in output,
            "the cause",
            PATIENCE_S,
        )
        assert kcsim("step", "inject-error: {request: Produce, error: NOT_ENOUGH_REPLICAS}").exit_code == 0
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 0
        output = terminal.output()
    assert output.endswith("stopped; nothing is left of it\n")
    assert "warning: inject-error had no effect (armed: the next answer to Produce" in output
    assert "Traceback" not in output
    assert list(runtime_directory.iterdir()) == []
    assert_nothing_left(terminal.process.pid, patience_s=0)
    events = list(read_trace(trace))
    assert [e.state for e in events if e.kind is EventKind.PROCESS_STATE][-3:] == ["stopped"] * 3
    assert events[-1].kind is EventKind.RUN_ENDED


@pytest.mark.slow
@pytest.mark.live
def test_kafka_s_clients_reach_the_brokers_on_the_ports_of_the_options(tmp_path: Path) -> None:
    ports = free_ports(3)
    wanted = {1: ports[2], 2: ports[0], 3: ports[1]}
    with up(tmp_path, "--topic", "orders:2:3", "--ports", ",".join(map(str, wanted.values()))) as terminal:
        servers = ",".join(f"127.0.0.1:{port}" for port in wanted.values())
        terminal.wait_for(f"bootstrap servers: {servers}\n")
        client, end = AdminClient({"bootstrap.servers": servers}), time.monotonic() + PATIENCE_S
        while "orders" not in (seen := client.list_topics(timeout=PATIENCE_S)).topics:
            assert time.monotonic() < end, "the broker that was asked does not learn of orders"
            time.sleep(0.1)
        assert {broker.id: (str(broker.host), broker.port) for broker in seen.brokers.values()} == {
            broker: ("127.0.0.1", port) for broker, port in wanted.items()
        }
        assert list(seen.topics["orders"].partitions) == [0, 1]
        assert json.loads(kcsim("status", "--output", "json").stdout)["bootstrap_servers"] == servers
        assert f"Bootstrap servers: {servers}\n" in kcsim("status").stdout
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 0


@pytest.mark.live
def test_a_cluster_whose_port_is_taken_ends_with_2(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        result = kcsim("up", "--zookeeper", "model", "--brokers", "1", "--ports", str(port))
    assert result.exit_code == 2
    assert f"broker-1 does not start: 127.0.0.1:{port} is in use" in result.stderr


@pytest.mark.slow
@pytest.mark.live
def test_sigterm_stops_it_in_order_even_where_ctrl_c_is_ignored(tmp_path: Path, runtime_directory: Path) -> None:
    """SIGINT is ignored as in a script's background job."""
    with up(tmp_path, "--cluster", "other", interrupts=IGNORED) as terminal:
        terminal.signal(signal.SIGINT)
        assert kcsim("fault", "expire", "broker-1", "--cluster", "other").exit_code == 0
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == 0
        assert terminal.output().count("has stopped\n") == 3
    assert list(runtime_directory.iterdir()) == []
    assert_nothing_left(terminal.process.pid, patience_s=0)


@pytest.mark.slow
@pytest.mark.live
def test_a_second_ctrl_c_does_not_wait_for_the_brokers(tmp_path: Path, runtime_directory: Path) -> None:
    """The cluster's ZooKeeper is frozen, so that no broker can close its session."""
    with up(tmp_path) as terminal:
        assert kcsim("fault", "pause", "member-1").exit_code == 0
        terminal.signal(signal.SIGINT)
        terminal.wait_for("stopping the brokers in order")
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 130
        assert terminal.output().endswith("killed; nothing is left of it\n")
    assert list(runtime_directory.iterdir()) == []
    assert_nothing_left(terminal.process.pid, patience_s=0)


@pytest.mark.slow
@pytest.mark.live
def test_a_cluster_on_somebody_s_zookeeper_leaves_that_running(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """A dry run comes first. Kafka's persistent znodes stay, the brokers' registrations do not."""
    where = server.connect_string
    dry = kcsim("up", "--zookeeper", where)
    assert (dry.exit_code, f"nothing has been written to {where}" in dry.stdout) == (5, True)
    with up(tmp_path, "--zookeeper", where, "--execute") as terminal:
        assert "ephemeral of" in kcsim("zk", "tree", where, "/controller").stdout
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == 0
        ending = terminal.output().splitlines()[-2]
    assert ending.startswith(f"stopped; Kafka's persistent znodes stay at {where}: /admin, /brokers, ")
    assert "/controller_epoch" in ending
    assert kcsim("zk", "tree", where, "/brokers/ids").stdout.splitlines()[0].startswith("/brokers/ids  (version 0)")
    assert len(kcsim("zk", "tree", where, "/brokers/ids").stdout.splitlines()) == 1


# --- invalid arguments: nothing is started ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--zookeeper", "simulated"], "--zookeeper: a cluster to play with lives in real time"),
        (["--zookeeper", "embeded"], "unknown ZooKeeper 'embeded'; did you mean embedded?"),
        (["--topic", "orders"], "--topic: 'orders' is no NAME:PARTITIONS:RF; write orders:12:3"),
        (["--topic", "orders:12:x"], "--topic: 'orders:12:x' is no NAME:PARTITIONS:RF"),
        (["--topic", "orders:12:4"], "topic 'orders' wants 4 replicas of 3 brokers"),
        (["--topic", "a/b:1:1"], 'Topic name "a/b" is illegal, it contains a character other than ASCII alphanumerics'),
        (["--topic", "a.b:1:1", "--topic", "a_b:1:1"], "--topic: "),
        (["--setting", "zookeeper.session.timeout"], "has no value; write zookeeper.session.timeout.ms=2000"),
        (["--setting", "zookeeper.sesion.timeout.ms=1"], "did you mean zookeeper.session.timeout.ms?"),
        (["--setting", "zookeeper.session.timeout.ms=soon"], "'soon' is no value of zookeeper.session.timeout.ms"),
        (["--cluster", "Mine!"], "--cluster: 'Mine!' is no name of a cluster"),
        (["--trace", "/no/such/place.jsonl"], "--trace: there is no directory /no/such"),
        (["--brokers", "0"], "Invalid value for '--brokers'"),
        (["--setting", "port=9092"], "port: brokers listen on 127.0.0.1; --ports says on which ports"),
        (["--ports", "9092-9093"], "--ports: 9092-9093 is 2 ports for 3 brokers"),
        (["--ports", "9092", "--brokers", "2"], "--ports: 9092 is 1 port for 2 brokers"),
        (["--ports", "9092,9093,9092"], "--ports: 9092,9093,9092 names a port twice"),
        (["--ports", "9094-9092"], "--ports: 9094-9092 is no port or range of ports between 1 and 65535"),
        (["--ports", "0,1,2"], "--ports: 0 is no port or range of ports"),
        (["--ports", "65534-65536"], "--ports: 65534-65536 is no port or range of ports"),
        (["--ports", "kafka:9092"], "--ports: 'kafka:9092' names no ports; write 9092-9094, or 9092,9095"),
    ],
)
def test_what_makes_no_sense_ends_with_64_and_a_line_on_stderr(arguments: list[str], message: str) -> None:
    result = kcsim("up", *arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_scenario_brings_its_own_brokers_and_topics() -> None:
    result = kcsim("up", "controller-race", "--brokers", "4")
    assert (result.exit_code, result.stdout) == (64, "")
    assert "--brokers, --racks and --topic: the scenario says which there are" in result.stderr


@pytest.mark.slow
@pytest.mark.live
def test_a_watched_cluster_is_printed_at_each_change_until_it_ends(tmp_path: Path) -> None:
    """Where the output is no terminal. The broker stays paused, so that any later answer shows it."""
    printed = tmp_path / "watch.txt"
    with up(tmp_path) as terminal, printed.open("w") as file:
        watch = [sys.executable, "-m", "kcsim.scenarios", "watch", "--every", "0.1"]
        with subprocess.Popen(watch, stdout=file, stderr=subprocess.STDOUT) as process:
            try:
                until(printed.read_text, lambda text: "Controller: broker-" in text, "the first state", PATIENCE_S)
                assert kcsim("fault", "pause", "broker-1").exit_code == 0
                until(printed.read_text, lambda text: "paused" in text, "the paused broker", PATIENCE_S)
                terminal.signal(signal.SIGINT)
                assert process.wait(PATIENCE_S) == 0
            finally:
                process.kill()
    lines = printed.read_text().splitlines()
    assert lines[-1] == "cluster default is not up any more"
    assert sum(line.startswith("Cluster default, up for ") for line in lines) >= 2


@pytest.mark.slow
@pytest.mark.live
def test_the_producers_of_a_scenario_work_on_its_cluster(tmp_path: Path) -> None:
    with up(tmp_path, given=("up", "leader-crash-acks-all", *SETTINGS)) as terminal:
        assert kcsim("step", "start-workload: writer", "stop-workload: writer\nafter: 1s").exit_code == 0
        records = json.loads(kcsim("status", "--output", "json").stdout)["records"]
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 0
        output = terminal.output()
    assert records["sent"] == records["acknowledged"] > 0
    assert f"records of producers: {records['sent']} sent, {records['sent']} acknowledged, 0 lost" in output


def test_a_fault_without_a_cluster_ends_with_2() -> None:
    result = kcsim("fault", "kill", "broker-1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "kcsim: no cluster is up; start one with kcsim up\n"


def test_an_unknown_fault_ends_with_64() -> None:
    result = kcsim("fault", "kil", "broker-1")
    assert (result.exit_code, "'kil' is not one of 'kill'" in result.stderr) == (64, True)


@pytest.mark.parametrize("command", ["up", "fault", "why"])
def test_every_command_explains_itself(command: str) -> None:
    result = kcsim(command, "--help")
    assert (result.exit_code, result.stdout.startswith("Usage: ")) == (0, True)
