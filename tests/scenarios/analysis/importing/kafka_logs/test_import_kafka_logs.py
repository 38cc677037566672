"""A real Kafka's recorded log files, imported on Spark: their true history, and the same events as one process imports."""

import gzip
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import import_kafka_logs as import_in_one_go
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import survey
from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError, log_files
from kcsim.brokers.apache_kafka.log_import.zone import zone_named
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.importing.kafka_logs import import_kafka_logs as import_module
from kcsim.scenarios.analysis.importing.kafka_logs.cluster_logs import ClusterLogs, LogsSummary
from kcsim.scenarios.analysis.importing.kafka_logs.import_kafka_logs import import_kafka_logs
from kcsim.scenarios.analysis.importing.writing import write_imported
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.vocabulary import PartitionState
from tests.brokers.apache_kafka.log_import.recordings import NAMES, RECORDINGS, Fact, expected, recorded
from tests.brokers.cluster.histories import partition_histories
from tests.scenarios.analysis.importing.event_log_comparison import counted, differences, renumbered, runs_of

ROLLED = "rolled"
CUT = "[2026-11-21 05:13:50,000] INFO [Controller id=1] Newly added bro\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return kill-leader in halves, the older files gzipped and renamed, with lines that are no record and damaged data."""
    directory = tmp_path_factory.mktemp("rolled")
    for number, path in enumerate(sorted((RECORDINGS / "kill-leader").glob("broker-*/*.log"))):
        text = path.read_bytes()
        half = text.rindex(b"[2026-", 0, len(text) * 3 // 4)
        (directory / f"server-{number}.log.2026-11-21-04.gz").write_bytes(gzip.compress(text[:half]))
        (directory / f"server-{number}.log").write_bytes(text[half:])
    with (directory / "server-0.log").open("a") as file:
        file.write(CUT + "x" * 3_000 + "\n")
    (directory / "server-99.log.gz").write_bytes(gzip.compress(bytes(range(256)) * 9 + b"\n" * 20)[:-9])
    return directory


def cluster(run: str, directory: Path) -> ClusterLogs:
    return ClusterLogs(run, tuple(log_files([directory])), str(directory))


@pytest.fixture(scope="module")
def imported(
    spark: SparkSession, rolled: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Dataset, dict[str, LogsSummary], Counter[str]]:
    """Import nine clusters at once."""
    to = tmp_path_factory.mktemp("datasets") / "logs"
    clusters = [*(cluster(name, RECORDINGS / name) for name in NAMES), cluster(ROLLED, rolled)]
    found = import_kafka_logs(spark, clusters)
    _, reasons = write_imported(spark, found, to)
    return Dataset(to), {read.run: read for read in found.runs}, reasons


@pytest.fixture(scope="module")
def events(spark: SparkSession, imported: tuple[Dataset, dict[str, LogsSummary], Counter[str]]) -> dict[str, list[Event]]:
    return {run: renumbered(found) for run, found in runs_of(spark.read.parquet(str(imported[0].events()))).items()}


def in_one_go(directory: Path, zone: str) -> list[Event]:
    found: list[Event] = []
    import_in_one_go(survey(log_files([directory])), zone_named(zone), found.append, str(directory))
    return renumbered(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_true_history_comes_out(name: str, events: dict[str, list[Event]]) -> None:
    """The import finds the states that ZooKeeper had and no others, and at the end the controller and registered brokers."""
    found = [
        (f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state", *_state(fact))
        for tp, states in partition_histories(events[name]).items()
        for fact in states
    ]
    assert sorted(found) == sorted(_true(fact) for fact in expected(name) if "leader" in fact)
    state = ClusterState()
    for event in events[name]:
        state.apply(event)
    last = {fact["path"]: fact for fact in expected(name)}
    assert state.controller_id == last["/controller"]["controller"]
    assert state.registered == {
        int(path.rpartition("/")[2]): fact["broker_epoch"] for path, fact in last.items() if fact.get("registered")
    }


def _state(state: PartitionState) -> tuple[object, ...]:
    stored = state.leader_and_isr
    leader = -1 if stored.leader is None else stored.leader
    return leader, stored.isr, stored.leader_epoch, state.controller_epoch, stored.zk_version


def _true(fact: Fact) -> tuple[object, ...]:
    return (
        fact["path"],
        fact["leader"],
        tuple(fact["isr"]),
        fact["leader_epoch"],
        fact["controller_epoch"],
        fact["zk_version"],
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_events_are_those_of_one_process(
    name: str, events: dict[str, list[Event]], imported: tuple[Dataset, dict[str, LogsSummary], Counter[str]]
) -> None:
    read, alone = imported[1][name], recorded(name)
    assert differences(events[name], in_one_go(RECORDINGS / name, "UTC")) == []
    assert (read.zone, read.batch, list(read.not_shown)) == ("+00:00", "2026-11-21", list(alone.not_shown))
    assert counted(read.tally) == counted(alone.statistics)


def test_rolled_and_compressed_files_give_the_same(events: dict[str, list[Event]]) -> None:
    assert partition_histories(events[ROLLED]) == partition_histories(events["kill-leader"])


def test_what_is_no_record_is_a_reject_with_its_text(
    spark: SparkSession, imported: tuple[Dataset, dict[str, LogsSummary], Counter[str]], rolled: Path
) -> None:
    """Of a long text, the beginning is kept.

    A message that is cut short takes the lines after it along; no other kind of reject does.
    """
    dataset, reads, reasons = imported
    rejects = spark.read.parquet(str(dataset.rejects())).orderBy("file", "line").collect()
    assert reasons == {"no record": 2, "damaged gzip": 1}
    assert {reject.run for reject in rejects} == {ROLLED}
    (cut,) = (reject for reject in rejects if reject.file == str(rolled / "server-0.log"))
    assert (cut.reason, cut.text) == ("no record", CUT.rstrip())
    assert cut.detail == "2 lines: the message does not end with its logger"
    foreign = [reject for reject in rejects if reject.file == str(rolled / "server-99.log.gz")]
    assert {reject.reason for reject in foreign} == {"no record", "damaged gzip"}
    assert reads[ROLLED].tally.broken > 2
    assert [remark for remark in reads[ROLLED].remarks if "its compressed data are damaged" in remark] != []


def test_a_history_of_several_portions_is_the_same(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module, "IN_A_PORTION", 7)
    found = import_kafka_logs(spark, [cluster("k", RECORDINGS / "kill-controller")])
    (events,) = runs_of(found.events).values()
    found.release()
    assert differences(renumbered(events), in_one_go(RECORDINGS / "kill-controller", "UTC")) == []


def test_files_without_history_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "controller.log"
    path.write_text("10:15:32.101 INFO some other layout\n" * 3)
    with pytest.raises(LogFilesError, match="3 lines, and none begins as Kafka's records do"):
        import_kafka_logs(spark, [cluster("k", tmp_path)])
