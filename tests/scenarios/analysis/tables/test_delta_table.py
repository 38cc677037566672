"""Replays as versions of Delta tables: each can be read, by the analyses and by other readers of Delta tables."""

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from kcsim.scenarios.analysis import replay_dataset
from kcsim.scenarios.analysis.folding.mismatch import mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.durations import DAY_MS
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.tables import delta_table
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.delta_table import DESCRIPTION
from kcsim.scenarios.analysis.tables.reading import read_table
from kcsim.scenarios.cli.app import app
from tests.scenarios.analysis.progress_lines import without_progress

HELD, FAILED, USAGE = 0, 2, 64
SMALL = Settings(brokers=5, racks=1, topics=4, partitions=20, length_ms=20 * DAY_MS, unclean=0.5)

pytestmark = pytest.mark.slow


def kcsim_spark(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["spark", *map(str, arguments)])


def document(*arguments: object) -> Any:
    done = kcsim_spark(*arguments, "--output", "json")
    assert done.exit_code == HELD, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a history, two replays of it as plain datasets, and both as versions of one dataset."""
    folder = tmp_path_factory.mktemp("delta")
    generate_dataset(spark, SMALL, folder / "history")
    changes: dict[str, tuple[str, ...]] = {"plain": (), "plain-unclean": ("--unclean", "on")}
    for version, (name, what_if) in enumerate(changes.items()):
        document("replay", folder / "history", "-o", folder / name, *what_if)
        done = document("replay", folder / "history", "-o", folder / "replayed", "--format", "delta", *what_if)
        assert done["version"] == version
    return folder


def availability(folder: Path, transitions: str, *options: str) -> Any:
    reads = ("availability", folder / "history", "--transitions", folder / transitions)
    return document("analyse", *reads, "--limit", "1000", *options)["rows"]


@pytest.mark.parametrize(
    ("named", "plain"), [("replayed@v0", "plain"), ("replayed@v1", "plain-unclean"), ("replayed", "plain-unclean")]
)
@pytest.mark.parametrize("engine", ["spark", "duckdb"])
def test_a_version_is_analysed_as_the_same_replay_in_plain_files(folder: Path, named: str, plain: str, engine: str) -> None:
    assert availability(folder, named, "--engine", engine) == availability(folder, plain, "--engine", "duckdb")


def test_both_replays_differ(folder: Path) -> None:
    """Otherwise the test of the versions shows nothing."""
    assert availability(folder, "plain", "--engine", "duckdb") != availability(folder, "plain-unclean", "--engine", "duckdb")


@pytest.mark.parametrize("name", ["transitions", "mismatches"])
@pytest.mark.parametrize(("version", "plain"), [(0, "plain"), (1, "plain-unclean")])
def test_another_reader_of_delta_tables_reads_the_same_rows(
    spark: SparkSession, folder: Path, name: str, version: int, plain: str
) -> None:
    schema = {"transitions": transitions_arrow_schema(), "mismatches": mismatches_arrow_schema()}[name]
    found = DeltaTable(folder / "replayed" / name, version).to_pyarrow_table().to_pylist()
    of_plain = Dataset(folder / plain)
    wanted = read_table(spark, of_plain.table(name), schema).collect() if of_plain.has(name) else []
    assert sorted(map(repr, found)) == sorted(repr(row.asDict()) for row in wanted)


def test_the_log_names_what_each_version_is_a_replay_of(folder: Path) -> None:
    described = [json.loads(one[DESCRIPTION]) for one in DeltaTable(folder / "replayed" / "transitions").history()]
    assert [one["of"] for one in described] == [[str(folder / "history")]] * 2
    assert [one["what_if"] and one["what_if"]["unclean"] for one in described] == [True, None]  # the newest comes first


def test_a_replay_that_fails_adds_no_version_and_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted((folder / "replayed").rglob("*"))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replay_dataset, "_first_mismatches", fail)
    done = kcsim_spark("replay", folder / "history", "-o", folder / "replayed", "--format", "delta")
    assert (done.exit_code, "No space left on device" in done.stderr) == (FAILED, True)
    assert sorted((folder / "replayed").rglob("*")) == before


def test_without_deltalake_nothing_is_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_table, "find_spec", lambda name: None)
    done = kcsim_spark("replay", folder / "history", "-o", folder / "none", "--format", "delta")
    assert done.exit_code == USAGE
    assert done.stderr == ("Delta tables need the package deltalake; pip install 'kafka-controller-sim[delta]' brings it\n")
    assert not (folder / "none").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("replay", "{0}/history", "-o", "{0}/replayed"), "replayed exists, and nothing is overwritten"),
        (("replay", "{0}/history", "-o", "{0}/plain", "--format", "delta"), "plain exists, and nothing is overwritten"),
        (("analyse", "elections", "{0}/history", "--transitions", "{0}/replayed@v7"), "has no version 7"),
        (("analyse", "elections", "{0}/history", "--transitions", "{0}/plain@v0"), "no Delta table"),
        (("analyse", "elections", "{0}/history", "--transitions", "{0}/none@v0"), "has no table of transitions"),
    ],
)
def test_what_has_no_versions_is_refused_in_one_line(folder: Path, arguments: tuple[str, ...], why: str) -> None:
    done = kcsim_spark(*(argument.format(folder) for argument in arguments))
    assert (done.exit_code, done.stdout) == (USAGE, "")
    (line,) = without_progress(done.stderr).splitlines()
    assert why in line
