"""Generation of the history of a cluster of any size, in parallel. The same settings give the same events on any workers.

    from kcsim.scenarios.analysis.generate import generate, generate_dataset
    from kcsim.scenarios.analysis.generating.settings import Settings

    events = generate(spark, Settings(brokers=50, partitions=20_000))
    generate_dataset(spark, Settings(brokers=50, partitions=20_000), "history")

`generate` returns a table of events. `generate_dataset` writes a dataset: each task writes its file itself, which is several
times as fast as through Spark's own rows.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.generating.generated_cluster import GeneratedCluster, GeneratedClusterMaker
from kcsim.scenarios.analysis.generating.portions import expected_rows, portions_of, rows_of_partitions
from kcsim.scenarios.analysis.generating.rows import batches_of_events, batches_of_rows
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.kept_tables import keep_tables_of_events
from kcsim.scenarios.analysis.tables.dataset import Dataset, being_written
from kcsim.scenarios.analysis.tables.events_table import BATCH, events_arrow_schema, events_schema
from kcsim.scenarios.analysis.tables.location import Location, location
from kcsim.scenarios.analysis.tables.part_file import PartFile, remove_unfinished
from kcsim.scenarios.analysis.tables.task_each import task_per_item

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS_FILE = "settings.json"
FILES_SCHEMA = "file string, kind string, rows long, bytes long"


class FileWritten(NamedTuple):
    """How many rows of one kind a file holds, and the size of the whole file in bytes."""

    file: str
    kind: str
    rows: int
    bytes: int


class GeneratedDataset(NamedTuple):
    """What was written: the number of events of each kind, the number of files, and the bytes on disk."""

    events: dict[str, int]
    files: int
    bytes: int

    @property
    def total(self) -> int:
        return sum(self.events.values())


def generate(spark: "SparkSession", settings: Settings) -> "DataFrame":
    """Return the table of generated events. Raises: SettingsError."""
    maker = GeneratedClusterMaker(settings)
    cluster = list(batches_of_events(maker.events(), settings.batch, settings.run))
    generated, portions = _shared(spark, maker.generated)

    def make(_: int, portion: range) -> Iterator[Any]:
        with gc_paused():
            yield from _portion(generated.value, portion)

    import pyarrow as pa

    of_cluster = spark.createDataFrame(pa.Table.from_batches(cluster), events_schema())
    return of_cluster.union(task_per_item(spark, portions, make, events_schema()))


def generate_dataset(spark: "SparkSession", settings: Settings, path: Location | str) -> GeneratedDataset:
    """Write the dataset `path`, which all workers see under this name, with a file of the settings that it was made from.

    Raises: SettingsError; PathExistsError, before any work; OSError; any exception that Spark raises for a job that fails.
        After an exception nothing is left there.
    """
    maker = GeneratedClusterMaker(settings)
    with being_written(path) as folder:
        (folder / SETTINGS_FILE).write_text(json.dumps(settings.as_json(), indent=2) + "\n")
        where = str((Dataset(folder).events() / f"{BATCH}={settings.batch}").resolve())
        written = _write(where, 0, batches_of_events(maker.events(), settings.batch, settings.run))
        generated, portions = _shared(spark, maker.generated)

        def make(number: int, portion: range) -> Iterator[Any]:
            with gc_paused():
                parts = _write(where, number + 1, _portion(generated.value, portion))
            yield _batch_of(parts)

        files = task_per_item(spark, portions, make, FILES_SCHEMA)
        written += [FileWritten(*row) for row in files.collect()]
        remove_unfinished([location(where)])
        kinds: Counter[str] = Counter()
        for part in written:
            kinds[part.kind] += part.rows
        keep_tables_of_events(spark, Dataset(folder), kinds.total())
    sizes = {part.file: part.bytes for part in written}
    return GeneratedDataset(dict(kinds.most_common()), len(sizes), sum(sizes.values()))


def _shared(spark: "SparkSession", generated: GeneratedCluster) -> tuple[Any, list[range]]:
    return spark.sparkContext.broadcast(generated), portions_of(generated.layout.partitions, expected_rows(generated))


def _portion(generated: GeneratedCluster, indices: range) -> Iterator[Any]:
    """Return the record batches of these partitions."""
    rows = (row for found in rows_of_partitions(generated, indices) for row in found)
    return batches_of_rows(rows, generated.settings.batch, generated.settings.run)


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
    file.end_group()  # a reader of only these rows, for the timeline, can skip the other row groups
    for batch in of_no_partition:
        file.write(batch)
    name, size = file.close()
    return [FileWritten(name, kind, rows, size) for kind, rows in sorted(kinds.items())]


def _batch_of(parts: Iterable[FileWritten]) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([part._asdict() for part in parts])
