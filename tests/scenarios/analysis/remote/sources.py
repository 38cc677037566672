"""What the commands read that is no dataset: traces, ZooKeeper's files, Kafka's log files; and a half-written dataset."""

import gzip
import shutil
from pathlib import Path

from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app
from tests.brokers.apache_kafka.log_import.recordings import RECORDINGS
from tests.brokers.cluster.histories import random_run
from tests.scenarios.analysis.synthetic_traces import BROKEN, NEWER, event, started, written


def write_sources(root: Path) -> None:
    """Write them into a folder."""
    traces = root / "traces"
    traces.mkdir()
    run = ["run", "broker-crash-and-return", "--zookeeper", "simulated", "--trace", str(traces / "run1.jsonl")]
    assert CliRunner().invoke(app, run).exit_code == 0
    events = [started(), *(event(n, topic="orders", partition=n % 7, count=n) for n in range(1, 200))]
    written(traces / "run2.parquet", events)
    (traces / "run3.jsonl.gz").write_bytes(gzip.compress(written(root / "run3.jsonl", events).read_bytes()))
    (traces / "broken.jsonl").write_bytes(b"".join(BROKEN))
    (root / "newer.jsonl").write_bytes(NEWER)
    (root / "zookeeper").mkdir()
    random_run(root / "zookeeper", 3)
    shutil.copytree(RECORDINGS / "kill-leader", root / "kafka")
    half = root / "half" / "events" / "batch=b"
    half.mkdir(parents=True)
    written(half / "part-00000.parquet", events)
