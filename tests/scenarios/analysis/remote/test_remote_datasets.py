"""The pipeline on S3 and on HDFS: every command gives what it gives on this machine's disk."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.tables.location import RemotePath, location
from tests.requirements import HADOOP, require
from tests.scenarios.analysis.progress_lines import without_progress
from tests.scenarios.analysis.remote import commands_job
from tests.scenarios.analysis.remote.servers import BUCKET, hdfs_cluster, s3_server_with_a_bucket
from tests.scenarios.analysis.remote.sources import write_sources

SECONDS = 1_800
HELD, FAILED, USAGE = 0, 2, 64

pytestmark = pytest.mark.slow

SIZE = ("--brokers", "6", "--topics", "5", "--partitions", "40", "--days", "20")
JSON_OF_DUCKDB = ("--output", "json", "--engine", "duckdb")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "generate": ("generate", "-o", "{root}/history", *SIZE, "--output", "json"),
    "generate again": ("generate", "-o", "{root}/history", *SIZE),
    "replay": ("replay", "{root}/history", "-o", "{root}/replayed", "--output", "json"),
    "replay traces": ("replay", "{root}/traces/run1.jsonl", "-o", "{root}/of-traces", "--output", "json"),
    "version 0": ("replay", "{root}/history", "-o", "{root}/versions", "--format", "delta", "--output", "json"),
    "version 1": ("replay", "{root}/traces/run1.jsonl", "-o", "{root}/versions", "--format", "delta", "--output", "json"),
    "ingest": ("ingest", "{root}/traces/*.jsonl*", "{root}/traces/run2.parquet", "-o", "{root}/runs", "--batch", "a b:c"),
    "zookeeper": ("import", "zookeeper", "east={root}/zookeeper", "-o", "{root}/march", "--output", "json"),
    "kafka": ("import", "kafka-logs", "{root}/kafka", "-o", "{root}/april", "--output", "json"),
    "analyse": ("analyse", "availability", "{root}/history", "--transitions", "{root}/replayed", "--output", "json"),
    "analyse on DuckDB": (
        *("analyse", "availability", "{root}/history", "--transitions", "{root}/replayed", *JSON_OF_DUCKDB),
    ),
    "analyse a version": (
        "analyse",
        "availability",
        "{root}/history",
        "--transitions",
        "{root}/versions@v0",
        *JSON_OF_DUCKDB,
    ),
    "write": ("analyse", "elections", "{root}/history", "--out", "{root}/found"),
    "write on DuckDB": ("analyse", "elections", "{root}/history", "--out", "{root}/found-2", "--engine", "duckdb"),
    "report": ("report", "{root}/runs", "-o", "{root}/page.html", "--engine", "duckdb"),
    "explore": ("explore", "--seeds", "2", "-o", "{root}/campaign", "--traces", "all", "--cases", "{here}/cases"),
    "odds": ("odds", "--dataset", "{root}/campaign", "--scenarios", "{here}/worst", "--output", "json"),
    "half-written": ("replay", "{root}/half", "-o", "{root}/of-half"),
    "half-written on DuckDB": ("analyse", "elections", "{root}/half", "--engine", "duckdb"),
    "newer version": ("analyse", "elections", "{root}/newer.jsonl"),
    "nothing": ("analyse", "elections", "{root}/nothing"),
}
ON_DISK, IN_S3, IN_HDFS = "disk", "s3", "hdfs"


class Ended(NamedTuple):
    """How a command ended. In its outputs the root is written `ROOT`."""

    status: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The output as JSON, without what differs from one time to the next."""
        return {key: value for key, value in json.loads(self.stdout).items() if key != "seconds"}


class FileSystems(NamedTuple):
    """The root of the datasets on disk and in another file system, and how each command ended there."""

    roots: Mapping[str, str]
    ended: Mapping[str, Mapping[str, Ended]]

    @property
    def remote(self) -> str:
        """The name of the other file system."""
        return next(name for name in self.roots if name != ON_DISK)


@pytest.fixture(scope="module", params=[IN_S3, pytest.param(IN_HDFS, marks=pytest.mark.nightly)])
def done(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[FileSystems]:
    """Run all commands on disk and in the other file system."""
    require("java", "hadoop")
    here, disk = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("disk")
    write_sources(disk)
    with remote_root(request.param, tmp_path_factory) as root:
        copy(disk, root)
        roots = {ON_DISK: str(disk), request.param: root}
        yield FileSystems(roots, run_all(roots, here))


@contextmanager
def remote_root(name: str, directories: pytest.TempPathFactory) -> Iterator[str]:
    """Start the servers of a file system, and yield the address of a folder there."""
    if name == IN_HDFS:
        with hdfs_cluster(directories.mktemp("hdfs")) as hdfs:
            yield f"{hdfs}/deep/er"
        return
    with s3_server_with_a_bucket() as variables, pytest.MonkeyPatch.context() as patch:
        for variable, value in variables.items():
            patch.setenv(variable, value)
        yield f"s3a://{BUCKET}/deep/er"


def copy(folder: Path, to: str) -> None:
    from pyarrow.fs import LocalFileSystem, copy_files

    target = location(to)
    assert isinstance(target, RemotePath)
    target.mkdir()
    copy_files(str(folder), target.inner, LocalFileSystem(), target.filesystem)


def run_all(roots: Mapping[str, str], here: Path) -> dict[str, dict[str, Ended]]:
    classes = ":".join(map(str, HADOOP.glob("*.jar")))
    given = [(name, command) for name in roots for command in COMMANDS]
    commands = [
        ["spark", *(word.format(root=roots[name], here=here) for word in COMMANDS[command])] for name, command in given
    ]
    job = {"conf": {"spark.driver.extraClassPath": classes}, "commands": commands}
    program = [sys.executable, "-m", commands_job.__name__]
    ran = subprocess.run(program, input=json.dumps(job), capture_output=True, text=True, timeout=SECONDS, env=os.environ)
    assert ran.returncode == 0, ran.stderr
    ended: dict[str, dict[str, Ended]] = {name: {} for name in roots}
    for (name, command), (status, *outputs) in zip(given, json.loads(ran.stdout), strict=True):
        ended[name][command] = Ended(status, *(text.replace(roots[name], "ROOT") for text in outputs))
    return ended


def names_below(root: str) -> Sequence[str]:
    """Return the names of all files below a root, from there on."""
    found = location(root)
    return sorted(str(file).removeprefix(root) for file in found.rglob("*") if file.is_file())


@pytest.mark.parametrize("command", [command for command in COMMANDS if not command.startswith("half-written")])
def test_a_command_ends_as_it_does_on_disk(done: FileSystems, command: str) -> None:
    there, here = done.ended[done.remote][command], done.ended[ON_DISK][command]
    assert there.status == here.status, there.stderr
    if here.stdout.startswith("{"):
        assert there.document == here.document
    elif "seconds" not in here.stdout:
        assert there.stdout == here.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_on_disk_only_what_cannot_be_read_fails(done: FileSystems, command: str) -> None:
    """The other tests compare with the disk: this one shows that the commands do something there."""
    refused = {"generate again": USAGE, "newer version": FAILED, "nothing": USAGE}
    if not command.startswith("half-written"):  # on disk, a dataset has its name only when it is whole
        ended = done.ended[ON_DISK][command]
        assert ended.status == refused.get(command, HELD), ended


@pytest.mark.parametrize("command", ["half-written", "half-written on DuckDB"])
def test_a_half_written_dataset_is_refused_in_one_line(done: FileSystems, command: str) -> None:
    ended = done.ended[done.remote][command]
    assert (ended.status, ended.stdout) == (USAGE, "")
    assert without_progress(ended.stderr) == "ROOT/half is half-written: there is no _SUCCESS in it, which is written last\n"


def test_what_spark_lacks_is_named_with_what_brings_it(spark: SparkSession, done: FileSystems) -> None:
    """The session of the other tests has no client of S3 in its class path."""
    if done.remote != IN_S3:
        pytest.skip("Spark itself has the client of HDFS")
    ended = commands_job.run(["spark", "analyse", "elections", f"{done.roots[IN_S3]}/history"])
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.util.VersionInfo.getVersion()  # type: ignore[union-attr]
    (line,) = ended[2].splitlines()
    assert ended[:2] == [USAGE, ""]
    assert line.endswith(f"; --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:{hadoop} brings it")


def test_no_unfinished_file_and_no_claim_is_left(done: FileSystems) -> None:
    found = names_below(done.roots[done.remote])
    assert not [file for file in found if "_writing" in file or "/." in file or ".partial" in file or "_temporary" in file]
    whole = {file.split("/")[1] for file in found if file.count("/") == 2 and file.endswith("/_SUCCESS")}
    assert whole == {
        *("history", "replayed", "of-traces", "runs", "march", "april", "found", "found-2", "campaign"),
    }


@pytest.mark.parametrize("dataset", ["history", "replayed"])
def test_the_files_that_tasks_write_are_the_same_byte_for_byte(done: FileSystems, dataset: str) -> None:
    here, there = (location(f"{done.roots[place]}/{dataset}") for place in (ON_DISK, done.remote))
    files = [file for file in names_below(str(here)) if file.endswith(".parquet")]
    assert files
    for file in files:
        with location(f"{here}{file}").open("rb") as one, location(f"{there}{file}").open("rb") as other:
            assert one.read() == other.read(), file


def test_the_page_is_the_same(done: FileSystems) -> None:
    here, there = (location(f"{done.roots[place]}/page.html") for place in (ON_DISK, done.remote))
    assert there.read_text(encoding="utf-8") == here.read_text(encoding="utf-8")
