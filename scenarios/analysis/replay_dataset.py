"""Replaying datasets and traces into a dataset of transitions, with a summary of the result.

from kcsim.scenarios.analysis.replay_dataset import replay_to

done = replay_to(spark, ["history"], "replayed")
done.mismatches  # 0: the history agrees with the controller's decisions
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.folding.arrow_rows import MISMATCH
from kcsim.scenarios.analysis.folding.mismatch import Mismatch, mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.folding.what_if_replay import PASSED_OVER
from kcsim.scenarios.analysis.kept_tables import keep_state_intervals
from kcsim.scenarios.analysis.partitioned_files import are_partitioned
from kcsim.scenarios.analysis.replay import has_many_runs, mismatches_of, replayed, transitions_of
from kcsim.scenarios.analysis.replay_files import ReplayCounts, replay_files_to, replayed_files
from kcsim.scenarios.analysis.replay_summary import ReplayComparison, by_partition, compare, counts
from kcsim.scenarios.analysis.tables.dataset import Dataset, being_written, refuse_existing
from kcsim.scenarios.analysis.tables.delta_table import require_deltalake
from kcsim.scenarios.analysis.tables.delta_version import refuse_other_than_delta, versions_being_written
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN
from kcsim.scenarios.analysis.tables.job_description import job_description
from kcsim.scenarios.analysis.tables.location import Location, location
from kcsim.scenarios.analysis.tables.reading import read_events, read_table
from kcsim.scenarios.analysis.tables.table_format import TableFormat
from kcsim.scenarios.analysis.tables.writing import write_table

ORDER = (RUN, "topic", "partition", "n")
SCHEMAS = {"mismatches": mismatches_arrow_schema, "transitions": transitions_arrow_schema}
"""The tables that are written, in the order in which they become versions of Delta tables."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay.

    Attributes:
        runs, partitions: how many have any transition.
        transitions: (kind, trigger) -> how many.
        mismatches: how many times the history differs from the controller's decisions.
        first_mismatches: the first of these differences.
        passed_over: in a what-if, how many facts of the history were skipped because they no longer apply.
        rejected: how many records are no events; None for a dataset, whose rejects were reported when it was made.
        comparison: the comparison of a what-if with a replay of nothing changed; None without a what-if.
        version: the number of the version that it is of Delta tables; None for plain files.
    """

    runs: int
    partitions: int
    transitions: dict[tuple[str, str], int]
    mismatches: int
    first_mismatches: tuple[Mismatch, ...]
    passed_over: int
    rejected: int | None
    comparison: ReplayComparison | None
    version: int | None = None


class NothingToReplayError(Exception):
    """There is no event in what was read. Nothing was written."""


def replay_to(
    spark: SparkSession,
    paths: Sequence[Location | str],
    to: Location | str,
    what_if: WhatIf | None = None,
    table_format: TableFormat = TableFormat.PARQUET,
) -> ReplayResult:
    """Replay, and write the table of transitions, and the table of mismatches if there are any.

    Args:
        paths: datasets, traces, folders and patterns, as read_events takes them.
        to: a new folder; it becomes a dataset with `transitions/`, `mismatches/` and `replay.json`.
        table_format: DELTA: both are Delta tables, of which this replay is a new version; `to` may have versions already.

    Raises: PathExistsError before any work; what read_events raises; NothingToReplayError; what Spark raises;
        NoFileSystemError.
    """
    about = {"of": [str(p) for p in paths], "what_if": _what_if_json(what_if)}
    if table_format is TableFormat.PARQUET:
        refuse_existing(location(to))
        source = _Source(spark, paths)
        with being_written(to) as folder:
            (folder / "replay.json").write_text(json.dumps(about, indent=2))
            result = source.result(Dataset(folder), what_if)
            if source.rejected is None:  # traces would have to be parsed once more
                keep_state_intervals(spark, Dataset(folder), sum(result.transitions.values()), source.events)
            return result
    require_deltalake()
    refuse_other_than_delta(location(to), SCHEMAS)
    source = _Source(spark, paths)
    with versions_being_written(location(to), SCHEMAS, about) as version:
        result = source.result(Dataset(to, version.part), what_if)
    return replace(result, version=version.number)


class _Source:
    def __init__(self, spark: SparkSession, paths: Sequence[Location | str]) -> None:
        self._spark, self._paths = spark, paths
        read = read_events(spark, paths)
        self.events = read.events
        datasets = [Dataset(path) for path in paths if Dataset(path).has("events")]
        self.rejected = None if datasets else read.rejects.count()
        files = [file for dataset in datasets for file in dataset.files()]
        is_one_kind = bool(files) and len(datasets) == len(paths) and are_partitioned(files)
        # A task of one file receives the timelines of the file's runs, which the driver makes: few, or it takes too long.
        self._files = files if is_one_kind and not has_many_runs(self.events) else []

    def result(self, written: Dataset, what_if: WhatIf | None) -> ReplayResult:
        """Write the tables of transitions and mismatches of a dataset."""
        with job_description(self._spark, f"replay: {self._how()}"):
            done = self._replay_to(written, what_if)
        if not done.runs and self.events.isEmpty():
            raise NothingToReplayError(f"there are no events in {', '.join(map(str, self._paths))}")
        transitions = read_table(self._spark, written.transitions(), transitions_arrow_schema())
        first = _first_mismatches(self._spark, written)
        return ReplayResult(
            len(done.runs),
            done.partitions,
            {(kind, trigger): count for kind, trigger, count in done.transitions},
            done.mismatches,
            first,
            done.passed_over,
            self.rejected,
            None if what_if is None else self.compared(transitions, what_if),
        )

    def _how(self) -> str:
        if self._files:
            return f"each of {len(self._files)} files by one task, in Python; nothing is shuffled"
        return "rows are shuffled by partition or run: groupBy, applyInArrow"

    def _replay_to(self, written: Dataset, what_if: WhatIf | None) -> ReplayCounts:
        if self._files:
            return replay_files_to(self._spark, self._files, written, what_if)
        return _write(self.replayed(what_if), written)

    def replayed(self, what_if: WhatIf | None) -> DataFrame:
        if self._files:
            return replayed_files(self._spark, self._files, what_if)
        return replayed(self.events, what_if)

    def compared(self, derived: DataFrame, what_if: WhatIf) -> ReplayComparison:
        """Compare the derived transitions of a what-if with those that are derived with nothing changed."""
        nothing = WhatIf(catch_up_ms=what_if.catch_up_ms, seed=what_if.seed)
        as_it_was = transitions_of(self.replayed(nothing)).cache()
        before, after = (
            by_partition(HistoryTables(self.events, transitions), what_if.min_insync_replicas).cache()
            for transitions in (as_it_was, derived)
        )
        try:
            return compare(before, after, what_if.min_insync_replicas is not None)
        finally:
            for table in (before, after, as_it_was):
                table.unpersist()


def _write(rows: DataFrame, to: Dataset) -> ReplayCounts:
    """Write the tables of transitions and mismatches, and read the transitions once more to count them."""
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
    return ReplayCounts(runs, keys.count(), counts(transitions), found["mismatches"], found["passed_over"])


def _first_mismatches(spark: SparkSession, written: Dataset) -> tuple[Mismatch, ...]:
    if not written.mismatches().is_dir():  # not `has`: the dataset is not whole yet
        return ()
    rows = read_table(spark, written.mismatches(), mismatches_arrow_schema()).where(F.col("what") != PASSED_OVER)
    first = rows.orderBy(BATCH, RUN, "seq").limit(SHOWN).collect()
    return tuple(Mismatch(*(row[name] for name in Mismatch.__struct_fields__)) for row in first)


def _what_if_json(what_if: WhatIf | None) -> dict[str, object] | None:
    if what_if is None:
        return None
    placement = {f"{topic}-{number}": list(replicas) for (topic, number), replicas in what_if.placement.items()}
    names = (name for name in WhatIf.__slots__ if name != "placement")
    settings = {name: getattr(what_if, name) for name in names}
    return {**settings, "unclean_topics": dict(what_if.unclean_topics), "placement": placement}
