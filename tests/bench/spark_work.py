"""Spark's own metrics of the work that it has done."""

from typing import Any

from pyspark.sql import SparkSession

MB = 1_000_000


def print_work(spark: SparkSession) -> None:
    """Print Spark's own metrics of all its stages."""
    context: Any = spark.sparkContext
    gateway = context._gateway
    none, quantiles = gateway.jvm.java.util.ArrayList(), gateway.new_array(gateway.jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(none, False, False, quantiles, none)
    stage_data = [stages.apply(n) for n in range(stages.size())]
    shuffled = sum(stage.shuffleWriteBytes() for stage in stage_data)
    spilled = sum(stage.memoryBytesSpilled() + stage.diskBytesSpilled() for stage in stage_data)
    print(
        f"\nSpark's own metrics, {len(stage_data)} stages: {shuffled / MB:,.1f} MB shuffled, {spilled / MB:,.1f} MB spilled"
    )
