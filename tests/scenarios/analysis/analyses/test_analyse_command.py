"""kcsim spark analyse: what it prints, what it writes, and its exit status."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.analysis.analyses import catalogue
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.spark.analyse_text import as_csv, table_lines
from tests.scenarios.analysis.analyses.handwritten_runs import leader_dies, stopped_together
from tests.scenarios.analysis.analyses.stories import written

FEW = ("elections", "unavailability")


def analyse(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["spark", "analyse", *map(str, arguments)])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of two runs; in one of them the leader is dead from 100 to 160."""
    return written(tmp_path_factory.mktemp("histories") / "history", [leader_dies(), stopped_together()])


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_table_has_the_worst_on_top_and_says_when_there_is_more(dataset: Path) -> None:
    result = analyse("unavailability", dataset, "--limit", 1)
    header, first = result.stdout.splitlines()[-2:]
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("batch by hand, run stopped-together\n")
    assert header.split()[:5] == ["topic", "partition", "from", "duration", "open"]
    assert first.split() == ["orders", "1", "26", "ms", "74", "ms", "yes", "leader", "lost", "2", "-"]
    assert "there are more than 1" in result.stderr
    assert "not shown: to_ms (--all-columns)" in result.stderr


@pytest.mark.usefixtures("spark")
def test_json_has_an_object_for_each_row(dataset: Path) -> None:
    document = json.loads(analyse("elections", dataset, "--output", "json").stdout)
    assert (document["analysis"], document["more"]) == ("elections", False)
    assert [field.name for field in ANALYSES["elections"].fields] == list(document["rows"][0])
    assert sum(row["elections"] for row in document["rows"]) == 5


@pytest.mark.parametrize("name", ANALYSES)
def test_a_printed_table_has_at_most_eight_columns_unless_all_are_asked_for(name: str) -> None:
    analysis = ANALYSES[name]
    row = dict.fromkeys((field.name for field in analysis.fields), None)
    shown, everything = (next(iter(list(table_lines(analysis, [row], with_details))[1:])) for with_details in (False, True))
    assert len(shown.split()) <= 8
    assert len(everything.split()) == len(analysis.fields) - 2, "batch and run stand above the table"


def test_times_are_printed_in_the_units_that_people_use() -> None:
    row = dict.fromkeys((field.name for field in ANALYSES["unavailability"].fields), None)
    *_, line = table_lines(ANALYSES["unavailability"], [{**row, "partition": 12, "duration_ms": 84_139_057}])
    assert line.split() == ["-", "12", "-", "23", "h", "22", "min", "-", "-", "-", "-"]


def test_csv_has_a_line_for_each_row_and_spaces_within_a_list() -> None:
    analysis = ANALYSES["recoveries"]
    row = {field.name: None for field in analysis.fields} | {"fault": "stop, both", "brokers": [1, 2], "fault_ms": 20}
    read = next(csv.DictReader(io.StringIO(as_csv(analysis, [row]))))
    assert (read["fault"], read["brokers"], read["fault_ms"], read["to_leader_ms"]) == ("stop, both", "1 2", "20", "")


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("names", [FEW, pytest.param(tuple(ANALYSES), marks=pytest.mark.nightly)], ids=["few", "all"])
def test_all_writes_a_folder_for_each_analysis_and_overwrites_nothing(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    monkeypatch.setattr(catalogue, "ANALYSES", {name: ANALYSES[name] for name in names})
    out = tmp_path / "findings"
    result = analyse("all", dataset, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert sorted(folder.name for folder in out.iterdir()) == sorted(names)
    assert pq.read_table(out / "unavailability").num_rows == 3
    again = analyse("all", dataset, "--out", out)
    assert again.exit_code == 64
    assert f"{out} exists" in again.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_history_without_events_cannot_be_analysed(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    result = analyse("elections", tmp_path / "empty.jsonl")
    assert result.exit_code == 2
    assert "there are no events in" in result.stderr


def test_the_list_names_every_analysis_and_each_can_be_described() -> None:
    listed = analyse("--list").stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == list(ANALYSES)
    for name, analysis in ANALYSES.items():
        lines = analyse("--describe", name).stdout.splitlines()
        assert lines[0] == f"{name}: {analysis.question}"
        assert [line.split()[0] for line in lines[-len(analysis.fields) :]] == [field.name for field in analysis.fields]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["avalability", "x"], "did you mean availability?"),
        (["--describe", "ellections"], "did you mean elections?"),
        (["availability"], "kcsim spark analyse NAME DATASET"),
        (["all", "x"], "give a directory with --out DIR"),
        (["health", "x", "--since", "5 minutes"], "--since: '5 minutes' is no duration"),
        (["health", "x", "--since", "2h", "--until", "1h"], "there is nothing between it and --until"),
        (["health", "x", "--bucket", "0s"], "--bucket: 0 is no width"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_starts(arguments: list[str], message: str) -> None:
    result = analyse(*arguments)
    assert result.exit_code == 64
    assert message in result.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_what_is_not_there_is_refused(tmp_path: Path, dataset: Path) -> None:
    missing = analyse("elections", tmp_path / "nothing")
    assert (missing.exit_code, "no such file or folder" in missing.stderr) == (64, True)
    without = analyse("elections", dataset, "--transitions", tmp_path)
    assert without.exit_code == 64
    assert "has no table of transitions" in without.stderr
