"""kcsim diff as a user sees it: two runs of a race, and errors in a trace."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_record import RunRecord, encode_run_record
from tests.scenarios.views.page.conftest import run_of, written
from tests.scenarios.views.terminal.conftest import kcsim

CRASH = "broker-crash-and-return"
TraceOf = Callable[..., Path]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Write the same run, but with another leader chosen once, and with a violated expectation; return its trace."""
    events = list(run_of(CRASH))
    election = [event.seq for event in events if event.kind is EventKind.LEADER_ELECTION][-1]
    events[election] = msgspec.structs.replace(events[election], leader=1, detail="leader 1: by lot")
    judged = next(event.seq for event in events if event.kind is EventKind.EXPECTATION)
    events[judged] = msgspec.structs.replace(events[judged], outcome="violated")
    return written(tmp_path / "other.parquet", events)


def test_a_run_is_the_same_as_itself_in_either_format(trace_of: TraceOf) -> None:
    done = kcsim("diff", str(trace_of(CRASH)), str(trace_of(CRASH, "parquet")))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "The runs are the same, but for when things happened."


def test_where_they_part_is_shown_with_its_reasons_on_both_sides(trace_of: TraceOf, other: Path) -> None:
    done = kcsim("diff", str(trace_of(CRASH)), str(other))
    assert (done.exit_code, done.stderr) == (3, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == [f"- {trace_of(CRASH)}", f"+ {other}"]
    (begin,) = [place for place, line in enumerate(lines) if line.startswith("They part at orders-")]
    chains = "\n".join(lines[begin : lines.index("What happens otherwise, at 1 place")])
    assert chains.count("kills broker-2") == 2
    assert "elects for orders-" in chains
    assert "leader 1: by lot" in chains
    verdicts = lines[lines.index("Verdicts") :]
    assert verdicts[2:4] == ["      - held", "      + violated"]


def test_the_json_has_all_of_it(trace_of: TraceOf, other: Path) -> None:
    document = json.loads(kcsim("diff", str(trace_of(CRASH)), str(other), "--output", "json").stdout)
    assert document["settings"] == document["end"] == document["znodes"] == []
    (divergence,) = document["divergences"]
    assert divergence["where"] == document["parting"]["where"]
    assert [divergence["left"][0]["seq"], divergence["right"][0]["seq"]] == [
        document["parting"]["left"],
        document["parting"]["right"],
    ]
    assert [document["parting"][f"{side}_why"][0]["kind"] for side in ("left", "right")] == ["Fault", "Fault"]
    assert [(one["left"], one["right"]) for one in document["verdicts"]] == [("held", "violated")]


def test_two_runs_of_different_scenarios_differ_everywhere_and_little_is_shown(trace_of: TraceOf) -> None:
    arguments = ("diff", str(trace_of(CRASH)), str(trace_of("controller-failover")))
    short, long = kcsim(*arguments), kcsim(*arguments, "--all")
    assert (short.exit_code, long.exit_code) == (3, 3)
    assert "--all shows them" in short.stdout
    assert "--all shows them" not in long.stdout
    assert len(long.stdout.splitlines()) > len(short.stdout.splitlines())


def test_a_trace_that_breaks_off_is_compared_as_far_as_it_goes(trace_of: TraceOf, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(trace_of(CRASH).read_bytes()[:-20_000])
    done = kcsim("diff", str(trace_of(CRASH)), str(cut))
    assert done.exit_code == 2
    assert "nothing more happens there, after what both have:" in done.stdout
    assert "the trace breaks off here; what came after that is not compared" in done.stderr


def test_no_trace_is_no_run(trace_of: TraceOf, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    done = kcsim("diff", str(trace_of(CRASH)), str(empty))
    assert (done.exit_code, done.stdout, done.stderr) == (64, "", f"{empty}: it has no events\n")
    gone = kcsim("diff", str(tmp_path / "no.jsonl"), str(empty))
    assert (gone.exit_code, gone.stderr) == (64, f"{tmp_path / 'no.jsonl'}: No such file or directory\n")


def test_settings_that_a_run_of_apache_kafka_does_not_name_are_no_difference(trace_of: TraceOf, tmp_path: Path) -> None:
    """What it does not name has the default of its version, which the trace does not have."""
    events = list(run_of(CRASH))
    record = RunRecord({}, {"zookeeper.session.timeout.ms": 9_000}, tick_time_ms=2_000, session_timeout_ms=9_000)
    data = encode_run_record(record)
    events[0] = msgspec.structs.replace(events[0], data=data, broker_software="Apache Kafka 2.8.2")
    of_kafka = written(tmp_path / "kafka.parquet", events)
    document = json.loads(kcsim("diff", str(trace_of(CRASH)), str(of_kafka), "--output", "json").stdout)
    names = {one["what"] for one in document["settings"]}
    assert "zookeeper.session.timeout.ms" in names
    assert "replica.lag.time.max.ms" not in names
