"""A job to be run on executors of their own: reads traces, gathers histories in Python, and replays them.

As a program: MASTER TRACES [FILE]; prints the result as JSON. With FILE, the first task that has read an event kills the
executor that it runs in, and writes its process id there; then all is done once more, while that executor is replaced.
"""

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kcsim.scenarios.replay.replay import replay
from kcsim.scenarios.replay.tables.reading import read_events
from kcsim.scenarios.replay.tables.spark_session import spark_session
from kcsim.scenarios.replay.tables.writing import HISTORY, ORDER_OF_EVENTS


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
    executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
    os.write(descriptor, str(executor).encode())
    os.close(descriptor)
    os.kill(executor, signal.SIGKILL)


def main() -> None:
    """Run it, and print what came of it."""
    master, traces, *kill = sys.argv[1:]
    spark = spark_session(master, {"spark.sql.shuffle.partitions": "4"})
    told = result(spark, Path(traces), Path(kill[0]) if kill else None)
    spark.stop()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
