"""ZooKeeper's logs imported on Spark: logs of several clusters at once, into a dataset."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.importing.writing import write_imported
from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import ClusterDataDirectories
from kcsim.scenarios.analysis.importing.zookeeper.import_zookeeper import import_zookeeper
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.zk.files.data_directory import DataDirectory
from tests.brokers.cluster.histories import random_run
from tests.scenarios.analysis.importing.event_log_comparison import differences, renumbered, runs_of
from tests.scenarios.analysis.importing.zookeeper.logs import in_one_go, rewritten
from tests.zk.capture.purged import purged

DAY = "2020-01-01"  # the day on which simulated time begins

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the logs of three clusters: one in many files, one that begins with a snapshot, one with a torn end."""
    directory = tmp_path_factory.mktemp("logs")
    random_run(directory / "east-whole", 3, actions=20)
    rewritten(directory / "east-whole", directory / "east", per_file=9)
    purged(directory / "east-whole", directory / "west")
    shutil.copytree(directory / "east-whole", directory / "north")
    (log,) = (directory / "north" / "version-2").iterdir()
    log.write_bytes(log.read_bytes()[:-15])
    return directory


def clusters(logs: Path, *names: str) -> list[ClusterDataDirectories]:
    return [ClusterDataDirectories(name, (DataDirectory(logs / name),)) for name in names]


@pytest.fixture(scope="module")
def dataset(spark: SparkSession, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    to = tmp_path_factory.mktemp("datasets") / "march"
    imported = import_zookeeper(spark, clusters(logs, "east", "west", "north"))
    kinds, reasons = write_imported(spark, imported, to)
    assert {run: counted["RunStarted"] for run, counted in kinds.items()} == {"east": 1, "west": 1, "north": 1}
    assert reasons == {"torn end": 1}
    return Dataset(to)


def test_each_cluster_is_a_run_with_the_events_that_one_process_imports(
    spark: SparkSession, dataset: Dataset, logs: Path
) -> None:
    found = runs_of(spark.read.parquet(str(dataset.events())))
    for run in ("east", "west", "north"):
        assert differences(renumbered(found[run]), in_one_go(logs / run)) == [], run


def test_a_run_is_filed_under_the_day_on_which_it_begins(dataset: Dataset) -> None:
    assert dataset.batches() == [DAY]


def test_what_cannot_be_read_is_a_reject(spark: SparkSession, dataset: Dataset, logs: Path) -> None:
    (reject,) = spark.read.parquet(str(dataset.rejects())).collect()
    assert (reject.run, reject.batch.isoformat(), reject.reason) == ("north", DAY, "torn end")
    assert "record cut short" in reject.detail


def test_the_writes_of_a_partition_s_state_lie_with_its_decisions(dataset: Dataset) -> None:
    """One file holds all rows about a partition, whether a column or the path names the partition."""
    of_orders_0: set[str] = set()
    for path in dataset.events().rglob("*.parquet"):
        for row in pq.ParquetFile(path).read(["run", "topic", "partition", "path"]).to_pylist():
            is_decision = (row["topic"], row["partition"]) == ("orders", 0)
            if row["run"] == "east" and (is_decision or row["path"] == "/brokers/topics/orders/partitions/0/state"):
                of_orders_0.add(path.name)
    assert len(of_orders_0) == 1
