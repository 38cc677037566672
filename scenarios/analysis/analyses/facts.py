"""Facts about a whole cluster, selected from the table of events once: brokers, controllers, topics' settings, faults.

These facts are few, however many partitions there are. Znodes are recognised by their paths, whether or not an event names a
topic.
"""

from typing import Any

import msgspec

from kcsim.eventlog.arrow_types import arrow_fields
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.scope import Liveness, Scope
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window
from kcsim.znodes import paths

IN_A_RUN = ("batch", "run")
BELOW_BROKER_IDS = f"{paths.BROKER_IDS}/"
BELOW_DELETIONS = f"{paths.DELETE_TOPICS}/"
BELOW_TOPIC_CONFIGS = "/config/topics/"
TOPIC_PATH = f"^{paths.BROKER_TOPICS}/[^/]+$"
WRITTEN = (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED)
ZNODES = (*WRITTEN, EventKind.ZNODE_DELETED)
OF_THE_CLUSTER = (
    EventKind.PROCESS_STATE,
    EventKind.BROKER_START_FAILED,
    EventKind.SESSION_CLOSED,
    EventKind.FAULT,
    EventKind.ADMIN_ACT,
    EventKind.ELECTION_WON,
)
OF_RECORDS = (EventKind.RECORDS_TRUNCATED, EventKind.LEDGER)
COLUMNS = (
    *("batch", "run", "seq", "t_ms", "node", "kind", "cause", "path", "data", "zxid", "topic", "partition", "state", "op"),
    *("fault", "target", "error", "controller_id", "controller_epoch", "count", "offset", "end_offset"),
)


def facts(events: DataFrame) -> DataFrame:
    """Return the events and columns that the functions below need: one pass over the table for all of them."""
    path = F.col("path")
    of_the_cluster = path.isin(paths.CONTROLLER, paths.CONTROLLER_EPOCH) | path.startswith(BELOW_BROKER_IDS)
    of_topics = path.startswith(BELOW_TOPIC_CONFIGS) | path.startswith(BELOW_DELETIONS)
    wanted = (
        F.col("kind").isin(*OF_THE_CLUSTER, *OF_RECORDS)
        | (F.col("kind").isin(*ZNODES) & (of_the_cluster | of_topics))
        | _is_end_of_topic()
    )
    return events.where(wanted).select(*COLUMNS)


class RunSpan(msgspec.Struct, frozen=True):
    """One row of the table of runs that a dataset keeps: when a run begins and ends, with its last event of any kind."""

    batch: str
    run: str
    start_ms: int
    end_ms: int


def runs_arrow_schema() -> Any:
    """Return the columns as a pyarrow.Schema, in the order of RunSpan."""
    import pyarrow as pa

    return pa.schema(arrow_fields(RunSpan))


def whole_runs(events: DataFrame) -> DataFrame:
    """Return when each run begins and ends: the columns of RunSpan."""
    return events.groupBy(*IN_A_RUN).agg(F.min("t_ms").alias("start_ms"), F.max("t_ms").alias("end_ms"))


def runs(whole: DataFrame, scope: Scope) -> DataFrame:
    """Return when each run begins and ends within the scope: batch, run, start_ms, end_ms. Args: whole: whole_runs()."""
    start, end = F.col("start_ms"), F.col("end_ms")
    if scope.since_ms is not None:
        start = F.greatest(start, F.lit(scope.since_ms).cast("long"))
    if scope.until_ms is not None:
        end = F.least(end, F.lit(scope.until_ms).cast("long"))
    return whole.select(*IN_A_RUN, start.alias("start_ms"), end.alias("end_ms")).where("start_ms <= end_ms")


def absences(of_cluster: DataFrame, ends: DataFrame, scope: Scope) -> DataFrame:
    """Return when each broker was not live.

    If the first event of a broker's registration is its creation, the broker was not registered before. If the first event
    is its deletion, the broker was registered from the beginning. A broker without such events is assumed to be live
    throughout.

    Args:
        of_cluster: facts().
        ends: runs().

    Returns: batch, run, broker, from_ms, to_ms (the end of the run, if the broker was not live then), open, seq and cause
        (of the event that ended its liveness; null if it had not registered yet). Not cut off at since_ms. from_ms can equal
        to_ms.
    """
    events = _broker_events(of_cluster)
    in_order = Window.partitionBy(*IN_A_RUN, "broker").orderBy("t_ms", "seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    whole = in_order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    at_first = F.coalesce(~F.first("registered", ignorenulls=True).over(whole), F.lit(True))
    registered = F.coalesce(F.last("registered", ignorenulls=True).over(so_far), at_first)
    running = F.coalesce(F.last("running", ignorenulls=True).over(so_far), F.lit(True))
    live = registered & running if scope.liveness is Liveness.SERVING else registered
    liveness = events.select(
        *IN_A_RUN, "broker", "t_ms", "seq", "cause", live.alias("live"), at_first.alias("live_at_first")
    )
    # A broker that is registered later is away from the beginning until its first event.
    begun = (
        liveness.where(~F.col("live_at_first"))
        .groupBy(*IN_A_RUN, "broker")
        .agg(F.lit(None).cast("long").alias("seq"), F.lit(None).cast("long").alias("cause"))
        .join(ends, list(IN_A_RUN))
        .select(*IN_A_RUN, "broker", F.lit(0).cast("long").alias("t_ms"), "seq", "cause", F.lit(False).alias("live"))
    )
    moments = liveness.drop("live_at_first").unionByName(begun)
    in_time = Window.partitionBy(*IN_A_RUN, "broker").orderBy("t_ms", F.col("seq").asc_nulls_first())
    changes = moments.withColumn("_was", F.lag("live").over(in_time)).where(
        F.col("_was").isNull() & ~F.col("live") | (F.col("_was") != F.col("live"))
    )
    return (
        changes.withColumn("_next", F.lead("t_ms").over(in_time))
        .where(~F.col("live"))
        .join(ends, list(IN_A_RUN))
        .select(
            *IN_A_RUN,
            "broker",
            F.col("t_ms").alias("from_ms"),
            F.least(F.coalesce("_next", "end_ms"), F.greatest("end_ms", "t_ms")).alias("to_ms"),
            _still(F.col("_next"), scope).alias("open"),
            "seq",
            "cause",
        )
    )


def _broker_events(of_cluster: DataFrame) -> DataFrame:
    """Return the events of each broker: one of `registered` and `running` is set, the other is null."""
    is_registration = F.col("path").startswith(BELOW_BROKER_IDS) & F.col("kind").isin(*ZNODES)
    is_process = (F.col("kind") == EventKind.PROCESS_STATE) & F.col("node").startswith("broker-")
    registered = F.when(is_registration, F.col("kind") != EventKind.ZNODE_DELETED)
    running = F.when(is_process, F.col("state") == "running")
    name = F.when(is_registration, F.substring_index("path", "/", -1)).otherwise(F.substring_index("node", "-", -1))
    return (
        of_cluster.where(is_registration | is_process)
        .select(
            *IN_A_RUN,
            name.try_cast("long").alias("broker"),
            *("t_ms", "seq", "cause"),
            registered.alias("registered"),
            running.alias("running"),
        )
        .where(F.col("broker").isNotNull())
    )


def _still(next_ms: Column, scope: Scope) -> Column:
    """Return whether the state that changes at `next_ms` still holds at the end of the scope."""
    return next_ms.isNull() if scope.until_ms is None else next_ms.isNull() | (next_ms >= scope.until_ms)


def brokers(of_cluster: DataFrame) -> DataFrame:
    """Return every registered broker: batch, run, broker, rack (as registered last; null: none recorded)."""
    content = F.when(F.col("path").startswith(BELOW_BROKER_IDS), F.get_json_object("data", "$.rack"))
    named = (
        of_cluster.where(F.col("path").startswith(BELOW_BROKER_IDS) & F.col("kind").isin(*ZNODES))
        .withColumn("broker", F.substring_index("path", "/", -1).try_cast("long"))
        .where(F.col("broker").isNotNull())
    )
    return named.groupBy(*IN_A_RUN, "broker").agg(
        F.max_by(content, F.when(content.isNotNull(), F.struct("t_ms", "seq"))).alias("rack")
    )


def topic_settings(of_cluster: DataFrame) -> DataFrame:
    """Return what changes how all partitions of a topic are judged: batch, run, topic, t_ms, seq, deleting, min_isr, gone.

    `deleting`: whether its deletion is requested from now on; `min_isr`: its min.insync.replicas from now on, 0 for not set;
    `gone`: the znode of the topic is deleted. Each is null where an event does not set it. Topics that never set
    min.insync.replicas have no such event.
    """
    path, kind = F.col("path"), F.col("kind")
    is_deletion, is_config = path.startswith(BELOW_DELETIONS), path.startswith(BELOW_TOPIC_CONFIGS)
    content = F.get_json_object("data", "$['config']['min.insync.replicas']").try_cast("int")
    set_to = F.when(kind == EventKind.ZNODE_DELETED, 0).otherwise(F.coalesce(content, F.lit(0)))
    changes = of_cluster.where(kind.isin(*ZNODES) & (is_deletion | is_config) | _is_end_of_topic()).select(
        *IN_A_RUN,
        F.substring_index("path", "/", -1).alias("topic"),
        *("t_ms", "seq"),
        F.when(is_deletion, kind != EventKind.ZNODE_DELETED).alias("deleting"),
        F.when(is_config, set_to).alias("min_isr"),
        F.when(_is_end_of_topic(), F.lit(True)).alias("gone"),
    )
    ever = F.max("min_isr").over(Window.partitionBy(*IN_A_RUN, "topic"))
    return changes.withColumn("_ever", ever).where("deleting IS NOT NULL OR gone OR _ever > 0").drop("_ever")


def _is_end_of_topic() -> Column:
    is_topic = F.col("path").startswith(f"{paths.BROKER_TOPICS}/") & F.col("path").rlike(TOPIC_PATH)
    return F.coalesce((F.col("kind") == EventKind.ZNODE_DELETED) & is_topic, F.lit(False))
