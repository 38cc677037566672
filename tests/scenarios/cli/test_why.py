"""kcsim why as a user sees it: a tree on stdout, or one line about the error in the trace or the question."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import open_trace_writer
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, EventFields, EventKind
from kcsim.scenarios.cli.app import app
from tests.scenarios.evaluated_log import EvaluatedLog


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def written(path: Path, schema_version: int = EVENT_SCHEMA_VERSION) -> Path:
    """Write a trace in which the run starts, broker-1 is killed, and /controller is deleted; return its path."""
    story = EvaluatedLog()
    story.append("scenario", EventKind.RUN_STARTED, scenario="try-it", seed=1, schema_version=schema_version)
    killed = story.append("scenario", EventKind.FAULT, fault="kill", target="broker-1")
    story.gone("/controller", killed)
    writer = open_trace_writer(path)
    for event in story.events:
        writer.write(event)
    writer.close()
    return path


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_the_chain_is_printed_down_to_the_event(tmp_path: Path, name: str) -> None:
    result = kcsim("why", str(written(tmp_path / name)), "last:ZnodeDeleted")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "  #1      0.100 s  scenario   kills broker-1",
        "→ #2      0.200 s  zookeeper  └ /controller is gone: no broker is the controller",
    ]


def test_json_is_for_programs(tmp_path: Path) -> None:
    document = json.loads(kcsim("why", str(written(tmp_path / "run.jsonl")), "1", "--output", "json").stdout)
    assert ([e["seq"] for e in document["chain"]], [e["seq"] for e in document["followed_by"]]) == ([1], [2])


def test_depth_and_all_say_how_much_of_what_followed_is_shown(tmp_path: Path) -> None:
    trace = str(written(tmp_path / "run.jsonl"))
    assert "… 1 more follows" in kcsim("why", trace, "1", "--depth", "0").stdout
    assert "more follow" not in kcsim("why", trace, "1", "--depth", "0", "--all").stdout


def written_with_clients(path: Path) -> str:
    """Write a trace with errors of two clients, #2 to #4; return its path."""
    story = EvaluatedLog()
    story.append("scenario", EventKind.RUN_STARTED, scenario="try-it", seed=1, schema_version=EVENT_SCHEMA_VERSION)
    expired = story.append("scenario", EventKind.FAULT, fault="expire", target="broker-1")
    for client, error in (("shop", "NOT_LEADER_OR_FOLLOWER"), ("shop", "REQUEST_TIMED_OUT"), ("bank", "REQUEST_TIMED_OUT")):
        about = EventFields(client_id=client, event="Produce", topic="orders", partition=0, count=1, error=error)
        story.append("broker-1", EventKind.CLIENT_ERROR, expired, **about)
    writer = open_trace_writer(path)
    for event in story.events:
        writer.write(event)
    writer.close()
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "seq"),
    [
        (("--client", "shop"), 3),
        (("--client", "shop", "--error", "NOT_LEADER_OR_FOLLOWER"), 2),
        (("--error", "REQUEST_TIMED_OUT"), 4),
        (("first:ClientError", "--error", "REQUEST_TIMED_OUT"), 3),
    ],
)
def test_a_clients_error_is_named_by_what_the_client_knows(tmp_path: Path, arguments: tuple[str, ...], seq: int) -> None:
    result = kcsim("why", written_with_clients(tmp_path / "run.jsonl"), *arguments, "--output", "json")
    document = json.loads(result.stdout)
    assert [e["seq"] for e in document["chain"]] == [1, seq]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--client", "nobody"), "the trace has no ClientError with client nobody"),
        ((), "name an event or a state, or a client's error by --client or --error"),
        (("no controller", "--client", "shop"), "--client and --error go with a kind of event"),
    ],
)
def test_a_question_without_an_answer_about_clients_ends_with_64(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = kcsim("why", written_with_clients(tmp_path / "run.jsonl"), *arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("17", "run.jsonl: there is no event #17 in the trace; it has #0 to #2"),
        ("ElectionWon", "run.jsonl: the trace has no ElectionWon"),
        ("Election", "did you mean ElectionWon?"),
    ],
)
def test_an_event_that_is_not_there_ends_with_64(tmp_path: Path, question: str, message: str) -> None:
    result = kcsim("why", str(written(tmp_path / "run.jsonl")), question)
    assert (result.exit_code, result.stdout) == (64, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_trace_that_breaks_off_is_described_as_far_as_it_goes(tmp_path: Path) -> None:
    """The run of such a trace was killed, or is still writing it."""
    trace = written(tmp_path / "run.jsonl")
    trace.write_bytes(trace.read_bytes()[:-10])
    result = kcsim("why", str(trace), "1")
    assert (result.exit_code, "kills broker-1" in result.stdout) == (0, True)
    assert result.stderr == f"{trace}:3: not an event: the trace breaks off here; what came after that is not shown\n"
    lost = kcsim("why", str(trace), "2")
    assert (lost.exit_code, lost.stdout) == (2, "")
    assert "the trace breaks off here; there is no event #2 in the trace; it has #0 to #1" in lost.stderr


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_a_trace_of_a_newer_kcsim_ends_with_64(tmp_path: Path, name: str) -> None:
    trace = written(tmp_path / name, schema_version=EVENT_SCHEMA_VERSION + 1)
    result = kcsim("why", str(trace), "1")
    assert (result.exit_code, result.stdout) == (64, "")
    assert f"a newer kcsim wrote it, in version {EVENT_SCHEMA_VERSION + 1} of the format" in result.stderr


@pytest.mark.parametrize(("content", "message"), [(None, "No such file or directory"), (b"junk\n", ":1: not an event: ")])
def test_what_is_no_trace_ends_with_64(tmp_path: Path, content: bytes | None, message: str) -> None:
    trace = tmp_path / "run.jsonl"
    if content is not None:
        trace.write_bytes(content)
    result = kcsim("why", str(trace), "1")
    assert (result.exit_code, message in result.stderr, len(result.stderr.splitlines())) == (64, True, 1)


# --- states ----------------------------------------------------------------------------------------------------------------


def test_the_exit_status_says_whether_a_state_holds(tmp_path: Path) -> None:
    trace = str(written(tmp_path / "run.jsonl"))
    assert kcsim("why", trace, "no controller").exit_code == 0
    unknown = kcsim("why", trace, "broker-1 not registered")
    assert (unknown.exit_code, unknown.stdout.splitlines()[0]) == (2, "broker-1 not registered: the trace does not say.")


def test_a_state_that_does_not_hold_ends_with_3(tmp_path: Path) -> None:
    log = EvaluatedLog()
    log.append("scenario", EventKind.RUN_STARTED, scenario="try-it", seed=1, schema_version=EVENT_SCHEMA_VERSION)
    log.znode("/brokers/ids/1", "{}", ephemeral=True)
    writer = open_trace_writer(tmp_path / "run.jsonl")
    for event in log.events:
        writer.write(event)
    writer.close()
    result = kcsim("why", str(tmp_path / "run.jsonl"), "broker-1 not registered")
    assert result.exit_code == 3
    assert "At 0.100 s: broker-1 (process unknown, registered)." in result.stdout


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("no controler", "did you mean 'no controller'?"),
        ("ordres-0 offline", "the trace has no partition ordres-0"),
        ("no controller at noon", "'noon' is no moment of a run"),
    ],
)
def test_a_question_that_cannot_be_answered_ends_with_64(tmp_path: Path, question: str, message: str) -> None:
    result = kcsim("why", str(written(tmp_path / "run.jsonl")), question)
    assert (result.exit_code, result.stdout, message in result.stderr) == (64, "", True)


def test_options_about_events_do_not_go_with_a_state(tmp_path: Path) -> None:
    result = kcsim("why", str(written(tmp_path / "run.jsonl")), "no controller", "--topic", "orders")
    assert (result.exit_code, "go with a kind of event" in result.stderr) == (64, True)
