"""The table of a campaign's trials, one row per seed with all that is known of its run; and flat tables made from it."""

from collections.abc import Mapping
from typing import Any

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kcsim.eventlog.event_log import arrow_schema
from kcsim.scenarios.analysis.campaigns.campaign_options import OutageView
from kcsim.scenarios.analysis.campaigns.trial import Records, Trial
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN

TRACE = "trace"


def trials_arrow_schema() -> Any:
    """Return the schema: `batch`, which is the campaign's name, then the fields of Trial, nested as they are there."""
    import pyarrow as pa

    def struct(**fields: Any) -> Any:
        return pa.struct(list(fields.items()))

    text, number = pa.string(), pa.int64()
    unserved = struct(outages=number, ms=number, longest_ms=number)
    types = {
        BATCH: text,
        "seed": number,
        RUN: text,
        "outcome": text,
        "error": text,
        "exit_status": number,
        "scenario_digest": text,
        "trace_digest": text,
        "events": number,
        "ended_ms": number,
        "violations": pa.list_(struct(invariant=text, sentence=text, seq=number, traceback=text)),
        "known": pa.list_(text),
        "tree": text,
        "reached": pa.list_(struct(kind=text, name=text)),
        "partitions": number,
        "outages": pa.list_(
            struct(view=text, topic=text, partition=number, from_ms=number, until_ms=number, is_over=pa.bool_())
        ),
        OutageView.CLIENTS.value: unserved,
        OutageView.ZOOKEEPER.value: unserved,
        "records": struct(**dict.fromkeys(Records.__struct_fields__, number)),
        TRACE: pa.list_(pa.struct([field.with_nullable(True) for field in arrow_schema()])),
    }
    return pa.schema(list(types.items()))


def trials_schema() -> StructType:
    """Return the same schema for Spark."""
    return from_arrow_schema(trials_arrow_schema())


def row_of(trial: Trial, batch: str) -> dict[str, Any]:
    """Return a trial as a row of the table."""
    row: dict[str, Any] = msgspec.to_builtins(trial)
    reached = [{"kind": kind, "name": name} for kind, name in trial.reached]
    return {BATCH: batch, **row, "reached": reached}


def trial_of(row: Mapping[str, Any]) -> Trial:
    """Return a row of the table as a trial, without its trace."""
    reached = [(reached["kind"], reached["name"]) for reached in row["reached"]]
    return msgspec.convert({**row, "reached": reached, TRACE: None}, Trial)


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
