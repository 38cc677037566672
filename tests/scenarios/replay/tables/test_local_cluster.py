"""Executors of their own, each a JVM: the same result as in one process, also when one of them is killed in the middle.

It takes a minute, and Spark starts the executors itself, for which it needs a full Java: KCSIM_SPARK_CLUSTER=1 asks for it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from kcsim.scenarios.cli import app
from tests.requirements import require
from tests.scenarios.replay import cluster_job
from tests.scenarios.replay.made_up_traces import event, started, written

SECONDS = 400

pytestmark = pytest.mark.skipif(
    not os.environ.get("KCSIM_SPARK_CLUSTER"), reason="takes a minute: KCSIM_SPARK_CLUSTER=1 runs it"
)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """A run with elections in it, thirty made-up ones, and one that is broken."""
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
    told: list[object] = json.loads(done.stdout)
    return told


def test_executors_of_their_own_give_what_one_process_gives_also_if_one_is_killed(
    spark: SparkSession, traces: Path, tmp_path: Path
) -> None:
    require("java")
    here = json.loads(json.dumps(cluster_job.results(spark, traces, tmp_path / "here")))
    histories, transitions, rejects, done, files = here
    assert (len(histories) > 200, len(transitions) > 5, rejects) == (True, True, 1)
    assert (len(files) > 6, done[-2:]) == (True, [0, 0])
    assert in_cluster(traces, tmp_path / "there") == here
    killed = tmp_path / "killed"
    assert in_cluster(traces, tmp_path / "again", killed) == here
    assert len(killed.read_text().split()) == 2
