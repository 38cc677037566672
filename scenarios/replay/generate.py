"""Makes up the history of a cluster of any size, in parallel; the same bytes from the same settings, whoever does the work.

    from kcsim.scenarios.replay.generate import generate, generate_dataset
    from kcsim.scenarios.replay.generating.settings import Settings

    events = generate(spark, Settings(brokers=50, partitions=20_000))
    generate_dataset(spark, Settings(brokers=50, partitions=20_000), "history")

The first yields a table of events, the second writes a dataset: each task writes its file itself, several times as fast as
through Spark's own rows.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kcsim.scenarios.replay.collector import collector_at_rest
from kcsim.scenarios.replay.generating.portions import expected_rows, portions_of, rows_of_partitions
from kcsim.scenarios.replay.generating.rows import batches_of_events, batches_of_rows
from kcsim.scenarios.replay.generating.settings import Settings
from kcsim.scenarios.replay.generating.world import World, WorldMaker
from kcsim.scenarios.replay.tables.dataset import Dataset, being_written
from kcsim.scenarios.replay.tables.events_table import BATCH, events_arrow_schema, events_schema
from kcsim.scenarios.replay.tables.part_file import PartFile, remove_unfinished
from kcsim.scenarios.replay.tables.task_each import task_each

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS_FILE = "settings.json"
FILES_SCHEMA = "file string, kind string, rows long, bytes long"


class FileWritten(NamedTuple):
    """How many rows of a kind are in a file, and how large that is in all."""

    file: str
    kind: str
    rows: int
    bytes: int


class Generated(NamedTuple):
    """What was written: how many events of each kind, files, bytes on disk."""

    events: dict[str, int]
    files: int
    bytes: int

    @property
    def total(self) -> int:
        return sum(self.events.values())


def generate(spark: "SparkSession", settings: Settings) -> "DataFrame":
    """The table of events. Raises: SettingsError."""
    maker = WorldMaker(settings)
    cluster = list(batches_of_events(maker.events(), settings.batch, settings.run))
    world, portions = _shared(spark, maker.world)

    def make(_: int, portion: range) -> Iterator[Any]:
        with collector_at_rest():
            yield from _portion(world.value, portion)

    import pyarrow as pa

    of_cluster = spark.createDataFrame(pa.Table.from_batches(cluster), events_schema())
    return of_cluster.union(task_each(spark, portions, make, events_schema()))


def generate_dataset(spark: "SparkSession", settings: Settings, path: Path | str) -> Generated:
    """Write the dataset `path`, which all workers see under this name, and say in it how it was made.

    Raises: SettingsError; PathExistsError, before any work; OSError; whatever Spark raises for a job that fails.
        Then nothing is left.
    """
    maker = WorldMaker(settings)
    with being_written(path) as folder:
        (folder / SETTINGS_FILE).write_text(json.dumps(settings.as_json(), indent=2) + "\n")
        where = str((Dataset(folder).events() / f"{BATCH}={settings.batch}").resolve())
        written = _write(where, 0, batches_of_events(maker.events(), settings.batch, settings.run))
        world, portions = _shared(spark, maker.world)

        def make(number: int, portion: range) -> Iterator[Any]:
            with collector_at_rest():
                parts = _write(where, number + 1, _portion(world.value, portion))
            yield _batch_of(parts)

        files = task_each(spark, portions, make, FILES_SCHEMA)
        written += [FileWritten(*row) for row in files.collect()]
        remove_unfinished([Path(where)])
    kinds: Counter[str] = Counter()
    for part in written:
        kinds[part.kind] += part.rows
    sizes = {part.file: part.bytes for part in written}
    return Generated(dict(kinds.most_common()), len(sizes), sum(sizes.values()))


def _shared(spark: "SparkSession", world: World) -> tuple[Any, list[range]]:
    return spark.sparkContext.broadcast(world), portions_of(world.layout.partitions, expected_rows(world))


def _portion(world: World, indices: range) -> Iterator[Any]:
    """The record batches of these partitions."""
    rows = (row for found in rows_of_partitions(world, indices) for row in found)
    return batches_of_rows(rows, world.settings.batch, world.settings.run)


def _write(folder: str, number: int, batches: Iterable[Any]) -> list[FileWritten]:
    import pyarrow.compute as pc

    file = PartFile(folder, number, events_arrow_schema())
    kinds: Counter[str] = Counter()
    of_no_partition = []
    for batch in batches:
        for counted in pc.value_counts(batch.column("kind")).to_pylist():
            kinds[counted["values"]] += counted["counts"]
        if batch.column("partition").null_count:
            of_no_partition.append(batch.filter(batch.column("partition").is_null()))
            batch = batch.filter(batch.column("partition").is_valid())
        file.write(batch)
    file.end_group()  # who reads these alone, for the timeline, need not look at the others
    for batch in of_no_partition:
        file.write(batch)
    name, size = file.close()
    return [FileWritten(name, kind, rows, size) for kind, rows in sorted(kinds.items())]


def _batch_of(parts: Iterable[FileWritten]) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([part._asdict() for part in parts])
