"""The recordings of a real Kafka's log files on Spark: their true history, and the events that one process makes of them."""

import gzip
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.imported.kafka_logs.kafka_logs_import import import_kafka_logs as import_in_one_go
from kcsim.scenarios.imported.kafka_logs.kafka_logs_import import survey
from kcsim.scenarios.imported.kafka_logs.log_files import LogFilesError, log_files
from kcsim.scenarios.imported.kafka_logs.zone import zone_named
from kcsim.scenarios.replay.importing.kafka_logs.gathering import Cluster, LogsRead
from kcsim.scenarios.replay.importing.kafka_logs.import_kafka_logs import import_kafka_logs
from kcsim.scenarios.replay.importing.writing import write_imported
from kcsim.scenarios.replay.tables.dataset import Dataset
from kcsim.scenarios.state import ClusterState
from kcsim.zk.events import Event
from kcsim.zk.vocabulary import PartitionState
from tests.scenarios.imported.histories import partition_histories
from tests.scenarios.imported.kafka_logs.recordings import NAMES, RECORDINGS, Fact, expected, recorded
from tests.scenarios.replay.importing.comparing import counted, differences, renumbered, runs_of

ROLLED = "rolled"
CUT = "[2026-11-21 05:13:50,000] INFO [Controller id=1] Newly added bro\n"


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kill-leader in halves, the older ones compressed, under other names; lines that are no record; damaged data."""
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


def cluster(run: str, directory: Path) -> Cluster:
    return Cluster(run, tuple(log_files([directory])), str(directory))


@pytest.fixture(scope="module")
def imported(
    spark: SparkSession, rolled: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Dataset, dict[str, LogsRead], Counter[str]]:
    """Nine clusters in one go."""
    to = tmp_path_factory.mktemp("datasets") / "logs"
    clusters = [*(cluster(name, RECORDINGS / name) for name in NAMES), cluster(ROLLED, rolled)]
    found = import_kafka_logs(spark, clusters, tasks=4)
    _, reasons = write_imported(spark, found, to)
    return Dataset(to), {read.run: read for read in found.runs}, reasons


@pytest.fixture(scope="module")
def events(spark: SparkSession, imported: tuple[Dataset, dict[str, LogsRead], Counter[str]]) -> dict[str, list[Event]]:
    return {run: renumbered(found) for run, found in runs_of(spark.read.parquet(str(imported[0].events()))).items()}


def in_one_go(directory: Path, zone: str) -> list[Event]:
    found: list[Event] = []
    import_in_one_go(survey(log_files([directory])), zone_named(zone), found.append, str(directory))
    return renumbered(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_true_history_comes_out(name: str, events: dict[str, list[Event]]) -> None:
    """Every state that ZooKeeper had, and nothing else; who was the controller and who was registered in the end."""
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
    name: str, events: dict[str, list[Event]], imported: tuple[Dataset, dict[str, LogsRead], Counter[str]]
) -> None:
    read, alone = imported[1][name], recorded(name)
    assert differences(events[name], in_one_go(RECORDINGS / name, "UTC")) == []
    assert (read.zone, read.batch, list(read.not_shown)) == ("+00:00", "2026-11-21", list(alone.not_shown))
    assert counted(read.tally) == counted(alone.tally)


def test_rolled_and_compressed_files_give_the_same(events: dict[str, list[Event]]) -> None:
    assert partition_histories(events[ROLLED]) == partition_histories(events["kill-leader"])


def test_what_is_no_record_is_a_reject_with_its_text(
    spark: SparkSession, imported: tuple[Dataset, dict[str, LogsRead], Counter[str]], rolled: Path
) -> None:
    """The message that breaks off takes what follows with it, as nothing else does; of a long text the beginning is kept."""
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


@pytest.mark.parametrize("tasks", [1, 3, 8])
def test_results_do_not_depend_on_the_number_of_tasks(spark: SparkSession, tasks: int) -> None:
    found = import_kafka_logs(spark, [cluster("k", RECORDINGS / "kill-controller")], tasks=tasks)
    (events,) = runs_of(found.events).values()
    found.release()
    assert differences(renumbered(events), in_one_go(RECORDINGS / "kill-controller", "UTC")) == []


def test_files_without_history_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "controller.log"
    path.write_text("10:15:32.101 INFO some other layout\n" * 3)
    with pytest.raises(LogFilesError, match="3 lines, and none begins as Kafka's records do"):
        import_kafka_logs(spark, [cluster("k", tmp_path)], tasks=1)
