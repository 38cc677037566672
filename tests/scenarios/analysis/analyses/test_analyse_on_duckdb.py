"""kcsim spark analyse and report with --engine duckdb: what they read, print and refuse, without Spark."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.cli.app import app
from tests.scenarios.analysis.analyses.handwritten_runs import leader_dies, stopped_together
from tests.scenarios.analysis.analyses.stories import written
from tests.scenarios.analysis.progress_lines import without_progress

ENOUGH_SECONDS = 600
WITHOUT_SPARK = """
import sys
sys.modules.update(dict.fromkeys(("pyspark", "py4j")))
from kcsim.scenarios.cli.main import main
main()
"""


def run(command: str, *arguments: object) -> Result:
    return CliRunner().invoke(app, ["spark", command, *map(str, arguments), "--engine", "duckdb"])


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return written(tmp_path / "history", [leader_dies(), stopped_together()])


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace with a line that is no event."""
    rows = [{key: value for key, value in row.items() if key not in ("batch", "run")} for row in leader_dies().events]
    path = tmp_path / "leader-dies.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows) + b"no event\n")
    return path


def test_pyspark_is_not_imported(dataset: Path) -> None:
    """An installation of the extra duckdb has neither PySpark nor a Java."""
    command = ("spark", "analyse", "unavailability", str(dataset), "--output", "json", "--engine", "duckdb")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *command], capture_output=True, text=True, timeout=ENOUGH_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["run"], row["from_ms"], row["to_ms"]) for row in rows if row["run"] == "leader-dies"] == [
        ("leader-dies", 100, 160)
    ]


def test_all_writes_a_folder_for_each_analysis_and_overwrites_nothing(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "findings"
    result = run("analyse", "all", dataset, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert sorted(folder.name for folder in out.iterdir()) == sorted(ANALYSES)
    assert pq.read_table(out / "unavailability").num_rows == 3
    again = run("analyse", "all", dataset, "--out", out)
    assert (again.exit_code, f"{out} exists" in again.stderr) == (64, True)


def test_a_report_is_written(dataset: Path, tmp_path: Path) -> None:
    result = run("report", dataset, "-o", tmp_path / "page.html")
    assert result.exit_code == 0, result.stderr
    assert "leader-dies" in (tmp_path / "page.html").read_text()


def test_what_is_no_event_in_a_trace_is_counted(trace: Path) -> None:
    zipped = trace.with_name("zipped.jsonl.gz")
    zipped.write_bytes(gzip.compress(trace.read_bytes()))
    result = run("analyse", "unavailability", trace, zipped, "--output", "json")
    assert without_progress(result.stderr) == "2 records are no events, and count nowhere: kcsim spark ingest reports why\n"
    assert {row["run"] for row in json.loads(result.stdout)["rows"]} <= {"leader-dies", "zipped"}


def test_a_file_of_a_dataset_that_cannot_be_read_is_named_and_the_others_count(dataset: Path) -> None:
    broken = dataset / "events" / "batch=by hand" / "part-1.parquet"
    broken.write_bytes(b"PAR1")
    result = run("analyse", "elections", dataset)
    assert result.exit_code == 0
    assert without_progress(result.stderr).startswith(f"{broken}: not read: ")


@pytest.mark.parametrize("option", [("--master", "local[2]"), ("--conf", "spark.ui.enabled=true")])
def test_options_of_spark_are_refused(dataset: Path, option: tuple[str, str]) -> None:
    result = run("analyse", "elections", dataset, *option)
    assert (result.exit_code, "are for Spark" in result.stderr) == (64, True)


def test_what_is_not_there_is_refused(dataset: Path, tmp_path: Path) -> None:
    missing = run("analyse", "elections", tmp_path / "nothing")
    assert (missing.exit_code, "no such file or folder" in missing.stderr) == (64, True)
    without = run("analyse", "elections", dataset, "--transitions", tmp_path)
    assert (without.exit_code, "has no table of transitions" in without.stderr) == (64, True)
    (tmp_path / "empty.jsonl").touch()
    empty = run("analyse", "elections", tmp_path / "empty.jsonl")
    assert (empty.exit_code, "there are no events in" in empty.stderr) == (2, True)
