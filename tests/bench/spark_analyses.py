"""The analyses compared with DuckDB on the same Parquet files: the results are the same, and the times are compared.

The DuckDB queries ("twins") share only the definitions with the analyses: they have their own SQL from the tables of events
and transitions to the result. Both read the files again for each analysis. The start of Spark is timed separately.

At the end the command computes all analyses once on each engine; processor seconds, the command's start included.

spark-analyses=PATH names a dataset with transitions; otherwise one is generated, of spark-analyses=EVENTS events (1
million; at least 100,000, so that it keeps its transitions).
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.scope import HOUR_MS, Scope
from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.portions import length_for
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.spark_session import spark_session
from kcsim.scenarios.cli.spark.engines import EngineName
from tests.bench.report import Measured, measure, print_table, processor_seconds_of_children
from tests.bench.spark_work import print_work

EVENTS = 1_000_000
Rows = list[tuple[Any, ...]]

# --- SQL shared by the twins -----------------------------------------------------------------------------------------------

TABLES = """
CREATE OR REPLACE VIEW events AS SELECT * FROM read_parquet('{dataset}/events/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW transitions AS
  SELECT * FROM read_parquet('{dataset}/transitions/*/*.parquet', hive_partitioning = true);
CREATE OR REPLACE VIEW ends AS SELECT batch, run, min(t_ms) AS start_ms, max(t_ms) AS end_ms FROM events GROUP BY ALL;
"""

ABSENCES = """
told AS (
  SELECT batch, run, t_ms, seq,
    CASE WHEN kind = 'ProcessState' THEN split_part(node, '-', 2) ELSE split_part(path, '/', 4) END::BIGINT AS broker,
    CASE WHEN kind <> 'ProcessState' THEN kind <> 'ZnodeDeleted' END AS registered,
    CASE WHEN kind = 'ProcessState' THEN state = 'running' END AS running
  FROM events
  WHERE (kind = 'ProcessState' AND regexp_matches(node, '^broker-[0-9]+$'))
     OR (kind IN ('ZnodeCreated', 'ZnodeChanged', 'ZnodeDeleted') AND regexp_matches(path, '^/brokers/ids/[0-9]+$'))
), firsts AS (
  SELECT batch, run, broker, coalesce(NOT arg_min(registered, seq) FILTER (registered IS NOT NULL), true) AS at_first
  FROM told GROUP BY ALL
), moments AS (
  SELECT batch, run, broker, t_ms, seq, registered, running FROM told
  UNION ALL SELECT batch, run, broker, 0, -1, at_first, true FROM firsts
), live AS (
  SELECT batch, run, broker, t_ms, seq, coalesce(last_value(registered IGNORE NULLS) OVER so_far, true)
    AND coalesce(last_value(running IGNORE NULLS) OVER so_far, true) AS is_live
  FROM moments WINDOW so_far AS (PARTITION BY batch, run, broker ORDER BY t_ms, seq)
), absences AS (
  SELECT batch, run, broker, t_ms AS from_ms,
    coalesce(lead(t_ms) OVER (PARTITION BY batch, run, broker ORDER BY t_ms, seq), end_ms) AS to_ms,
    lead(t_ms) OVER (PARTITION BY batch, run, broker ORDER BY t_ms, seq) IS NULL AS is_open, is_live
  FROM live JOIN ends USING (batch, run)
)
"""

STATE_INTERVALS = """
topics AS (
  SELECT batch, run, split_part(path, '/', 4) AS topic, t_ms, seq,
    CASE WHEN path LIKE '/admin/%' THEN kind <> 'ZnodeDeleted' END AS deleting,
    CASE WHEN path LIKE '/config/%' THEN CASE WHEN kind = 'ZnodeDeleted' THEN 0 ELSE
      coalesce(try_cast(json_extract_string(data, '$.config."min.insync.replicas"') AS INTEGER), 0) END END AS min_isr
  FROM events WHERE kind IN ('ZnodeCreated', 'ZnodeChanged', 'ZnodeDeleted')
    AND (starts_with(path, '/admin/delete_topics/') OR starts_with(path, '/config/topics/'))
), states AS (
  SELECT batch, run, topic, partition, t_ms, seq, kind, trigger, kind = 'ZnodeDeleted' AS gone,
    coalesce(leader, -1) AS leader, isr, replicas, true AS is_change,
    len(list_filter(replicas, lambda b: NOT list_contains(coalesce(adding, []), b))) AS wanted
  FROM transitions WHERE NOT (kind = 'LeaderElection' AND leader IS NULL AND n > 0)
), moments_of AS (
  SELECT *, NULL::BOOLEAN AS deleting, NULL::INTEGER AS min_isr FROM states
  UNION ALL BY NAME
  SELECT t.*, p.partition, false AS is_change
  FROM topics t JOIN (SELECT batch, run, topic, partition FROM transitions WHERE n = 0) p USING (batch, run, topic)
), carried AS (
  SELECT batch, run, topic, partition, t_ms, seq, is_change, trigger,
    last_value(leader IGNORE NULLS) OVER so_far AS leader, last_value(isr IGNORE NULLS) OVER so_far AS isr,
    last_value(replicas IGNORE NULLS) OVER so_far AS replicas, last_value(wanted IGNORE NULLS) OVER so_far AS wanted,
    last_value(gone IGNORE NULLS) OVER so_far AS gone,
    coalesce(last_value(deleting IGNORE NULLS) OVER so_far, false) AS deleting,
    coalesce(nullif(last_value(min_isr IGNORE NULLS) OVER so_far, 0), 1) AS min_isr,
    last_value(isr IGNORE NULLS) OVER before AS isr_before, last_value(gone IGNORE NULLS) OVER before AS gone_before,
    lead(t_ms) OVER in_order AS next_ms
  FROM moments_of
  WINDOW in_order AS (PARTITION BY batch, run, topic, partition ORDER BY t_ms, seq),
    so_far AS (PARTITION BY batch, run, topic, partition ORDER BY t_ms, seq),
    before AS (PARTITION BY batch, run, topic, partition ORDER BY t_ms, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), spells AS (
  SELECT * EXCLUDE (gone), t_ms AS from_ms, coalesce(next_ms, end_ms) AS to_ms, next_ms IS NULL AS is_open
  FROM carried JOIN ends USING (batch, run) WHERE NOT gone AND NOT deleting
)
"""

WINDOWS = """
pieces AS (
  SELECT batch, run, topic, partition, from_ms, to_ms FROM spells WHERE leader = -1 AND from_ms < to_ms
  UNION ALL
  SELECT s.batch, s.run, s.topic, s.partition, greatest(s.from_ms, a.from_ms), least(s.to_ms, a.to_ms)
  FROM spells s JOIN (FROM absences WHERE NOT is_live) a
    ON a.batch = s.batch AND a.run = s.run AND a.broker = s.leader AND a.from_ms < s.to_ms AND a.to_ms > s.from_ms
  WHERE greatest(s.from_ms, a.from_ms) < least(s.to_ms, a.to_ms)
), begun AS (
  SELECT *, from_ms > coalesce(max(to_ms) OVER (PARTITION BY batch, run, topic, partition ORDER BY from_ms, to_ms
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1) AS begins FROM pieces
), numbered AS (
  SELECT *, sum(begins::INT) OVER (PARTITION BY batch, run, topic, partition ORDER BY from_ms, to_ms) AS island FROM begun
), windows AS (
  SELECT batch, run, topic, partition, min(from_ms) AS from_ms, max(to_ms) AS to_ms FROM numbered GROUP BY ALL_KEYS
)
""".replace("ALL_KEYS", "batch, run, topic, partition, island")

# --- the twins -------------------------------------------------------------------------------------------------------------


def availability() -> str:
    """Return the SQL for the availability of partitions: observed time, unavailable time, windows, and the share."""
    return f"""
WITH {ABSENCES}, {STATE_INTERVALS}, {WINDOWS}, there AS (
  SELECT batch, run, topic, partition, sum(to_ms - from_ms)::BIGINT AS existing FROM spells GROUP BY ALL
), lost AS (
  SELECT batch, run, topic, partition, sum(to_ms - from_ms)::BIGINT AS unavailable, count(*) AS windows
  FROM windows GROUP BY ALL
)
SELECT batch, run, topic, partition, existing, coalesce(unavailable, 0), coalesce(windows, 0),
  CASE WHEN existing > 0 THEN 1 - coalesce(unavailable, 0)::DOUBLE / existing::DOUBLE END
FROM there LEFT JOIN lost USING (batch, run, topic, partition)"""


def elections() -> str:
    """Return the SQL that counts elections by strategy, rule, trigger and outcome."""
    return """
SELECT batch, run, strategy, rule, trigger,
  CASE WHEN leader IS NULL THEN 'nobody' WHEN NOT clean THEN 'unclean' ELSE 'clean' END AS outcome,
  count(*), count(DISTINCT (topic, partition)), min(t_ms), max(t_ms)
FROM transitions WHERE kind = 'LeaderElection' GROUP BY ALL"""


def isr_churn() -> str:
    """Return the SQL that counts replicas that left and joined ISRs, by broker and hour."""
    return f"""
WITH {STATE_INTERVALS}, changed AS (
  SELECT batch, run, topic, partition, t_ms - t_ms % {HOUR_MS} AS bucket, trigger = 'Leader' AS by_leader, isr, isr_before
  FROM spells WHERE is_change AND isr_before IS NOT NULL AND NOT gone_before AND isr <> isr_before
), moves AS (
  SELECT batch, run, topic, partition, bucket, by_leader, true AS has_left,
    unnest(list_filter(isr_before, lambda b: NOT list_contains(isr, b))) AS broker FROM changed
  UNION ALL
  SELECT batch, run, topic, partition, bucket, by_leader, false,
    unnest(list_filter(isr, lambda b: NOT list_contains(isr_before, b))) FROM changed
)
SELECT batch, run, bucket, broker, count(*) FILTER (has_left), count(*) FILTER (has_left AND by_leader),
  count(*) FILTER (NOT has_left), count(DISTINCT (topic, partition))
FROM moves GROUP BY batch, run, bucket, broker"""


def _integral(pieces: str, key: str) -> str:
    """Return SQL for the hourly integral of the sum of `pieces` (key, from_ms, to_ms, value): tables `parts`."""
    return f"""
deltas AS (
  SELECT {key}, t_ms, sum(delta) AS delta FROM (
    SELECT {key}, from_ms AS t_ms, value AS delta FROM {pieces} WHERE from_ms < to_ms
    UNION ALL SELECT {key}, to_ms, -value FROM {pieces} WHERE from_ms < to_ms) GROUP BY ALL
), levels AS (
  SELECT {key}, t_ms AS from_ms, coalesce(lead(t_ms) OVER w, end_ms) AS to_ms, sum(delta) OVER w AS level
  FROM deltas JOIN ends USING (batch, run) WINDOW w AS (PARTITION BY {key} ORDER BY t_ms)
), parts AS (
  SELECT {key}, bucket, sum(level * (least(to_ms, bucket + {HOUR_MS}) - greatest(from_ms, bucket)))::BIGINT AS integral
  FROM (
    SELECT *, unnest(range(from_ms - from_ms % {HOUR_MS}, to_ms, {HOUR_MS})) AS bucket FROM levels WHERE from_ms < to_ms)
  GROUP BY {key}, bucket
)
"""


def skew() -> str:
    """Return the SQL for the skew of leaders by hour: maximum divided by mean, and coefficient of variation."""
    return f"""
WITH {STATE_INTERVALS}, led AS (
  SELECT batch, run, leader AS broker, from_ms, to_ms, 1 AS value FROM spells WHERE leader <> -1
), {_integral("led", "batch, run, broker")}, known AS (
  SELECT batch, run, count(DISTINCT broker) AS n FROM (
    SELECT batch, run, split_part(path, '/', 4)::BIGINT AS broker FROM events
    WHERE regexp_matches(path, '^/brokers/ids/[0-9]+$') AND kind IN ('ZnodeCreated', 'ZnodeChanged', 'ZnodeDeleted')
    UNION SELECT batch, run, unnest(replicas) FROM spells) GROUP BY ALL
), sums AS (
  SELECT batch, run, bucket, sum(integral)::HUGEINT AS total, max(integral)::HUGEINT AS most,
    sum(integral::HUGEINT * integral::HUGEINT)::HUGEINT AS squares FROM parts GROUP BY ALL
)
SELECT batch, run, bucket, n, CASE WHEN total > 0 THEN (n * most)::DOUBLE / total::DOUBLE END,
  CASE WHEN total > 0 THEN sqrt((n * squares - total * total)::DOUBLE) / total::DOUBLE END
FROM sums JOIN known USING (batch, run)"""


def under_replicated() -> str:
    """Return the SQL for the hourly integral of the number of under-replicated partitions."""
    return f"""
WITH {STATE_INTERVALS}, short AS (
  SELECT batch, run, from_ms, to_ms, (len(isr) < wanted)::INT AS value FROM spells
), {_integral("short", "batch, run")}
SELECT batch, run, bucket, integral FROM parts"""


def loss_of_broker() -> str:
    """Return the SQL for what would be lost with each broker, as of the end of the history."""
    return f"""
WITH {ABSENCES}, {STATE_INTERVALS}, away AS (
  SELECT batch, run, list(broker) AS away FROM absences WHERE is_open AND NOT is_live GROUP BY ALL
), hosting AS (
  SELECT s.batch, s.run, topic, leader, min_isr, isr,
    list_filter(replicas, lambda b: NOT list_contains(coalesce(away, []), b)) AS live
  FROM (FROM spells WHERE is_open) s LEFT JOIN away USING (batch, run)
), counted AS (
  SELECT *, len(list_filter(live, lambda b: list_contains(isr, b))) AS k, unnest(live) AS broker FROM hosting
), judged AS (
  SELECT *, list_contains(isr, broker) AS in_sync FROM counted
)
SELECT batch, run, broker, count(*) FILTER (in_sync AND k = 1), count(*) FILTER (len(live) = 1),
  count(*) FILTER (in_sync AND k >= min_isr AND k > 1 AND k - 1 < min_isr), count(*) FILTER (leader = broker), count(*),
  count(DISTINCT topic) FILTER (in_sync AND k = 1)
FROM judged GROUP BY batch, run, broker"""


TWINS: dict[str, tuple[Callable[[], str], str, tuple[str, ...], str]] = {
    "availability": (
        availability,
        "availability",
        ("batch", "run", "topic", "partition", "existing_ms", "unavailable_ms", "windows", "availability"),
        "scope = 'partition'",
    ),
    "elections": (
        elections,
        "elections",
        ("batch", "run", "strategy", "rule", "trigger", "outcome", "elections", "partitions", "first_ms", "last_ms"),
        "true",
    ),
    "isr-churn": (
        isr_churn,
        "isr-churn",
        ("batch", "run", "bucket_ms", "broker", "left_isr", "left_by_leader", "joined_isr", "partitions"),
        "true",
    ),
    "skew of leaders": (
        skew,
        "skew",
        ("batch", "run", "bucket_ms", "brokers", "leaders_max_to_mean", "leaders_cv"),
        "leaders_max_to_mean IS NOT NULL",
    ),
    "under-replicated": (under_replicated, "health", ("batch", "run", "bucket_ms", "under_replicated_ms"), "true"),
    "loss-of-broker": (
        loss_of_broker,
        "loss-of-broker",
        (
            "batch",
            "run",
            "broker",
            "offline",
            "offline_if_unclean",
            "under_min_isr",
            "leaders_moved",
            "partitions",
            "topics_offline",
        ),
        "true",
    ),
}
"""Name -> the twin's SQL, the analysis, the columns that both have, and the rows of the analysis that are compared."""


def by_duckdb(dataset: Path, name: str) -> Rows:
    """Return a twin's rows, in no particular order."""
    with duckdb.connect() as connection:
        connection.execute(TABLES.format(dataset=dataset))
        return connection.execute(TWINS[name][0]()).fetchall()


def by_spark(spark: SparkSession, dataset: Path, name: str) -> Rows:
    """Return the analysis's rows with the same columns, in no particular order."""
    _, analysis, columns, chosen = TWINS[name]
    table = Dataset(dataset)
    events, transitions = spark.read.parquet(str(table.events())), spark.read.parquet(str(table.transitions()))
    found = ANALYSES[analysis].table(HistoryTables(events, transitions, Scope()))
    return [tuple(row) for row in found.where(chosen).select(*columns).collect()]


def assert_same(name: str, spark_rows: Rows, duckdb_rows: Rows) -> None:
    """Check that both gave the same numbers, to the last digit."""
    ours, theirs = (sorted(rows, key=_key) for rows in (spark_rows, duckdb_rows))
    different = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    assert len(ours) == len(theirs), f"{name}: {len(ours)} rows and {len(theirs)}; the first that differ: {different[:1]}"
    assert not different, f"{name}: {len(different)} rows differ, the first of them {different[0]}"


def _key(row: Sequence[Any]) -> str:
    return repr(row[:6])


def main(size: str | None = None) -> None:
    """Print the ratio for each analysis; both results are compared first."""
    began = time.perf_counter()
    spark = spark_session("local[2]", {"spark.sql.shuffle.partitions": "8"})
    print(f"\nSpark's session took {time.perf_counter() - began:.1f} s to start, apart from what follows")
    try:
        with tempfile.TemporaryDirectory() as folder:
            is_path = size is not None and not size.isdecimal()
            dataset = Path(size or "") if is_path else _made_up(spark, Path(folder) / "history", int(size or EVENTS))
            _compare(spark, dataset)
            print_work(spark)
            spark.stop()
            print("\nkcsim spark analyse all, processor seconds of the whole command:")
            for engine in EngineName:
                print(f"  {engine:<8} {_processor_seconds(engine, dataset, Path(folder) / engine):8.1f} s")
    finally:
        spark.stop()


def _processor_seconds(engine: EngineName, dataset: Path, out: Path) -> float:
    """Return the processor time of the command, its JVM included."""
    command = (
        "-m",
        "kcsim.scenarios",
        "spark",
        "analyse",
        "all",
        str(dataset),
        "--out",
        str(out),
        "--engine",
        engine,
    )
    before = processor_seconds_of_children()
    subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return processor_seconds_of_children() - before


def _made_up(spark: SparkSession, path: Path, events: int) -> Path:
    shape = Settings(brokers=30, racks=3, topics=100, partitions=2_000)
    generate_dataset(spark, replace(shape, length_ms=length_for(shape, events)), path)
    return path


def _compare(spark: SparkSession, dataset: Path) -> None:
    count = spark.read.parquet(str(Dataset(dataset).events())).count()
    for name in TWINS:
        assert_same(name, by_spark(spark, dataset, name), by_duckdb(dataset, name))

        def duck(name: str = name) -> Measured:
            return measure("DuckDB", count, lambda: by_duckdb(dataset, name))

        def ours(name: str = name) -> Measured:
            return measure("Spark, local[2]", count, lambda: by_spark(spark, dataset, name))

        print_table(f"{name}, {count:,} events, the same numbers from both", duck(), ours())
