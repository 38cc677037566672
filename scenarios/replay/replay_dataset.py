"""Replays datasets and traces into a dataset of transitions, and says what came of it.

from kcsim.scenarios.replay.replay_dataset import replay_to

done = replay_to(spark, ["history"], "replayed")
done.mismatches  # 0: the history is what the controller's decisions come to
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kcsim.scenarios.replay.folding.arrow_rows import MISMATCH
from kcsim.scenarios.replay.folding.derived_history import PASSED_OVER
from kcsim.scenarios.replay.folding.mismatch import Mismatch, mismatches_arrow_schema
from kcsim.scenarios.replay.folding.transition import transitions_arrow_schema
from kcsim.scenarios.replay.folding.what_if import WhatIf
from kcsim.scenarios.replay.laid_out import Replayed, is_laid_out
from kcsim.scenarios.replay.replay import mismatches_of, replayed, transitions_of
from kcsim.scenarios.replay.replay_files import replay_files_to, replayed_files
from kcsim.scenarios.replay.replay_summary import Comparison, by_partition, compare, counts, ends_of
from kcsim.scenarios.replay.tables.dataset import Dataset, being_written, refuse_existing
from kcsim.scenarios.replay.tables.events_table import BATCH, RUN
from kcsim.scenarios.replay.tables.reading import read_events, read_table
from kcsim.scenarios.replay.tables.writing import write_table

ORDER = (RUN, "topic", "partition", "n")
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Done:
    """What a replay came to.

    Attributes:
        runs, partitions: with any transition.
        transitions: (kind, trigger) -> how many.
        mismatches: where the history tells something else than the decisions come to; the first of them.
        passed_over: facts of the history that made no sense any more, of a what-if.
        rejected: records that are no events; None of a dataset, which has told of its own when it was made.
        comparison: of a what-if with the history.
    """

    runs: int
    partitions: int
    transitions: dict[tuple[str, str], int]
    mismatches: int
    first_mismatches: tuple[Mismatch, ...]
    passed_over: int
    rejected: int | None
    comparison: Comparison | None


class NothingToReplayError(Exception):
    """There is no event in what was read. Nothing was written."""


def replay_to(spark: SparkSession, paths: Sequence[Path | str], to: Path | str, what_if: WhatIf | None = None) -> Done:
    """Replay, and write the table of transitions, and one of mismatches if there are any.

    Args:
        paths: datasets, traces, folders and patterns, as of read_events.
        to: a new folder; it becomes a dataset with `transitions/`, `mismatches/` and `replay.json`.

    Raises: PathExistsError before any work; what read_events raises; NothingToReplayError; what Spark raises.
    """
    refuse_existing(Path(to))
    source = _Source(spark, paths)
    with being_written(to) as folder:
        written = Dataset(folder)
        done = source.replay_to(written, what_if)
        (folder / "replay.json").write_text(json.dumps({"of": [str(p) for p in paths], "what_if": _told(what_if)}, indent=2))
        transitions = read_table(spark, written.transitions(), transitions_arrow_schema())
        if not done.runs and source.events.isEmpty():
            raise NothingToReplayError(f"there are no events in {', '.join(map(str, paths))}")
        first = _first_mismatches(spark, written)
        return Done(
            len(done.runs),
            done.partitions,
            {(kind, trigger): count for kind, trigger, count in done.transitions},
            done.mismatches,
            first,
            done.passed_over,
            source.rejected,
            None if what_if is None else source.compared(transitions, what_if.min_insync_replicas),
        )


class _Source:
    def __init__(self, spark: SparkSession, paths: Sequence[Path | str]) -> None:
        self._spark = spark
        read = read_events(spark, paths)
        self.events = read.events
        datasets = [Dataset(path) for path in paths if Dataset(path).has("events")]
        self.rejected = None if datasets else read.rejects.count()
        files = [file for dataset in datasets for file in sorted(dataset.events().glob("batch=*/*.parquet"))]
        self._files = files if files and len(datasets) == len(paths) and is_laid_out(files) else []

    def replay_to(self, written: Dataset, what_if: WhatIf | None) -> Replayed:
        """Write both tables."""
        if self._files:
            return replay_files_to(self._spark, self._files, written.path, what_if)
        return _write(self.replayed(what_if), written)

    def replayed(self, what_if: WhatIf | None) -> DataFrame:
        if self._files:
            return replayed_files(self._spark, self._files, what_if)
        return replayed(self._spark, self.events, what_if)

    def compared(self, derived: DataFrame, min_insync_replicas: int | None) -> Comparison:
        """What was, beside what would have been."""
        ends = ends_of(self.events).cache()
        recorded = transitions_of(self.replayed(None))
        before = by_partition(recorded, ends, min_insync_replicas).cache()
        after = by_partition(derived, ends, min_insync_replicas).cache()
        try:
            return compare(before, after, min_insync_replicas is not None)
        finally:
            for table in (before, after, ends):
                table.unpersist()


def _write(rows: DataFrame, to: Dataset) -> Replayed:
    """Write both tables, and look at the one of transitions once more, to count."""
    looked_at = Observation()
    is_mismatch, is_passed_over = F.col("kind") == MISMATCH, F.col("what") == PASSED_OVER
    watched = rows.observe(
        looked_at,
        F.count_if(is_mismatch & ~is_passed_over).alias("mismatches"),
        F.count_if(is_passed_over).alias("passed_over"),
    )
    write_table(transitions_of(watched), to.transitions(), (), ORDER)
    found: dict[str, int] = looked_at.get
    if any(found.values()):
        write_table(mismatches_of(rows), to.mismatches(), (), (RUN, "topic", "partition", "seq"))
    transitions = read_table(rows.sparkSession, to.transitions(), transitions_arrow_schema())
    keys = transitions.select(BATCH, RUN, "topic", "partition").distinct()
    runs = [(row[BATCH], row[RUN]) for row in keys.select(BATCH, RUN).distinct().orderBy(BATCH, RUN).collect()]
    return Replayed(runs, keys.count(), counts(transitions), found["mismatches"], found["passed_over"])


def _first_mismatches(spark: SparkSession, written: Dataset) -> tuple[Mismatch, ...]:
    if not written.mismatches().is_dir():
        return ()
    rows = read_table(spark, written.mismatches(), mismatches_arrow_schema()).where(F.col("what") != PASSED_OVER)
    first = rows.orderBy(BATCH, RUN, "seq").limit(SHOWN).collect()
    return tuple(Mismatch(*(row[name] for name in Mismatch.__struct_fields__)) for row in first)


def _told(what_if: WhatIf | None) -> dict[str, object] | None:
    if what_if is None:
        return None
    placement = {f"{topic}-{number}": list(replicas) for (topic, number), replicas in what_if.placement.items()}
    names = (name for name in WhatIf.__slots__ if name != "placement")
    told = {name: getattr(what_if, name) for name in names}
    return {**told, "unclean_topics": dict(what_if.unclean_topics), "placement": placement}
