"""Separate executors, each a JVM: the result is that of one process, also when an executor is killed in the middle.

Spark starts the executors itself, for which it needs a JDK.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app
from tests.requirements import require
from tests.scenarios.analysis import cluster_job
from tests.scenarios.analysis.synthetic_traces import event, started, written

SECONDS = 1_200

pytestmark = pytest.mark.slow


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Return a directory with the trace of a run with elections, thirty synthetic traces, and a broken one."""
    (tmp_path / "traces").mkdir()
    run = ["run", "broker-crash-and-return", "--zookeeper", "simulated", "--trace", str(tmp_path / "traces" / "crash.jsonl")]
    assert CliRunner().invoke(app, run).exit_code == 0
    for number in range(30):
        events = [event(n, topic="orders", partition=n % 7, count=number * n) for n in range(1, 200)]
        written(tmp_path / "traces" / f"run{number}.jsonl", [started(), *events])
    (tmp_path / "traces" / "broken.jsonl").write_bytes(b"garbage\n")
    return tmp_path / "traces"


def in_cluster(traces: Path, *paths: Path) -> list[object]:
    command = [sys.executable, "-m", cluster_job.__name__, "local-cluster[2,1,1024]", *map(str, (traces, *paths))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    output: list[object] = json.loads(done.stdout)
    return output


def test_executors_of_their_own_give_what_one_process_gives_also_if_one_is_killed(
    spark: SparkSession, traces: Path, tmp_path: Path
) -> None:
    require("jdk")
    here = json.loads(json.dumps(cluster_job.results(spark, traces, tmp_path / "here")))
    histories, transitions, rejects, done, files = here
    assert (len(histories) > 200, len(transitions) > 5, rejects) == (True, True, 1)
    assert (len(files) > 6, done[-2:]) == (True, [0, 0])
    assert in_cluster(traces, tmp_path / "there") == here
    killed = tmp_path / "killed"
    assert in_cluster(traces, tmp_path / "again", killed) == here
    assert len(killed.read_text().split()) == 2
