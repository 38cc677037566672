"""The table of a campaign's trials, one row per seed with all that is known of its run; and flat tables made from it."""

import json
from collections.abc import Mapping
from typing import Any, get_type_hints

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kcsim.eventlog.arrow_types import arrow_type
from kcsim.eventlog.outage_view import OutageView
from kcsim.scenarios.analysis.campaigns.trial import Records, Trial
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN

TRACE, TREE = "trace", "tree"


def trials_arrow_schema() -> Any:
    """Return the schema: `batch`, which is the campaign's name, then the fields of Trial, nested as they are there.

    The scenario is JSON.
    """
    import pyarrow as pa

    columns = {BATCH: str, **get_type_hints(Trial), TREE: str}
    return pa.schema([(name, arrow_type(column)) for name, column in columns.items()])


def trials_schema() -> StructType:
    """Return the same schema for Spark."""
    return from_arrow_schema(trials_arrow_schema())


def row_of(trial: Trial, batch: str) -> dict[str, Any]:
    """Return a trial as a row of the table."""
    tree = None if trial.tree is None else json.dumps(trial.tree)
    reached = [point._asdict() for point in sorted(trial.reached)]
    return {BATCH: batch, **msgspec.to_builtins(trial), TREE: tree, "reached": reached}


def trial_of(row: Mapping[str, Any]) -> Trial:
    """Return a row of the table as a trial, without its trace."""
    tree = None if row[TREE] is None else json.loads(row[TREE])
    reached = [(point["kind"], point["name"]) for point in row["reached"]]
    return msgspec.convert({**row, TREE: tree, "reached": reached, TRACE: None}, Trial)


# --- the flat tables -------------------------------------------------------------------------------------------------------


def runs_of(trials: DataFrame) -> DataFrame:
    """Return one row per run: its verdict, the times in which partitions were not served, and the counts of records."""
    plain = (
        *("outcome", "error", "exit_status", "scenario_digest", "trace_digest", "events", "ended_ms"),
        F.size("violations").alias("violations"),
        F.col("known").alias("known_bugs"),
        "partitions",
    )
    unserved = [
        F.col(f"{view}.{name}").alias(f"{view}_{column}")
        for view in OutageView
        for name, column in (("outages", "outages"), ("ms", "unavailable_ms"), ("longest_ms", "longest_ms"))
    ]
    records = [F.col(f"records.{name}").alias(f"records_{name}") for name in Records.__struct_fields__]
    return trials.select(BATCH, RUN, "seed", *plain, *unserved, *records)


def violations_of(trials: DataFrame) -> DataFrame:
    """Return one row for each failure of a run. The row of a known bug has only the bug's name, in `known_bug`."""
    unknown = trials.select(
        BATCH, RUN, "seed", F.explode("violations").alias("found"), F.lit(None).cast("string").alias("known_bug")
    )
    known = trials.select(BATCH, RUN, "seed", F.lit(None).alias("found"), F.explode("known").alias("known_bug"))
    found = ("invariant", "sentence", "seq", "traceback")
    return (
        unknown.select(BATCH, RUN, "seed", "known_bug", "found.*")
        .unionByName(known.select(BATCH, RUN, "seed", "known_bug"), allowMissingColumns=True)
        .select(BATCH, RUN, "seed", *found, "known_bug")
    )


def outages_of(trials: DataFrame) -> DataFrame:
    """Return one row for each outage of a partition."""
    return trials.select(BATCH, RUN, "seed", F.explode("outages").alias("outage")).select(BATCH, RUN, "seed", "outage.*")


def coverage_of(trials: DataFrame) -> DataFrame:
    """Return what was reached, in how many runs, and the first seed that reaches it. What was never reached has no row."""
    each = trials.select(BATCH, "seed", F.explode("reached").alias("reached")).select(BATCH, "seed", "reached.*")
    return each.groupBy(BATCH, "kind", "name").agg(F.count("*").alias("runs"), F.min("seed").alias("first_seed"))


def events_of(trials: DataFrame) -> DataFrame:
    """Return the table of events of the runs whose traces were kept."""
    return trials.select(BATCH, RUN, F.explode(TRACE).alias("event")).select(BATCH, RUN, "event.*")
