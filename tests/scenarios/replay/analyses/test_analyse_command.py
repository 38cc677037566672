"""kcsim spark analyse: what it prints, what it writes, and how it ends."""

import csv
import io
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli import app
from kcsim.scenarios.commands.spark.analyse_text import as_csv
from kcsim.scenarios.replay.analyses import catalogue
from kcsim.scenarios.replay.analyses.catalogue import ANALYSES
from kcsim.scenarios.replay.folding.transition import transitions_arrow_schema
from kcsim.scenarios.replay.tables.events_table import events_arrow_schema
from tests.scenarios.replay.analyses.by_hand import leader_dies, stopped_together
from tests.scenarios.replay.analyses.stories import Row

WHOLE = "KCSIM_ANALYSES_ALL"
FEW = ("controllers", "unavailability")


def analyse(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["spark", "analyse", *map(str, arguments)])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs; of one the leader is dead from 100 to 160."""
    folder = tmp_path_factory.mktemp("history")
    stories = [leader_dies(), stopped_together()]
    _write(folder / "events", [row for story in stories for row in story.events], events_arrow_schema())
    _write(folder / "transitions", [row for story in stories for row in story.transitions], transitions_arrow_schema())
    return folder


def _write(table: Path, rows: list[Row], schema: pa.Schema) -> None:
    (table / "batch=by hand").mkdir(parents=True)
    written = pa.Table.from_pylist(rows, schema=schema).drop_columns("batch")
    pq.write_table(written, table / "batch=by hand" / "part-0.parquet")


@pytest.mark.usefixtures("spark")
def test_a_table_has_the_worst_on_top_and_says_when_there_is_more(dataset: Path) -> None:
    told = analyse("unavailability", dataset, "--limit", 1)
    header, first = told.stdout.splitlines()[-2:]
    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith("batch by hand, run stopped-together\n")
    assert header.split()[:5] == ["topic", "partition", "from_ms", "to_ms", "duration_ms"]
    assert first.split() == ["orders", "1", "26", "100", "74", "yes", "leader", "lost", "2", "-"]
    assert "there are more than 1" in told.stderr


@pytest.mark.usefixtures("spark")
def test_json_has_an_object_for_each_row(dataset: Path) -> None:
    told = json.loads(analyse("elections", dataset, "--output", "json").stdout)
    assert (told["analysis"], told["more"]) == ("elections", False)
    assert [field.name for field in ANALYSES["elections"].fields] == list(told["rows"][0])
    assert sum(row["elections"] for row in told["rows"]) == 5


def test_csv_has_a_line_for_each_row_and_spaces_within_a_list() -> None:
    analysis = ANALYSES["recoveries"]
    row = {field.name: None for field in analysis.fields} | {"fault": "stop, both", "brokers": [1, 2], "fault_ms": 20}
    read = next(csv.DictReader(io.StringIO(as_csv(analysis, [row]))))
    assert (read["fault"], read["brokers"], read["fault_ms"], read["to_leader_ms"]) == ("stop, both", "1 2", "20", "")


@pytest.mark.usefixtures("spark")
def test_all_writes_a_folder_for_each_analysis_and_overwrites_nothing(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them here; with KCSIM_ANALYSES_ALL=1 every one."""
    names = tuple(ANALYSES) if os.environ.get(WHOLE) else FEW
    monkeypatch.setattr(catalogue, "ANALYSES", {name: ANALYSES[name] for name in names})
    out = tmp_path / "findings"
    told = analyse("all", dataset, "--out", out)
    assert told.exit_code == 0, told.stderr
    assert sorted(folder.name for folder in out.iterdir()) == sorted(names)
    assert pq.read_table(out / "unavailability").num_rows == 3
    again = analyse("all", dataset, "--out", out)
    assert again.exit_code == 64
    assert f"{out} exists" in again.stderr


@pytest.mark.usefixtures("spark")
def test_a_history_without_events_cannot_be_told_about(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    told = analyse("elections", tmp_path / "empty.jsonl")
    assert told.exit_code == 2
    assert "there are no events in" in told.stderr


def test_the_list_names_every_analysis_and_each_can_be_described() -> None:
    listed = analyse("--list").stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == list(ANALYSES)
    for name, analysis in ANALYSES.items():
        lines = analyse("--describe", name).stdout.splitlines()
        assert lines[0] == f"{name}: {analysis.question}"
        assert [line.split()[0] for line in lines[-len(analysis.fields) :]] == [field.name for field in analysis.fields]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["avalability", "x"], "did you mean availability?"),
        (["--describe", "ellections"], "did you mean elections?"),
        (["availability"], "kcsim spark analyse NAME DATASET"),
        (["all", "x"], "say --out DIR"),
        (["health", "x", "--since", "5 minutes"], "--since: '5 minutes' is no duration"),
        (["health", "x", "--since", "2h", "--until", "1h"], "there is nothing between it and --until"),
        (["health", "x", "--bucket", "0s"], "--bucket: 0 is no width"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_starts(arguments: list[str], said: str) -> None:
    told = analyse(*arguments)
    assert told.exit_code == 64
    assert said in told.stderr


@pytest.mark.usefixtures("spark")
def test_what_is_not_there_is_refused(tmp_path: Path, dataset: Path) -> None:
    missing = analyse("elections", tmp_path / "nothing")
    assert (missing.exit_code, "no such file or folder" in missing.stderr) == (64, True)
    without = analyse("elections", dataset, "--transitions", tmp_path)
    assert without.exit_code == 64
    assert "has no table of transitions" in without.stderr
