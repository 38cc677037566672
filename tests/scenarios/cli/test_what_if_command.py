"""kcsim snapshot of recorded states, and kcsim what-if about them."""

import json
from pathlib import Path

import pytest

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, encode_snapshot, read_snapshot
from tests.scenarios.cli.live_cluster import kcsim
from tests.scenarios.what_if.test_what_if_run import CLUSTER

RUN = "broker-crash-and-return"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.json"
    file.write_bytes(encode_snapshot(CLUSTER))
    return file


def test_a_loss_is_answered_with_a_table_and_lists(file: Path) -> None:
    result = kcsim("what-if", str(file), "--lose", "rack=b")
    assert result.exit_code == 0, result.output
    table = result.stdout.split("\n\n")[1]
    rows = {line[:27].strip(): line[27:].split() for line in table.splitlines()}
    assert rows["partitions offline"] == ["1", "2", "1"]
    assert rows["below min.insync.replicas"] == ["1", "2", "0"]
    assert rows["broker-1 leads"] == ["2", "3", "3"]
    assert "  offline: orders-2, orders-3" in result.stdout.splitlines()
    assert "sizes of 3 of 5 partitions are not known" in result.stdout


def test_as_json_every_partition_is_there(file: Path) -> None:
    result = kcsim("what-if", str(file), "--lose", "broker-1", "--output", "json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert [step["what"] for step in answer["steps"]] == ["the snapshot", "broker-1 lost", "the lost brokers are back"]
    lost = answer["steps"][1]
    assert lost["health"]["partitions"]["orders-0"] == {"leader": 2, "isr": [2, 3], "min_isr": 2}
    assert lost["offline"] == ["orders-1", "orders-3"]


def test_every_loss_of_one_broker_or_rack_is_tried_and_ranked(file: Path) -> None:
    result = kcsim("what-if", str(file), "--lose", "any-1", "--jobs", "1", "--output", "json")
    assert result.exit_code == 0
    effects = json.loads(result.stdout)["losses"]
    assert [effect["what"] for effect in effects] == ["rack b", "broker-1", "broker-2", "broker-3"]
    assert [effect["offline"] for effect in effects] == [["orders-2"], ["orders-1"], [], []]


@pytest.mark.parametrize(("lost", "table"), [("rack=b", "partitions-step-2"), ("any-1", "partitions-loss-1")])
def test_the_answer_is_a_page_too_which_is_not_written_over(file: Path, tmp_path: Path, lost: str, table: str) -> None:
    page = tmp_path / "answer.html"
    asked = ("what-if", str(file), "--lose", lost, "--jobs", "1", "--page", str(page))
    result = kcsim(*asked)
    assert result.exit_code == 0, result.output
    assert "Assumed: " in result.stdout
    assert f"written: {page}" in result.stderr
    assert f'id="t-{table.removeprefix("partitions-")}"' in page.read_text(encoding="utf-8")
    again = kcsim(*asked)
    assert (again.exit_code, again.stdout) == (64, "")
    assert again.stderr.startswith(f"--page: {page} is there already")
    assert kcsim(*asked, "--force").exit_code == 0


def test_what_is_lost_already_is_not_tried_again(file: Path) -> None:
    result = kcsim("what-if", str(file), "--lose", "broker-2", "--lose", "any-1", "--jobs", "1", "--output", "json")
    assert [effect["what"] for effect in json.loads(result.stdout)["losses"]] == ["broker-1", "broker-3"]


def test_a_sample_of_the_losses_says_how_many_were_left_out(file: Path) -> None:
    result = kcsim("what-if", str(file), "--lose", "any-2", "--sample", "1", "--jobs", "1", "--output", "json")
    found = json.loads(result.stdout)
    assert (len(found["losses"]), found["not_drawn"]) == (1, 3)


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (("--lose", "broker-9"), 64, "--lose: 'broker-9' is no broker of the snapshot"),
        (("--lose", "broker-4"), 64, "--lose: 'broker-4' is not registered in the snapshot: it is lost already"),
        (("--lose", "rack=c"), 64, "--lose: no registered broker of the snapshot is in rack 'c'; the racks are a, b"),
        (("--lose", "any-1", "--lose", "broker-1"), 64, "--lose: any-1 is the last loss"),
        (("--sample", "3"), 64, "--sample goes with"),
        (("--lose", "any-1", "--restart-rolling"), 64, "--restart-rolling does not go with"),
        (("--setting", "no.such=1"), 64, "--setting: unknown setting 'no.such'"),
    ],
)
def test_an_invalid_question_ends_with_one_line(file: Path, arguments: tuple[str, ...], status: int, reason: str) -> None:
    result = kcsim("what-if", str(file), *arguments)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (status, "", 1)
    assert result.stderr.startswith(reason)


def test_a_file_that_is_no_snapshot_or_of_a_cluster_of_kraft_is_refused(tmp_path: Path) -> None:
    kraft, foreign = tmp_path / "kraft.json", tmp_path / "foreign.json"
    kraft.write_bytes(encode_snapshot(ControlPlaneSnapshot("s", "t", kraft_controller=3000)))
    foreign.write_text("{}")
    for file, status, reason in (
        (kraft, 4, "the KRaft controller 3000 decides in this cluster"),
        (foreign, 64, "not a snapshot of kcsim"),
        (tmp_path / "none.json", 64, "No such file or directory"),
    ):
        result = kcsim("what-if", str(file), "--lose", "broker-1")
        assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (status, "", 1)
        assert reason in result.stderr


def test_a_trace_and_the_transaction_log_of_the_same_run_give_the_same_snapshot(tmp_path: Path) -> None:
    trace, zk_log, file = tmp_path / "run.jsonl", tmp_path / "zk", tmp_path / "cluster.json"
    ran = kcsim("run", RUN, "--zookeeper", "simulated", "--trace", str(trace), "--zk-log", str(zk_log))
    assert ran.exit_code == 0, ran.output
    taken = []
    for source in (trace, zk_log):
        result = kcsim("snapshot", str(source), "-o", str(file))
        assert result.exit_code == 0, result.output
        taken.append(read_snapshot(file))
    one, other = taken
    assert one.topics
    assert (one.brokers, one.topics, one.controller_epoch) == (other.brokers, other.topics, other.controller_epoch)
    assert kcsim("snapshot", str(trace), "--at", "1s", "-o", str(file)).exit_code == 0
    assert read_snapshot(file).registered_ids == (1, 2, 3)


def test_sources_and_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    file, trace, empty = tmp_path / "cluster.json", tmp_path / "run.jsonl", tmp_path / "empty"
    empty.mkdir()
    trace.write_text("")
    for arguments, status, reason in (
        (("127.0.0.1:1", "--at", "0x1"), 64, "--at does not go with a running cluster"),
        ((str(trace), "--chroot", "/kafka"), 64, "--chroot does not go with an event log"),
        ((str(empty),), 64, "empty"),
        ((str(tmp_path / "a.log"), str(tmp_path / "b.log")), 64, "a.log"),
    ):
        result = kcsim("snapshot", *arguments, "-o", str(file))
        assert (result.exit_code, result.stdout) == (status, ""), result.output
        assert reason in result.stderr
        assert not file.exists()
