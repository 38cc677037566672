"""kcsim spark ingest as a user sees it."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from kcsim.scenarios.analysis.tables.reading import read_events
from kcsim.scenarios.cli.app import app
from tests.scenarios.analysis.progress_lines import without_progress
from tests.scenarios.analysis.synthetic_traces import event, line, started, written


def ingest(*arguments: Path | str) -> Result:
    return CliRunner().invoke(app, ["spark", "ingest", *map(str, arguments)])


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Return a directory with the traces of two runs, one of them with two lines that are no events."""
    (tmp_path / "traces").mkdir()
    written(tmp_path / "traces" / "good.parquet", [started(), event(1)])
    (tmp_path / "traces" / "odd.jsonl").write_bytes(line(started()) + b"garbage\n" + b"{}\n" + line(event(2, topic="a")))
    return tmp_path / "traces"


def test_traces_become_a_dataset_and_all_of_it_is_counted(spark: SparkSession, traces: Path, tmp_path: Path) -> None:
    result = ingest(traces, "--out", tmp_path / "runs", "--batch", "nightly", "--output", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {
        "dataset": str(tmp_path / "runs"),
        "events": 4,
        "runs": 2,
        "rejects": {"missing column": 1, "not JSON": 1},
    }
    assert {path.name for path in tmp_path.iterdir()} == {"traces", "runs"}
    again = read_events(spark, tmp_path / "runs")
    assert {(row.batch, row.run) for row in again.events.collect()} == {("nightly", "good"), ("nightly", "odd")}
    rejects = spark.read.parquet(str(tmp_path / "runs" / "rejects")).orderBy("line").collect()
    assert [(row.run, row.line, row.text) for row in rejects] == [("odd", 2, "garbage"), ("odd", 3, "{}")]


@pytest.mark.slow
def test_people_are_shown_how_much_there_was_and_where_the_rejects_are(
    spark: SparkSession, traces: Path, tmp_path: Path
) -> None:
    result = ingest(traces, "-o", tmp_path / "runs")
    out = tmp_path / "runs"
    assert result.stdout.splitlines() == [
        f"{out}: 4 events of 2 runs; 2 rejected",
        "          1  missing column",
        "          1  not JSON",
    ]
    assert without_progress(result.stderr) == f"what was rejected, and why: {out / 'rejects'}\n"


@pytest.mark.slow
def test_without_an_event_there_is_no_dataset(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(b"garbage\n" * 3)
    result = ingest(tmp_path / "r.jsonl", "-o", tmp_path / "runs")
    assert (result.exit_code, without_progress(result.stderr)) == (
        2,
        "kcsim: there is no event in what was read: 3 not JSON\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{traces}", "-o", "{traces}"], "exists, and nothing is overwritten"),
        (["{traces}/no.jsonl", "-o", "{out}"], "no.jsonl: no such file or folder"),
        (["{traces}", "-o", "{out}", "--batch", " "], "is no name of a batch"),
        (["{traces}", "-o", "{out}", "--conf", "spark.executor.memory"], "'spark.executor.memory' is no setting"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(
    spark: SparkSession, traces: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = ingest(*(argument.format(traces=traces, out=tmp_path / "runs") for argument in arguments))
    assert result.exit_code == 64
    assert message in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["traces"]
