"""SQL on a history: views of its tables and analyses, and the replay as a table function."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.folding.arrow_rows import MISMATCH
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.durations import DAY_MS
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.replay import replayed
from kcsim.scenarios.analysis.sql import register_sql

pytestmark = pytest.mark.slow

SMALL = Settings(brokers=5, racks=1, topics=4, partitions=20, length_ms=20 * DAY_MS, unclean=0.5)
WORDS = "SELECT * FROM replay(TABLE(facts) PARTITION BY (batch, run))"


@pytest.fixture(scope="module")
def histories(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    """Return two datasets of one run each."""
    folder = tmp_path_factory.mktemp("histories")
    for seed in (1, 2):
        generate_dataset(spark, replace(SMALL, seed=seed, batch=f"b{seed}"), folder / str(seed))
    return [folder / "1", folder / "2"]


def rows(table: DataFrame) -> Counter[Any]:
    return Counter(map(str, table.collect()))


@pytest.mark.parametrize("what_if", [None, WhatIf(unclean=True)], ids=["as it was", "unclean"])
def test_the_table_function_returns_what_the_replay_returns(
    spark: SparkSession, histories: Sequence[Path], what_if: WhatIf | None
) -> None:
    assert register_sql(spark, histories, what_if=what_if) == ["events", "facts", "transitions", "state_intervals"]
    found, wanted = spark.sql(WORDS), replayed(spark.table("events"), what_if)
    assert found.columns == wanted.columns
    assert rows(found) == rows(wanted)
    assert found.where(F.col("kind") != MISMATCH).select("batch").distinct().count() == 2


def test_an_analysis_is_a_view_with_underscores_in_its_name(spark: SparkSession, histories: Sequence[Path]) -> None:
    names = register_sql(spark, str(histories[0]), ["availability", "unclean-elections"])
    assert names[-2:] == ["availability", "unclean_elections"]
    (row,) = spark.sql("SELECT partitions FROM availability WHERE scope = 'cluster'").collect()
    assert row.partitions == SMALL.partitions
    elections = spark.sql("SELECT count(*) AS elections FROM transitions WHERE clean = false").collect()[0].elections
    assert spark.table("unclean_elections").count() == elections > 0


def test_an_analysis_that_does_not_exist_is_refused_before_anything_is_read(spark: SparkSession) -> None:
    with pytest.raises(KeyError, match="availabilty"):
        register_sql(spark, "no such dataset", ["availabilty"])
