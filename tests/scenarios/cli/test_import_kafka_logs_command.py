"""kcsim import kafka-logs as a user sees it: what it writes, what it reports, and which inputs it refuses."""

import gzip
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.cli.app import app
from kcsim.vocabulary import TopicPartition
from tests.brokers.apache_kafka.log_import.recordings import NAMES, RECORDINGS, expected
from tests.brokers.cluster.histories import partition_histories

USAGE = 64


def kcsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def imported(name: str, trace: Path, *options: str) -> list[Event]:
    done = kcsim("import", "kafka-logs", RECORDINGS / name, "-o", trace, *options)
    assert (done.exit_code, done.stderr) == (0, "")
    return list(read_trace(trace))


@pytest.mark.parametrize("name", NAMES)
def test_the_trace_records_the_states_that_zookeeper_had(name: str, tmp_path: Path) -> None:
    events = imported(name, tmp_path / "trace.jsonl")
    true = [
        (
            fact["path"],
            fact["leader"],
            tuple(fact["isr"]),
            fact["leader_epoch"],
            fact["controller_epoch"],
            fact["zk_version"],
        )
        for fact in expected(name)
        if "leader" in fact
    ]
    found = [
        (
            f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state",
            -1 if state.leader_and_isr.leader is None else state.leader_and_isr.leader,
            state.leader_and_isr.isr,
            state.leader_and_isr.leader_epoch,
            state.controller_epoch,
            state.leader_and_isr.zk_version,
        )
        for tp, states in partition_histories(events).items()
        for state in states
    ]
    assert sorted(found) == sorted(true)


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_in_order_and_leads_back_to_its_beginning(name: str, tmp_path: Path) -> None:
    events = imported(name, tmp_path / "trace.jsonl")
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.t_ms for event in events] == sorted(event.t_ms for event in events)
    assert [event.seq for event in events if event.cause is not None and event.cause >= event.seq] == []
    roots = {event.kind for event in events if event.cause is None}
    assert roots <= {EventKind.RUN_STARTED, EventKind.ADMIN_ACT}


def test_what_is_folded_from_the_trace_is_the_cluster_as_it_was(tmp_path: Path) -> None:
    state = ClusterState()
    for event in imported("delete-dead-replica", tmp_path / "trace.parquet"):
        state.apply(event)
    assert state.registered == {1: 26, 2: 106, 3: 63}
    assert (state.controller_id, state.controller_epoch) == (1, 1)
    assert (state.of_topics.topics, state.of_topics.states) == ({}, {})


def test_events_name_the_lines_and_have_no_number_that_no_line_shows(tmp_path: Path) -> None:
    events = imported("kill-leader", tmp_path / "trace.jsonl")
    changes = [
        event for event in events if event.path is not None and event.kind is not EventKind.ADMIN_ACT and event.detail
    ]
    assert all("shown by " in (event.detail or "") for event in changes)
    assert {event.zxid for event in events if event.zxid is not None} == {26, 62, 64}
    assert [event.session_id for event in events if event.session_id is not None] == []


def test_an_election_is_described_with_its_reason_and_leads_back_to_its_cause(tmp_path: Path) -> None:
    """Broker 1 was the controller and led orders-0: the new leader's election follows from its end."""
    imported("kill-controller", tmp_path / "trace.jsonl")
    result = kcsim("why", tmp_path / "trace.jsonl", "last:LeaderElection", "--topic", "orders")
    assert result.exit_code == 0
    assert "/brokers/ids/1 is gone: broker 1 is no longer registered" in result.stdout
    assert "elects for orders-0: no leader → broker-2" in result.stdout


def test_brokers_take_over_what_was_decided(tmp_path: Path) -> None:
    events = imported("shutdown-leader", tmp_path / "trace.jsonl")
    led = [e for e in events if e.kind is EventKind.BECAME_LEADER and (e.topic, e.partition) == ("orders", 1)]
    assert [(e.node, e.leader, e.leader_epoch) for e in led] == [("broker-2", 2, 0), ("broker-3", 3, 1)]
    elections = [e for e in events if e.kind is EventKind.LEADER_ELECTION and e.rule is not None]
    assert [(e.partition, e.rule) for e in elections] == [(1, "broker-2 shuts down")]


def test_the_summary_counts_and_names(tmp_path: Path) -> None:
    done = kcsim("import", "kafka-logs", RECORDINGS / "kill-controller", "-o", tmp_path / "trace.jsonl")
    lines = done.stdout.splitlines()
    assert lines[0].endswith("events of 9 files, from 2026-11-21T05:18:12.723Z to 2026-11-21T05:18:27.750Z")
    assert "          2 ElectionWon" in lines
    assert "controllers: broker-1 (epoch 1), broker-3 (epoch 2)" in lines
    assert any(line.startswith("records: ") for line in lines)
    assert any(line.endswith(" unknown of org.apache.zookeeper.ClientCnxn") for line in lines)
    assert "what these files do not show:" in lines
    assert "the end of broker-1 as controller with epoch 1: no file logs it" in lines[-2]


def test_broken_lines_are_counted_with_the_place_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "controller.log"
    text = (RECORDINGS / "kill-leader" / "broker-1" / "controller.log").read_text()
    path.write_text(text + "[2026-11-21 05:13:50,000] INFO [Controller id=1] Newly added bro\n")
    done = kcsim("import", "kafka-logs", path, "-o", tmp_path / "trace.jsonl", "--zone", "UTC")
    assert done.exit_code == 0
    where = f"{path}:{len(text.splitlines()) + 1}"
    assert f"broken lines: 1, the first at {where}: the message does not end with its logger" in done.stdout.splitlines()


# --- files -----------------------------------------------------------------------------------------------------------------


def test_rolled_and_gzipped_files_are_read_and_names_do_not_matter(tmp_path: Path) -> None:
    """The lines of a file show which of Kafka's log files it is, and of which broker."""
    whole = imported("kill-leader", tmp_path / "whole.jsonl")
    moved = tmp_path / "moved"
    moved.mkdir()
    for number, path in enumerate(sorted((RECORDINGS / "kill-leader").glob("broker-*/*.log"))):
        text = path.read_bytes()
        half = text.rindex(b"[2026-", 0, len(text) * 3 // 4)
        (moved / f"server-{number}.log.2026-11-21-04.gz").write_bytes(gzip.compress(text[:half]))
        (moved / f"server-{number}.log").write_bytes(text[half:])
    done = kcsim("import", "kafka-logs", moved, "-o", tmp_path / "moved.jsonl")
    assert (done.exit_code, done.stderr) == (0, "")
    assert partition_histories(list(read_trace(tmp_path / "moved.jsonl"))) == partition_histories(whole)


def test_compressed_data_that_break_off_count_up_to_there(tmp_path: Path) -> None:
    text = (RECORDINGS / "kill-leader" / "broker-1" / "state-change.log").read_bytes()
    torn = tmp_path / "state-change.log.gz"
    torn.write_bytes(gzip.compress(text)[:-200])
    done = kcsim("import", "kafka-logs", torn, "-o", tmp_path / "trace.jsonl", "--zone", "UTC")
    assert done.exit_code == 0
    assert f"{torn}: its compressed data are damaged after line" in done.stderr
    assert TopicPartition("orders", 0) in partition_histories(list(read_trace(tmp_path / "trace.jsonl")))


def test_a_zone_moves_the_beginning(tmp_path: Path) -> None:
    utc = imported("kill-leader", tmp_path / "utc.jsonl")
    other = imported("kill-leader", tmp_path / "other.jsonl", "--zone", "+02:00")
    assert "it begins at 2026-11-21T05:13:36" in (utc[0].detail or "")
    assert "it begins at 2026-11-21T03:13:36" in (other[0].detail or "")
    assert [event.t_ms for event in utc] == [event.t_ms for event in other]


def test_without_a_line_that_shows_the_zone_utc_is_assumed_and_reported(tmp_path: Path) -> None:
    path = RECORDINGS / "kill-leader" / "broker-1" / "state-change.log"
    done = kcsim("import", "kafka-logs", path, "-o", tmp_path / "trace.jsonl")
    assert done.stderr == "no line shows the zone of these times; taken for UTC: name another with --zone\n"


def test_a_directory_s_other_files_are_left_alone(tmp_path: Path) -> None:
    """Kafka's own data files also end in .log."""
    shutil.copytree(RECORDINGS / "kill-leader", tmp_path / "logs")
    (tmp_path / "logs" / "broker-1" / "00000000000000000000.log").write_bytes(bytes(range(256)) * 100)
    done = kcsim("import", "kafka-logs", tmp_path / "logs", "-o", tmp_path / "trace.jsonl")
    assert "of 9 files" in done.stdout
    assert "broken" not in done.stdout


# --- refusals --------------------------------------------------------------------------------------------------------------


def refusal(*arguments: object) -> str:
    """Return the single line that a refused import prints."""
    done = kcsim("import", "kafka-logs", *arguments)
    assert (done.exit_code, done.stdout) == (USAGE, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no line, and so none that begins as Kafka's records do"),
        (bytes(range(256)) * 40, "lines, and none begins as Kafka's records do"),
        (b"[2021-05-04 10:15:32,101] INFO Hello (com.example.Application)\n", "1 records, and none is about partitions"),
        (b"[2021-05-04 10:15:32,101] INFO Changed partition orders-0 from N", "1 lines, and none begins"),
    ],
    ids=["empty", "binary", "another program's", "cut"],
)
def test_a_file_without_history_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "state-change.log"
    path.write_bytes(content)
    line = refusal(path, "-o", tmp_path / "trace.jsonl")
    assert line.startswith(f"{path}: ")
    assert why in line
    assert not (tmp_path / "trace.jsonl").exists()


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    wanted = "state-change.log, controller.log, server.log, rolled or gzipped ones too"
    assert (
        refusal(tmp_path, "-o", tmp_path / "t.jsonl")
        == f"{tmp_path}: it and its subdirectories hold no log of Kafka ({wanted})"
    )


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert (
        refusal(tmp_path / "no.log", "-o", tmp_path / "t.jsonl")
        == f"{tmp_path / 'no.log'}: there is no such file or directory"
    )


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The permissions make the file unreadable, but not for root."""
    path = tmp_path / "controller.log"
    path.write_text("x")
    opened = Path.open

    def refuse(self: Path, *arguments: object, **options: object) -> object:
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(self, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(path, "-o", tmp_path / "t.jsonl") == f"{path}: Permission denied"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-o", "{here}"], "is a directory; name a file"),
        (["-o", "{here}/none/trace.jsonl"], "there is no directory"),
        (["-o", "{here}/t.jsonl", "--zone", "Mars/Olympus"], "--zone: 'Mars/Olympus' is no time zone"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_read(
    options: list[str], why: str, tmp_path: Path
) -> None:
    assert why in refusal(tmp_path / "none", *(option.format(here=tmp_path) for option in options))
