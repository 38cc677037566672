"""Jobs to be run on executors of their own: one reads traces, gathers histories in Python, and replays them; one makes up a
history and replays its files into files.

As a program: MASTER TRACES FOLDER [FILE]; prints the results as JSON, and leaves files in FOLDER. With FILE, the first task
of the first job that has read an event kills the executor that it runs in, and so is one killed that is writing transitions;
their process ids are written there. Then what they did is done once more, while executors take their place.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kcsim.scenarios.replay.generate import generate_dataset
from kcsim.scenarios.replay.generating.durations import DAY_MS
from kcsim.scenarios.replay.generating.settings import Settings
from kcsim.scenarios.replay.replay import replay
from kcsim.scenarios.replay.replay_files import replay_files_to
from kcsim.scenarios.replay.tables.dataset import Dataset
from kcsim.scenarios.replay.tables.reading import read_events
from kcsim.scenarios.replay.tables.spark_session import spark_session
from kcsim.scenarios.replay.tables.writing import HISTORY, ORDER_OF_EVENTS

SETTINGS = Settings(brokers=9, topics=10, partitions=300, length_ms=240 * DAY_MS)


def result(spark: SparkSession, traces: Path, kill: Path | None = None) -> list[Any]:
    """For every history what is in it, in short; all transitions of the replay; and how many rejects there are."""
    read = read_events(spark, traces, "b")
    events = read.events if kill is None else read.events.mapInArrow(killing(kill), read.events.schema)
    transitions = [list(row) for row in replay(spark, events).drop("batch").collect()]
    gathered = events.repartition(8, *HISTORY).sortWithinPartitions(*ORDER_OF_EVENTS)
    rows = gathered.mapInArrow(digests, "run string, topic string, partition long, digest string").collect()
    return [sorted([list(row) for row in rows], key=repr), sorted(transitions, key=repr), read.rejects.count()]


def digests(batches: Iterator[Any]) -> Iterator[Any]:
    """A digest of each history, of events in their order."""
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
    """Events as they are; whoever has the first of them kills its executor."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            kill_once(file)
            yield batch

    return work


def kill_once(file: Path) -> None:
    """Kill the executor that this task runs in: the parent of the daemon that has forked us. Only the first does it."""
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    executor = parent_of(os.getppid())
    os.write(descriptor, str(executor).encode())
    os.close(descriptor)
    os.kill(executor, signal.SIGKILL)


def replayed_files_digest(spark: SparkSession, folder: Path, kill: Path | None = None) -> list[Any]:
    """What came of replaying a made-up history's files, and a digest of each file, events and transitions alike."""
    history, replayed = folder / "history", folder / "replayed"
    generate_dataset(spark, SETTINGS, history)
    files = sorted(Dataset(history).events().glob("batch=*/*.parquet"))
    if kill is not None:
        threading.Thread(target=kill_whoever_writes, args=(replayed, kill), daemon=True).start()
    done = replay_files_to(spark, files, replayed)
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [done, [[str(path.relative_to(folder)), hashlib.sha256(path.read_bytes()).hexdigest()] for path in found]]


def kill_whoever_writes(folder: Path, told: Path) -> None:
    """Wait for a file that is being written, and kill the executor of whoever writes it."""
    while not (begun := list(folder.rglob(".part-*"))):
        time.sleep(0.002)
    executor = parent_of(parent_of(int(begun[0].name.rpartition(".")[2])))
    with told.open("a") as file:
        file.write(f" {executor}")
    os.kill(executor, signal.SIGKILL)


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def main() -> None:
    """Run them, and print what came of them."""
    master, traces, folder, *kill = sys.argv[1:]
    spark = spark_session(master, {"spark.sql.shuffle.partitions": "4"})
    told = results(spark, Path(traces), Path(folder), Path(kill[0]) if kill else None)
    spark.stop()
    print(json.dumps(told))


def results(spark: SparkSession, traces: Path, folder: Path, kill: Path | None = None) -> list[Any]:
    """Of both."""
    return [*result(spark, traces, kill), *replayed_files_digest(spark, folder, kill)]


if __name__ == "__main__":
    main()
