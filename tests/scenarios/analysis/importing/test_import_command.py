"""kcsim spark import as a user sees it: what it writes, what it reports, and which inputs it refuses."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli.app import app
from tests.brokers.apache_kafka.log_import.recordings import RECORDINGS
from tests.brokers.cluster.histories import random_run
from tests.scenarios.analysis.importing.event_log_comparison import differences, renumbered, runs_of
from tests.scenarios.analysis.importing.zookeeper.logs import in_one_go, rewritten
from tests.scenarios.analysis.progress_lines import without_progress

FAILED, USAGE = 2, 64
KILL_LEADER = RECORDINGS / "kill-leader"


def kcsim_import(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["spark", "import", *map(str, arguments)])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("log")
    random_run(directory, 3)
    return directory


def test_zookeepers_logs_become_a_dataset(spark: SparkSession, log: Path, tmp_path: Path) -> None:
    """Members of one ensemble are imported under one name; a transaction that both have counts once."""
    copy = rewritten(log, tmp_path / "copy")
    done = kcsim_import("zookeeper", f"east={log}", f"east={copy}", "-o", tmp_path / "march", "--batch", "march")
    assert done.exit_code == 0, done.stderr
    (found,) = runs_of(spark.read.parquet(str(tmp_path / "march" / "events"))).values()
    wanted = in_one_go(log)
    assert differences(renumbered(found)[1:], wanted[1:]) == []
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{tmp_path / 'march'}: run east of batch march: {len(wanted)} events of ")
    assert "          1 RunStarted" in lines


@pytest.mark.slow
def test_kafka_s_logs_become_a_dataset_and_programs_can_read_what_was_found(spark: SparkSession, tmp_path: Path) -> None:
    done = kcsim_import("kafka-logs", KILL_LEADER, "-o", tmp_path / "march", "--zone", "+02:00", "--output", "json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    (run,) = document["runs"]
    assert (run["run"], run["batch"], run["zone"]) == ("cluster", "2026-11-21", "+02:00")
    assert run["begins"] == "2026-11-21T03:13:36.851Z"
    assert run["controllers"] == [{"broker": 1, "epoch": 1}]
    assert run["events"] == sum(run["kinds"].values()) == spark.read.parquet(str(tmp_path / "march" / "events")).count()
    assert document["rejects"] == {}


# --- refusals --------------------------------------------------------------------------------------------------------------


def refusal(status: int, *arguments: object) -> str:
    """Return the single line that a refused import prints."""
    done = kcsim_import(*arguments)
    assert (done.exit_code, done.stdout) == (status, ""), done.stderr
    (line,) = without_progress(done.stderr).splitlines()
    return line


def test_what_exists_is_not_written_over(log: Path, tmp_path: Path) -> None:
    (tmp_path / "march").mkdir()
    for what in (["zookeeper", log], ["kafka-logs", KILL_LEADER]):
        assert "march exists, and nothing is overwritten" in refusal(USAGE, *what, "-o", tmp_path / "march")
    assert list((tmp_path / "march").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["zookeeper", "{here}"], "has no transaction log (log.…) in it"),
        (["zookeeper", "east={here}/none"], "none: no such directory"),
        (["zookeeper", "{log}", "{log}", "--log-dir", "{log}"], "--log-dir: it is for one DIR"),
        (["zookeeper", "{log}", "--to", "noon"], "--to: 'noon' is not a zxid"),
        (["zookeeper", "{log}", "--chroot", "kafka"], "--chroot: 'kafka' does not begin with /"),
        (["kafka-logs", "{here}"], "it and its subdirectories hold no log of Kafka"),
        (["kafka-logs", "a={here}/none.log"], "none.log: there is no such file or directory"),
        (["kafka-logs", "{here}", "--zone", "Mars/Olympus"], "--zone: 'Mars/Olympus' is no time zone"),
        (["kafka-logs", "{here}", "--batch", " "], "--batch: ' ' is no name of a batch"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_begins(
    arguments: list[str], why: str, log: Path, tmp_path: Path
) -> None:
    given = [argument.format(here=tmp_path, log=log) for argument in arguments]
    assert why in refusal(USAGE, *given, "-o", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_snapshot_in_place_of_a_log_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "data" / "log.1"
    path.parent.mkdir()
    path.write_bytes(b"ZKSN" + bytes(60))
    line = refusal(FAILED, "zookeeper", path.parent, "-o", tmp_path / "out")
    assert line.startswith(f"kcsim: {path}, offset 0: no transaction log of version 2, it begins 5a4b534e")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_another_program_s_log_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "controller.log"
    path.write_text("10:15:32.101 INFO some other layout\n" * 3)
    line = refusal(USAGE, "kafka-logs", path, "-o", tmp_path / "out")
    assert line.startswith(f"{path}: 3 lines, and none begins as Kafka's records do")
    assert [path.name for path in tmp_path.iterdir()] == ["controller.log"]
