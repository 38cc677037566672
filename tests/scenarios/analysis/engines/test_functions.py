"""The functions of columns on both engines: the same values of the same expressions, where their languages differ."""

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.engines.duckdb import reading
from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import duckdb_engine
from kcsim.scenarios.analysis.engines.duckdb.types import fields_of, type_of
from kcsim.scenarios.analysis.engines.frames import DataFrame, F, Window, using
from kcsim.scenarios.analysis.tables.events_table import spark_schema

SCHEMA = pa.schema(
    [("n", pa.int64()), ("text", pa.string()), ("json", pa.string()), ("list", pa.list_(pa.int64())), ("flag", pa.bool_())]
)
ROWS = [
    (1, "/brokers/ids/7", '{"rack": "r1", "leader": 3, "isr": [3, 1], "p": {"0": [1], "1": []}}', [3, 1, 2, 1], True),
    (2, " 12 ", '{"rack": null, "leader": "x", "isr": [1]}', [], False),
    (3, "1.5", "{broken", None, None),
    (4, "-3", '[{"rack": 1}]', [2], True),
    (5, "", '{"config": {"min.insync.replicas": "2"}, "rack": {"a": [1, 2]}}', [9, 9], False),
    (6, None, None, [1], None),
    (7_654_321_987, "99999999999999999999", "5", [1, 2, 3], True),
]
Expression = Callable[[], Any]
STATE = "leader BIGINT, isr ARRAY<BIGINT>, p MAP<STRING, ARRAY<BIGINT>>"
EXPRESSIONS: dict[str, Expression] = {
    "text to number": lambda: F.col("text").try_cast("long"),
    "last part": lambda: F.substring_index("text", "/", -1),
    "first part": lambda: F.substring_index("text", "i", 1),
    "group of a pattern": lambda: F.regexp_extract("text", "^/([a-z]+)/", 1),
    "path of JSON": lambda: F.get_json_object("json", "$.rack"),
    "path with dots": lambda: F.get_json_object("json", "$['config']['min.insync.replicas']"),
    "field of JSON": lambda: F.from_json("json", STATE)["leader"],
    "list of JSON": lambda: F.from_json("json", STATE)["isr"],
    "size": lambda: F.size("list"),
    "without": lambda: F.array_except("list", F.array(F.lit(1)).cast("array<bigint>")),
    "without nothing": lambda: F.array_except("list", F.array().cast("array<bigint>")),
    "in both": lambda: F.array_intersect("list", F.array(F.lit(2), F.lit(3)).cast("array<bigint>")),
    "different ones": lambda: F.array_distinct("list"),
    "sorted": lambda: F.array_sort(F.array_distinct("list")),
    "one after the other": lambda: F.concat("list", F.filter("list", lambda x: x > 1)),
    "contained": lambda: F.array_contains("list", F.lit(2).cast("bigint")),
    "element": lambda: F.try_element_at("list", F.lit(2)),
    "mapped": lambda: F.transform("list", lambda x: F.size(F.filter("list", lambda y: y == x))),
    "greatest": lambda: F.greatest(F.col("n"), F.try_element_at("list", F.lit(1))),
    "three-valued": lambda: (F.col("flag") & (F.col("n") > 3)) | ~F.col("flag"),
    "same or both null": lambda: F.col("flag").eqNullSafe(F.col("n") > 3),
    "rounded": lambda: F.round(-F.log10(F.lit(1.0) / F.col("n").cast("double")), 4),
    "rounded half": lambda: F.round(F.lit(0.00005) * F.col("n").cast("double"), 4),
    "section": lambda: F.floor(F.col("n") / 86_400_000),
    "remainder": lambda: F.col("n") - F.col("n") % 3,
    "exact square": lambda: (F.col("n").cast("decimal(18,0)") * F.col("n").cast("decimal(18,0)")).cast("double"),
    "sum so far": lambda: F.sum("n").over(Window.partitionBy("flag").orderBy("text")),
    "latest": lambda: F.last("text", ignorenulls=True).over(
        Window.partitionBy("flag").orderBy("n").rowsBetween(Window.unboundedPreceding, -1)
    ),
    "close before": lambda: F.count("*").over(Window.orderBy("n").rangeBetween(-2, 0)),
}
AGGREGATES: dict[str, Expression] = {
    "different pairs": lambda: F.count_distinct("flag", "text"),
    "different structs": lambda: F.count_distinct(F.struct("flag", "text")),
    "set": lambda: F.array_sort(F.collect_set("flag")),
    "value of the greatest": lambda: F.max_by("text", F.struct((F.col("n") % 5).alias("first"), "n")),
    "value of the least": lambda: F.min_by("text", F.when(F.col("text").isNotNull(), F.struct("n"))),
    "any": lambda: F.bool_or("flag"),
    "looked up": lambda: F.map_from_entries(F.collect_list(F.struct("n", "text"))),
}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in ROWS], schema=SCHEMA)


def on_both(spark: SparkSession, rows: pa.Table, made: Callable[[DataFrame], DataFrame]) -> tuple[Any, Any]:
    """Return the rows of a table that is made of others, on Spark and on DuckDB."""
    on_spark = made(spark.createDataFrame(rows.to_pylist(), spark_schema(rows.schema))).collect()
    with duckdb_engine() as engine, using(engine):
        given: Any = reading.stored(engine.queries, rows.to_batches(), rows.schema)
        return [tuple(row) for row in on_spark], [tuple(row) for row in made(given).collect()]


def test_expressions(spark: SparkSession, rows: pa.Table) -> None:
    def made(table: DataFrame) -> DataFrame:
        return table.select("n", *(make().alias(name) for name, make in EXPRESSIONS.items())).orderBy("n")

    for on_spark, on_duckdb in zip(*on_both(spark, rows, made), strict=True):
        names = ("n", *EXPRESSIONS)
        assert dict(zip(names, on_duckdb, strict=True)) == dict(zip(names, on_spark, strict=True))


def test_aggregates(spark: SparkSession, rows: pa.Table) -> None:
    on_spark, on_duckdb = on_both(
        spark, rows, lambda table: table.agg(*(make().alias(name) for name, make in AGGREGATES.items()))
    )
    assert dict(zip(AGGREGATES, on_duckdb[0], strict=True)) == dict(zip(AGGREGATES, on_spark[0], strict=True))


def test_percentiles_to_the_last_digit(spark: SparkSession) -> None:
    draw = random.Random(1)
    given = [{"g": group, "ms": draw.randrange(3_000_000)} for group in range(200) for _ in range(group % 67 + 1)]
    table = pa.Table.from_pylist(given, schema=pa.schema([("g", pa.int64()), ("ms", pa.int64())]))
    shares = (0.5, 0.9, 0.99, 1.0)
    on_spark, on_duckdb = on_both(
        spark, table, lambda t: t.groupBy("g").agg(*(F.percentile("ms", s).alias(f"p{s}") for s in shares)).orderBy("g")
    )
    assert on_duckdb == on_spark


def test_types() -> None:
    assert type_of("array<struct<a: bigint, b: map<string, array<bigint>>>>") == (
        'STRUCT("a" BIGINT, "b" MAP(VARCHAR, BIGINT[]))[]'
    )
    assert type_of("decimal(18,0)") == "HUGEINT"
    assert fields_of("leader BIGINT, isr ARRAY<BIGINT>") == {"leader": "BIGINT", "isr": "BIGINT[]"}
