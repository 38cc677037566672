"""Histories generated in parallel, and kcsim spark generate as a user sees it."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from kcsim.scenarios.analysis.generate import SETTINGS_FILE, GeneratedDataset, generate, generate_dataset
from kcsim.scenarios.analysis.generating import portions
from kcsim.scenarios.analysis.generating.rows import batches_of_events, batches_of_rows
from kcsim.scenarios.analysis.tables.dataset import PathExistsError
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.analysis.tables.reading import read_events
from kcsim.scenarios.cli.app import app
from tests.scenarios.analysis.generating.histories import ROUGH, made

FILES = 9
FOLDER = f"events/batch={ROUGH.batch}"


@pytest.fixture(scope="module")
def dataset(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GeneratedDataset]:
    """Return the dataset of the rough history, generated in many more tasks than its size needs."""
    path = tmp_path_factory.mktemp("generate") / "history"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(portions, "ROWS_OF_A_SMALL_FILE", len(made(ROUGH).rows) // (FILES - 1))
        return path, generate_dataset(spark, ROUGH, path)


def in_one_process() -> pa.Table:
    """Return the same history generated in this process: the cluster's events first, then those of topics and partitions."""
    names = ROUGH.batch, ROUGH.run
    batches = [*batches_of_events(made(ROUGH).of_cluster, *names), *batches_of_rows(made(ROUGH).rows, *names)]
    return pa.Table.from_batches(batches)


@pytest.mark.slow
def test_many_tasks_make_what_one_process_makes(dataset: tuple[Path, GeneratedDataset]) -> None:
    files = sorted((dataset[0] / FOLDER).glob("*"))
    table = pa.concat_tables([pq.ParquetFile(file).read() for file in files])
    assert len(files) == dataset[1].files > 4
    assert table.sort_by("seq").equals(in_one_process().drop_columns(["batch"]).sort_by("seq"))


@pytest.mark.slow
def test_a_file_holds_whole_histories_in_order(dataset: tuple[Path, GeneratedDataset]) -> None:
    """A program that reads a dataset in the order of its files need not sort it, nor look into another file for the rest.

    Rows without a partition come last, in row groups of their own.
    """
    seen: set[tuple[str | None, int | None]] = set()
    for file in sorted((dataset[0] / FOLDER).glob("*")):
        rows = pq.ParquetFile(file).read(columns=["topic", "partition", "t_ms", "seq"]).to_pylist()
        places = [(r["partition"] is None, r["topic"] or "", r["partition"] or 0, r["t_ms"], r["seq"]) for r in rows]
        assert places == sorted(places)
        assert all(mixed in (0, group.num_rows) for group, mixed in groups_of(file))
        of_file = {(row["topic"], row["partition"]) for row in rows}
        assert seen.isdisjoint(of_file)
        seen |= of_file


def groups_of(file: Path) -> list[tuple[Any, int]]:
    """Return the row groups of a file, each with the number of its rows that have no partition."""
    with pq.ParquetFile(file) as read:
        groups = [read.metadata.row_group(n) for n in range(read.num_row_groups)]
        return [(group, read.read_row_group(n, ["partition"]).column(0).null_count) for n, group in enumerate(groups)]


@pytest.mark.slow
def test_what_was_made_is_counted(dataset: tuple[Path, GeneratedDataset]) -> None:
    path, counted = dataset
    assert counted.events == Counter(str(event.kind) for event in made(ROUGH).events)
    assert counted.total == len(made(ROUGH).events)
    assert counted.bytes == sum(file.stat().st_size for file in (path / FOLDER).glob("*"))


@pytest.mark.slow
def test_a_dataset_says_how_it_was_made_and_has_nothing_else(dataset: tuple[Path, GeneratedDataset]) -> None:
    assert json.loads((dataset[0] / SETTINGS_FILE).read_text()) == ROUGH.as_json()
    assert {path.name for path in dataset[0].iterdir()} == {SETTINGS_FILE, "events"}
    assert {path.name for path in dataset[0].parent.iterdir()} == {"history"}


@pytest.mark.slow
def test_the_dataset_is_read_without_a_reject(spark: SparkSession, dataset: tuple[Path, GeneratedDataset]) -> None:
    events, rejects = read_events(spark, dataset[0])
    assert rejects.isEmpty()
    assert [tuple(row) for row in events.select("batch", "run").distinct().collect()] == [(ROUGH.batch, ROUGH.run)]


@pytest.mark.slow
def test_a_table_of_events_is_the_same_history(spark: SparkSession) -> None:
    """A program of a user's own can use the table without files."""
    table = generate(spark, ROUGH).toArrow().cast(events_arrow_schema())
    assert table.equals(in_one_process())


@pytest.mark.slow
def test_a_dataset_that_exists_is_left_alone(spark: SparkSession, dataset: tuple[Path, GeneratedDataset]) -> None:
    with pytest.raises(PathExistsError):
        generate_dataset(spark, replace(ROUGH, seed=10), dataset[0])
    assert json.loads((dataset[0] / SETTINGS_FILE).read_text())["seed"] == ROUGH.seed


# --- the command -----------------------------------------------------------------------------------------------------------


def command(*arguments: Path | str) -> Result:
    return CliRunner().invoke(app, ["spark", "generate", *map(str, arguments)])


SMALL = ("--brokers", "3", "--racks", "1", "--topics", "2", "--partitions", "6", "--days", "0.5", "--seed", "3")


def test_a_history_is_made_and_summarized(spark: SparkSession, tmp_path: Path) -> None:
    result = command("-o", tmp_path / "h", *SMALL, "--mtbf", "never", "--batch", "calm", "--output", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    rows = sum(pq.ParquetFile(file).metadata.num_rows for file in (tmp_path / "h/events/batch=calm").glob("*"))
    assert document["events"] == sum(document["by_kind"].values()) == rows
    assert (document["settings"]["mtbf_ms"], document["settings"]["partitions"], document["run"]) == (None, 6, "seed-3")


@pytest.mark.slow
def test_people_are_shown_how_many_events_there_are_of_which_kind(spark: SparkSession, tmp_path: Path) -> None:
    result = command("-o", tmp_path / "h", *SMALL)
    first, *kinds = result.stdout.splitlines()
    total = int(first.removeprefix(f"{tmp_path / 'h'}: ").split()[0])
    assert first.endswith(" events of 0.5 days: 3 brokers, 2 topics, 6 partitions")
    assert sum(int(line.split()[0]) for line in kinds) == total
    assert "events a second" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--brokers", "2", "--racks", "1"], "replication factor 3 is larger than the number of brokers, 2"),
        (["--partitions", "0"], "100 topics need at least as many partitions, not 0"),
        (["--mtbf", "30y"], "--mtbf: '30y' is no duration; write one as 500ms, 30s, 10m, 12h, 30d or 2w, or never"),
        (["--mttr", "never"], "--mttr: 'never' is no duration"),
        (["--mttr", "-10m"], "--mttr: '-10m' is no duration"),
        (["--mtbf", "5s"], "mtbf must be at least an hour"),
        (["--days", "-1"], "--days: -1 is no time"),
        (["--days", "nan"], "--days: nan is no time"),
        (["--days", "0.01"], "--days: a history lasts an hour at least"),
        (["--days", "3", "--events", "1000"], "--days or --events"),
        (["--events", "20"], "--events: 20 events are too few"),
        (["--isr-flaps", "-1"], "the rate of ISR flaps"),
        (["--unclean", "2"], "the share of unclean topics"),
        (["--batch", "a/b"], "the batch must have a name"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_before_any_work(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcsim.scenarios.cli.spark.generate.session", _no_session)
    result = command("-o", tmp_path / "h", *arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_path_that_exists_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcsim.scenarios.cli.spark.generate.session", _no_session)
    result = command("-o", tmp_path)
    assert result.exit_code == 64
    assert "exists, and nothing is overwritten" in result.stderr


def _no_session(*_: object) -> None:
    raise AssertionError("a session was begun")
