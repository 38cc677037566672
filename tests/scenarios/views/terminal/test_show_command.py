"""kcsim show as a user sees it: a timeline, a snapshot, a diagram, or the error in the trace or the question."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow.parquet import ParquetFile

from kcsim.eventlog import event_log
from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, EventKind
from tests.scenarios.evaluated_log import EvaluatedLog
from tests.scenarios.views.page.conftest import run_of, written
from tests.scenarios.views.terminal.conftest import kcsim
from tests.scenarios.views.terminal.mermaid_grammar import parse

FAILOVER, CRASH = "controller-failover", "broker-crash-and-return"
TraceOf = Callable[..., Path]


def story() -> EvaluatedLog:
    """Return a log in which the run starts, broker-1 is killed, and /controller is deleted."""
    log = EvaluatedLog()
    log.append("scenario", EventKind.RUN_STARTED, scenario="try-it", seed=1, schema_version=EVENT_SCHEMA_VERSION)
    log.znode("/controller", '{"version":1,"brokerid":1,"timestamp":"1"}', ephemeral=True)
    killed = log.append("scenario", EventKind.FAULT, fault="kill", target="broker-1")
    log.append("broker-1", EventKind.PROCESS_STATE, killed, state="dead")
    log.gone("/controller", 3)
    return log


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path / "run.jsonl", story().events)


# --- the timeline ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_the_timeline_has_what_is_of_note(tmp_path: Path, name: str) -> None:
    result = kcsim("show", str(written(tmp_path / name, story().events)))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "    #0      0.000 s  scenario   the run of try-it begins, seed 1",
        "    #2      0.200 s  scenario   kills broker-1",
        "    #3      0.300 s  broker-1   is killed: its session is not closed and will expire",
        "    #4      0.400 s  zookeeper  /controller is gone: no broker is the controller",
    ]


def test_all_has_every_event_and_why_what_each_follows_from(trace: Path) -> None:
    lines = kcsim("show", str(trace), "--all", "--why", "--from", "#1").stdout.splitlines()
    assert lines == [
        "    #1      0.100 s            zookeeper  /controller was created",
        "    #2      0.200 s            scenario   kills broker-1",
        "    #3      0.300 s  ← #2      broker-1   is killed: its session is not closed and will expire",
        "    #4      0.400 s  ← #3      zookeeper  /controller is gone: no broker is the controller",
    ]


def test_a_stretch_has_both_its_ends(trace: Path) -> None:
    result = kcsim("show", str(trace), "--all", "--from", "0.1s", "--to", "#3", "--output", "json")
    assert [event["seq"] for event in json.loads(result.stdout)] == [1, 2, 3]


def test_who_names_a_kind_gets_it_of_note_or_not(trace_of: TraceOf) -> None:
    result = kcsim("show", str(trace_of(FAILOVER)), "--kind", "WatchFired", "--node", "broker-3", "--output", "json")
    events = json.loads(result.stdout)
    assert events
    assert {(event["kind"], event["node"]) for event in events} == {("WatchFired", "broker-3")}


def test_the_events_of_a_partition_are_its_decisions_and_its_state(trace_of: TraceOf) -> None:
    result = kcsim("show", str(trace_of(CRASH)), "--partition", "orders-1", "--all", "--output", "json")
    events = json.loads(result.stdout)
    assert {"LeaderElection", "ZnodeChanged", "IsrExpanded", "BecameLeader"} <= {event["kind"] for event in events}
    places = {(event.get("topic"), event.get("partition")) for event in events if "path" not in event}
    assert places == {("orders", 1)}
    assert all(event["path"].startswith("/brokers/topics/orders/partitions/1") for event in events if "path" in event)


def test_faults_are_what_somebody_outside_did(trace_of: TraceOf) -> None:
    events = json.loads(kcsim("show", str(trace_of(CRASH)), "--faults", "--output", "json").stdout)
    assert [event["says"] for event in events if event["kind"] == "Fault"] == ["kills broker-2"]
    assert {event["node"] for event in events} == {"scenario"}


def test_what_is_printed_as_jsonl_is_a_trace_again(trace_of: TraceOf, tmp_path: Path) -> None:
    part = tmp_path / "part.jsonl"
    part.write_text(kcsim("show", str(trace_of(CRASH)), "--node", "broker-2", "--all", "--output", "jsonl").stdout)
    wanted = [e for e in run_of(CRASH) if e.node == "broker-2" or "broker-2" in (e.target or "").split(", ")]
    assert list(read_trace(part)) == wanted


def test_nothing_found_says_so_and_names_who_was_meant(trace: Path) -> None:
    result = kcsim("show", str(trace), "--node", "brokr-1", "--output", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, [])
    assert result.stderr == "the trace has no node 'brokr-1'; did you mean broker-1?\n"
    assert "no event of the trace is as asked for" in kcsim("show", str(trace), "--kind", "Ledger").stderr


def test_a_reader_who_leaves_ends_it_without_a_traceback(trace_of: TraceOf) -> None:
    """In kcsim show … | head -1, the rest is not read, and that is no error."""
    command = f"{sys.executable} -m kcsim.scenarios show {trace_of(FAILOVER)} --all --output json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("[\n", "")


# --- a snapshot ------------------------------------------------------------------------------------------------------------


def test_a_moment_is_named_by_time_or_event(trace: Path) -> None:
    by_time, by_event = (kcsim("show", str(trace), "--at", at).stdout for at in ("0.35s", "#3"))
    assert by_time == by_event
    assert by_time.splitlines()[:2] == ["As of #3, 0.300 s", "Controller: broker-1, controller epoch -"]
    assert "Controller: nobody" in kcsim("show", str(trace), "--at", "end").stdout


def test_its_znodes_and_topics_can_be_shown_alone_or_as_json(trace_of: TraceOf) -> None:
    trace = str(trace_of(CRASH))
    tree = kcsim("show", trace, "--at", "end", "--path", "/brokers/topics/orders/partitions/1").stdout.splitlines()
    assert [line.partition("  ")[0] for line in tree] == [
        "/brokers/topics/orders/partitions/1",
        "/brokers/topics/orders/partitions/1/state",
    ]
    described = kcsim("show", trace, "--at", "end", "--describe", "--topic", "orders").stdout.splitlines()
    assert (
        described[0] == "Topic: orders\tTopicId: c4P01vYIQUqVeYAGPi2X9A\tPartitionCount: 3\tReplicationFactor: 3\tConfigs: "
    )
    document = json.loads(kcsim("show", trace, "--at", "end", "--tree", "--describe", "--output", "json").stdout)
    assert [topic["topic"] for topic in document["topics"]] == ["orders"]
    assert document["znodes"]["/controller_epoch"] == {"data": "1", "version": 1, "owner": None}
    assert document["controller"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--at", "9s"), "--at: 9s is after the run, whose last event is #4 at 0.400s"),
        (("--at", "soon"), "--at: 'soon' is no moment of a run; write 12.5s, 300ms, '#123' for an event, or end"),
        (("--at", "end", "--topic", "orders"), "there was no topic 'orders' then"),
        (("--at", "#2", "--path", "/controler"), "there was no znode /controler then; did you mean /controller?"),
        (("--at", "end", "--node", "broker-1"), "--node does not go with --at"),
        (("--at", "end", "--output", "jsonl"), "--output jsonl does not go with --at"),
        (("--tree",), "--tree goes only with --at"),
        (("--most", "3"), "--most goes only with --mermaid"),
        (("--mermaid", "--why"), "--why does not go with --mermaid"),
        (("--mermaid", "--output", "json"), "--output json does not go with --mermaid"),
        (("--from", "2s", "--to", "1s"), "--to: 1s is before 2s: there is nothing between them"),
        (("--from", "end"), "--from: 'end' is no moment of a run"),
        (("--partition", "orders"), "--partition: 'orders' is no partition; write it as orders-0"),
        (("--kind", "LeaderElections"), "--kind: 'LeaderElections' is no kind of event; did you mean LeaderElection?"),
        (("--path", "controller"), "--path: 'controller' does not begin with /"),
    ],
)
def test_what_makes_no_sense_ends_with_64_and_one_line(trace: Path, arguments: tuple[str, ...], message: str) -> None:
    done = kcsim("show", str(trace), *arguments)
    assert (done.exit_code, done.stdout) == (64, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


# --- a diagram -------------------------------------------------------------------------------------------------------------


def test_a_stretch_is_drawn(trace_of: TraceOf) -> None:
    result = kcsim("show", str(trace_of(FAILOVER)), "--mermaid", "--from", "2.2s", "--to", "2.22s", "--node", "broker-5")
    assert (result.exit_code, result.stderr) == (0, "")
    diagram = parse(result.stdout.splitlines())
    assert diagram.participants == ["broker-5", "zookeeper"]
    assert "2.214 s wins the election: controller epoch 2 (it created /controller first)" in [i.text for i in diagram.items]


def test_what_is_not_drawn_is_reported(trace_of: TraceOf) -> None:
    result = kcsim("show", str(trace_of(FAILOVER)), "--mermaid", "--most", "5")
    assert len(parse(result.stdout.splitlines()).items) == 6
    assert "more events are left out, from #" in result.stderr
    assert result.stderr.endswith("narrow the selection, or raise --most\n")


# --- broken traces ---------------------------------------------------------------------------------------------------------


VIEWS = [(), ("--all",), ("--at", "end"), ("--at", "end", "--tree"), ("--mermaid",)]


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_a_trace_cut_off_in_the_middle_is_shown_up_to_there(trace: Path, view: tuple[str, ...]) -> None:
    trace.write_bytes(trace.read_bytes()[:-20])
    done = kcsim("show", str(trace), *view)
    assert done.exit_code == 2
    assert "#3" in done.stdout or "dead" in done.stdout or "killed" in done.stdout or "/controller" in done.stdout
    assert done.stderr == f"{trace}:5: not an event: the trace breaks off here; what came after that is not shown\n"


def test_a_line_that_is_no_event_ends_the_timeline_there(trace: Path) -> None:
    lines = trace.read_text().splitlines()
    trace.write_text("\n".join([*lines[:3], "half a line", *lines[3:]]) + "\n")
    done = kcsim("show", str(trace))
    assert (done.exit_code, len(done.stdout.splitlines())) == (2, 2)
    assert f"{trace}:4: not an event" in done.stderr


def test_a_moment_after_the_break_is_undecided(trace: Path) -> None:
    trace.write_bytes(trace.read_bytes()[:-20])
    done = kcsim("show", str(trace), "--at", "0.4s")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the trace breaks off here; --at: 0.4s is after the run, whose last event is #3" in done.stderr


def test_what_comes_before_the_break_needs_no_word_about_it(trace: Path) -> None:
    trace.write_bytes(trace.read_bytes()[:-20])
    for view in (("--at", "#3"), ("--at", "0.25s"), ("--to", "#3"), ("--to", "0.25s"), ("--mermaid", "--to", "#2")):
        assert (kcsim("show", str(trace), *view).exit_code, view) == (0, view)


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.jsonl", b"", "it has no events"),
        ("text.jsonl", b"Dear diary\n", ":1: not an event"),
        ("bytes.jsonl", bytes(range(256)), ":1: not an event"),
        ("json.jsonl", b'{"a": 1}\n', ":1: not an event: Object missing required field `seq`"),
        ("empty.parquet", b"", "not a trace"),
        ("cut.parquet", b"PAR1" + b"\0" * 100, "not a trace"),
        (
            "newer.jsonl",
            b'{"seq":0,"t_ms":0,"node":"n","kind":"RunStarted","schema_version":99}\n',
            "a newer kcsim wrote it",
        ),
    ],
)
def test_what_is_no_trace_is_reported_with_its_name(
    tmp_path: Path, name: str, content: bytes, message: str, view: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = kcsim("show", str(path), *view)
    assert (done.exit_code, done.stdout) == (64, "")
    assert str(path) in done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_parquet_that_was_cut_off_has_nothing_to_read(tmp_path: Path) -> None:
    """The index of a Parquet file's rows is at its end."""
    path = written(tmp_path / "run.parquet", story().events)
    path.write_bytes(path.read_bytes()[:-30])
    done = kcsim("show", str(path))
    assert (done.exit_code, done.stdout) == (64, "")
    assert f"{path}: not a trace" in done.stderr


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    done = kcsim("show", str(tmp_path / "no.jsonl"))
    assert (done.exit_code, done.stderr) == (64, f"{tmp_path / 'no.jsonl'}: No such file or directory\n")


def test_two_runs_in_one_file_are_no_run(trace: Path) -> None:
    trace.write_bytes(trace.read_bytes() * 2)
    done = kcsim("show", str(trace))
    assert (done.exit_code, len(done.stdout.splitlines())) == (2, 4)
    assert "event #0 comes after #4: this is not the log of one run" in done.stderr


def test_a_parquet_that_is_damaged_in_the_middle_is_reported_with_its_name(tmp_path: Path) -> None:
    path = written(tmp_path / "run.parquet", story().events)
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    done = kcsim("show", str(path))
    assert (done.exit_code, done.stdout) == (64, "")
    assert done.stderr.startswith(f"{path}: damaged: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_parquet_is_read_up_to_its_first_damaged_group_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "ROWS_PER_GROUP", 100)
    path = written(tmp_path / "run.parquet", run_of(FAILOVER))
    with ParquetFile(path) as file:
        begin = file.metadata.row_group(2).column(0).data_page_offset
        end = file.metadata.row_group(2).column(3).data_page_offset
    content = bytearray(path.read_bytes())
    content[begin:end] = bytes(end - begin)
    path.write_bytes(content)
    done = kcsim("show", str(path), "--all", "--output", "jsonl")
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == list(range(200))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{path}: damaged: ")
