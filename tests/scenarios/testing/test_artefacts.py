"""The files of a failed test: one directory, named in its report. A test that passes leaves none."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from kazoo.exceptions import NodeExistsError

from kcsim.scenarios.testing.artefacts import Artefacts, unused
from kcsim.scenarios.testing.clusters import ClusterFactory
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from tests.scenarios.testing.clients import client

pytest_plugins = ["pytester"]

A_FAILURE = """
from kazoo.client import KazooClient


def test_it(kcsim_zookeeper):
    zk = kcsim_zookeeper
    client = KazooClient(zk.client_address("a"))
    client.start(300)
    client.create("/leader", b"a", ephemeral=True)
    zk.note("now it comes")
    zk.member("a").expire()
    process = zk.start_process("loud", ["echo", "so long"])
    process.wait_until_ended(300)
    client.stop()
    assert zk.znodes.exists("/leader")


def test_another(kcsim_zookeeper):
    kcsim_zookeeper.znodes.create("/other")
"""
TWO_ENVIRONMENTS = """
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_it(kcsim_zookeeper, number):
    kcsim_zookeeper.znodes.create("/x")
    assert number == 0, kcsim_zookeeper.server.connect_string
"""


def only(path: Path, pattern: str) -> Path:
    (found,) = path.glob(pattern)
    return found


@pytest.mark.live
def test_a_failed_test_leaves_its_story(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_election=A_FAILURE)
    result = pytester.runpytest_inprocess("--kcsim-zookeeper=embedded")
    result.assert_outcomes(failed=1, passed=1)
    kept = only(pytester.path / ".pytest-kcsim", "test_*")
    output = result.stdout.str()
    assert f"artefacts: {kept.relative_to(pytester.path)}" in output
    assert "again: pytest test_election.py::test_it --kcsim-zookeeper=embedded --kcsim-seed=1" in output
    assert {path.name for path in kept.iterdir()} == {
        *("timeline.txt", "zookeeper-log.txt", "repro.txt", "member-1.log", "process-loud.log")
    }
    timeline = (kept / "timeline.txt").read_text().splitlines()
    entries = [" ".join(line.split()[2:]) for line in timeline]
    wanted = [
        "a open-session time-out 10000 ms",
        "a create /leader a (ephemeral)",
        "a its session is ended by the test, as if it had expired",
        "a delete /leader with its session",
        "loud started",
    ]
    assert [line for line in dict.fromkeys(entries) if line in wanted] == wanted
    assert "test now it comes" in entries
    assert timeline[-1] in output
    assert "/leader  a (ephemeral)" in (kept / "zookeeper-log.txt").read_text()
    assert "/other" not in (kept / "zookeeper-log.txt").read_text()
    assert (kept / "process-loud.log").read_text() == "so long\n"


def test_a_failed_wait_is_shown_as_a_line_of_the_test(pytester: pytest.Pytester) -> None:
    """The frames of kcsim below the call are of no use to the reader, unless the reader asks for them."""
    pytester.makepyfile(
        """
        def test_it(kcsim_cluster):
            kcsim_cluster.wait_until(lambda: False, 1, "what never comes")
        """
    )
    result = pytester.runpytest_inprocess("--kcsim-zookeeper=simulated")
    output = result.stdout.str()
    assert "TimedOutError: not within 1000 ms: what never comes; last seen: controller" in output
    assert "cluster_run.py" not in output
    assert "cluster_run.py" in pytester.runpytest_inprocess("--kcsim-zookeeper=simulated", "--full-trace").stdout.str()


NEVER_TRIGGERED = """
    INJECT = "inject-error: {{request: Produce, error: NOT_ENOUGH_REPLICAS}}"

    def test_it(kcsim_cluster):
        kcsim_cluster.kill_at_write("controller", "/brokers/topics/orders/partitions")
        kcsim_cluster.step(INJECT + '\\nif-possible: {if_possible}')
        {rest}
"""


def test_an_armed_fault_that_nothing_triggered_is_an_error_of_a_test_that_passed(pytester: pytest.Pytester) -> None:
    def run(name: str, rest: str, if_possible: str = "false") -> pytest.RunResult:
        pytester.makepyfile(**{name: NEVER_TRIGGERED.format(rest=rest, if_possible=if_possible)})
        return pytester.runpytest_inprocess("--kcsim-zookeeper=simulated", name + ".py")

    result = run("test_neither", "")
    result.assert_outcomes(passed=1, errors=1)
    output = result.stdout.str()
    assert "had no effect (armed: before a write to /brokers/topics/orders/partitions); inject-error had no" in output
    triggered = "kcsim_cluster.create_topic('orders', replication_factor=3)"
    assert "kcsim: inject-error had no effect (armed: the next answer to Produce" in run("test_one", triggered).stdout.str()
    run("test_excused", triggered, if_possible="true").assert_outcomes(passed=1)
    run("test_failed", "assert False").assert_outcomes(failed=1)


def test_an_error_of_the_test_s_own_is_shown_whole(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(kcsim_cluster):
            kcsim_cluster.wait_until(lambda: kcsim_cluster.state.nonsense)
        """
    )
    output = pytester.runpytest_inprocess("--kcsim-zookeeper=simulated").stdout.str()
    assert "object has no attribute 'nonsense'" in output
    assert "lambda: kcsim_cluster.state.nonsense" in output
    assert "registers, with broker epoch" in output


def test_a_passed_test_leaves_nothing_unless_it_is_to_be_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(kcsim_cluster): kcsim_cluster.create_topic('orders')")
    pytester.runpytest_inprocess("--kcsim-zookeeper=simulated").assert_outcomes(passed=1)
    assert not (pytester.path / ".pytest-kcsim").exists()
    pytester.runpytest_inprocess("--kcsim-zookeeper=simulated", "--kcsim-keep", "--kcsim-artefacts=here")
    kept = only(pytester.path / "here", "test_*")
    assert "creates topic orders" in (kept / "timeline.txt").read_text()
    assert list((kept / "zookeeper-data" / "version-2").glob("log.*"))
    assert (pytester.path / "here" / ".gitignore").read_text().splitlines()[-1] == "*"


def test_what_an_earlier_run_left_is_gone(pytester: pytest.Pytester) -> None:
    test = pytester.makepyfile("def test_it(kcsim_cluster): assert 0")
    pytester.runpytest_inprocess("--kcsim-zookeeper=simulated").assert_outcomes(failed=1)
    assert list((pytester.path / ".pytest-kcsim").glob("test_*"))
    test.write_text("def test_it(kcsim_cluster): assert 1\n\n")
    pytester.runpytest_inprocess("--kcsim-zookeeper=simulated", "-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert not list((pytester.path / ".pytest-kcsim").glob("test_*"))


@pytest.mark.slow
@pytest.mark.live
def test_each_worker_of_xdist_has_a_server_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_two_environments=TWO_ENVIRONMENTS)
    result = pytester.runpytest_inprocess("-n2", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=2)
    addresses = set(re.findall(r"^E +AssertionError: (127\.0\.0\.1:\d+)$", result.stdout.str(), flags=re.MULTILINE))
    assert len(addresses) == 2
    assert len(list((pytester.path / ".pytest-kcsim").glob("test_*/zookeeper-log.txt"))) == 2


@pytest.mark.parametrize("test", ["a.py::test[x/y]", "a.py::test[x-y]", "a.py::test[../..]", "ü.py::t[" + "n" * 300 + "]"])
def test_each_test_has_a_directory_of_its_own(tmp_path: Path, test: str) -> None:
    others = ["a.py::test[x y]", "a.py::test"]
    directories = {Artefacts(tmp_path, name).directory for name in (test, *others)}
    assert len(directories) == 3
    assert {directory.parent for directory in directories} == {tmp_path}
    for directory in directories:
        directory.mkdir()


def test_a_writer_that_fails_takes_nobody_s_place(tmp_path: Path) -> None:
    artefacts = Artefacts(tmp_path, "a.py::test")

    def fail(directory: Path) -> None:
        raise ValueError("no luck")

    def succeed(directory: Path) -> None:
        unused(directory, "timeline.txt").write_text("it was so\n")

    artefacts.offer(fail)
    artefacts.offer(succeed)
    lines = artefacts.collect()
    assert "  (not all could be kept: ValueError: no luck)" in lines
    assert "  it was so" in lines
    assert artefacts.collect() == []


def test_files_of_one_name_stand_side_by_side(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        path = unused(tmp_path, "trace.jsonl")
        path.touch()
        names.append(path.name)
    assert names == ["trace.jsonl", "trace-2.jsonl", "trace-3.jsonl"]


@pytest.mark.live
def test_refused_writes_are_one_line_with_path_and_error(kcsim_zookeeper: ZooKeeperForTest, tmp_path: Path) -> None:
    """ZooKeeper's log has neither path nor operation of a refused request: the proxy has seen both."""
    with client(kcsim_zookeeper.client_address("a")) as kazoo:
        kazoo.create("/x")
        for _ in range(3):
            with pytest.raises(NodeExistsError):
                kazoo.create("/x")
        transaction = kazoo.transaction()
        transaction.set_data("/x", b"1")
        transaction.create("/x")
        transaction.delete("/x")
        transaction.commit()
    kcsim_zookeeper.write_artefacts(tmp_path)
    lines = (tmp_path / "timeline.txt").read_text().splitlines()
    assert _refused(lines) == ["create /x: NODEEXISTS (3 times)", "create /x, one of 3 writes: NODEEXISTS"]


@pytest.mark.live
def test_refused_writes_of_a_client_without_a_proxy_have_no_path(kcsim_zookeeper: ZooKeeperForTest, tmp_path: Path) -> None:
    with client(kcsim_zookeeper.connect_string) as kazoo:
        kazoo.create("/x")
        with pytest.raises(NodeExistsError):
            kazoo.create("/x")
    kcsim_zookeeper.write_artefacts(tmp_path)
    assert _refused((tmp_path / "timeline.txt").read_text().splitlines()) == ["NODEEXISTS"]


@pytest.mark.live
def test_refused_writes_of_a_cluster_have_paths(
    kcsim_zookeeper: ZooKeeperForTest, kcsim_cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    kcsim_cluster_factory(brokers=2, zookeeper=kcsim_zookeeper).create_topic("orders")
    kcsim_zookeeper.write_artefacts(tmp_path)
    refused = _refused((tmp_path / "timeline.txt").read_text().splitlines())
    assert "set /config/topics/orders: NONODE" in refused  # as Kafka's tool, which creates it then
    assert [line for line in refused if " /" not in line] == []


def _refused(lines: Sequence[str]) -> list[str]:
    return [line.partition("refused")[2].strip() for line in lines if "refused" in line]
