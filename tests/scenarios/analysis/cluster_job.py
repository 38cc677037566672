"""Jobs that run on separate executors.

The first job reads traces, gathers histories in Python and replays them. The second generates a history and replays its
files into files.

As a program: MASTER TRACES FOLDER [FILE]. It prints the results as JSON and leaves files in FOLDER. With FILE, the first
task of the first job that has read an event kills its own executor, and an executor that is writing transitions is killed as
well; the process ids of both are written to FILE. Spark then runs the lost tasks again while new executors start.
"""

import hashlib
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.durations import DAY_MS
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.replay import replay
from kcsim.scenarios.analysis.replay_files import replay_files_to
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.reading import read_events
from kcsim.scenarios.analysis.tables.spark_session import spark_session
from kcsim.scenarios.analysis.tables.writing import HISTORY, ORDER_OF_EVENTS

NAMED_BY_SPARK = re.compile(r"^(?P<checksum>\.)?part-\d+-[0-9a-f]{8}-")

SETTINGS = Settings(brokers=9, topics=10, partitions=300, length_ms=240 * DAY_MS)


def result(spark: SparkSession, traces: Path, kill: Path | None = None) -> list[Any]:
    """Return a digest of every history, all transitions of the replay, and the number of rejects."""
    read = read_events(spark, traces, "b")
    events = read.events if kill is None else read.events.mapInArrow(killing(kill), read.events.schema)
    transitions = [list(row) for row in replay(events).drop("batch").collect()]
    gathered = events.repartition(8, *HISTORY).sortWithinPartitions(*ORDER_OF_EVENTS)
    rows = gathered.mapInArrow(digests, "run string, topic string, partition long, digest string").collect()
    return [sorted([list(row) for row in rows], key=repr), sorted(transitions, key=repr), read.rejects.count()]


def digests(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield a digest of each history; it depends on the order of the events."""
    import pyarrow as pa

    found: dict[tuple[Any, ...], Any] = {}
    for batch in batches:
        for row in batch.to_pylist():
            key = tuple(row[name] for name in HISTORY)
            found.setdefault(key, hashlib.sha256()).update(json.dumps(row, sort_keys=True).encode())
    rows = [{**dict(zip(HISTORY, key, strict=True)), "digest": digest.hexdigest()} for key, digest in found.items()]
    types = [("run", pa.string()), ("topic", pa.string()), ("partition", pa.int64()), ("digest", pa.string())]
    yield pa.RecordBatch.from_pylist(rows, schema=pa.schema(types))


def killing(file: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function that passes events on unchanged; the first task that has events kills its executor."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            kill_once(file)
            yield batch

    return work


def kill_once(file: Path) -> None:
    """Kill the executor that this task runs in: the parent of the daemon that forked this worker.

    Only the first caller does so.
    """
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    executor = parent_of(os.getppid())
    os.write(descriptor, str(executor).encode())
    os.close(descriptor)
    os.kill(executor, signal.SIGKILL)


def replayed_files_digest(spark: SparkSession, folder: Path, kill: Path | None = None) -> list[Any]:
    """Return the result of replaying a generated history's files, and a digest of all that was written.

    That is one digest for each file of events or transitions, and one for the rows of each table that Spark wrote, which
    chooses other names for its files each time, and as many files as suit the cores.
    """
    history, replayed = folder / "history", folder / "replayed"
    generate_dataset(spark, SETTINGS, history)
    files = Dataset(history).files()
    if kill is not None:
        threading.Thread(target=kill_writing_executor, args=(replayed, kill), daemon=True).start()
    done = replay_files_to(spark, files, Dataset(replayed))
    digests_of_files: dict[str, str] = {}
    rows: dict[str, list[str]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        by_spark = NAMED_BY_SPARK.search(path.name)
        if by_spark is None:
            digests_of_files[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif by_spark["checksum"] is None:
            table = rows.setdefault(str(path.parent.relative_to(folder)), [])
            table += map(repr, pq.ParquetFile(path).read().to_pylist())
    digests_of_rows = {name: hashlib.sha256("\n".join(sorted(table)).encode()).hexdigest() for name, table in rows.items()}
    return [done, sorted(map(list, {**digests_of_files, **digests_of_rows}.items()))]


def kill_writing_executor(folder: Path, record: Path) -> None:
    """Wait for a file that is being written, and kill the executor that writes it."""
    while not (begun := list(folder.rglob(".part-*"))):
        time.sleep(0.002)
    executor = parent_of(parent_of(int(begun[0].name.rpartition(".")[2])))
    with record.open("a") as file:
        file.write(f" {executor}")
    os.kill(executor, signal.SIGKILL)


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def main() -> None:
    """Run both jobs and print their results."""
    master, traces, folder, *kill = sys.argv[1:]
    spark = spark_session(master, {"spark.sql.shuffle.partitions": "4"})
    output = results(spark, Path(traces), Path(folder), Path(kill[0]) if kill else None)
    spark.stop()
    print(json.dumps(output))


def results(spark: SparkSession, traces: Path, folder: Path, kill: Path | None = None) -> list[Any]:
    """Return the results of both jobs."""
    return [*result(spark, traces, kill), *replayed_files_digest(spark, folder, kill)]


if __name__ == "__main__":
    main()
