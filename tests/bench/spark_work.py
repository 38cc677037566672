"""What Spark itself tells of the work that it has done."""

from typing import Any

from pyspark.sql import SparkSession

MB = 1_000_000


def print_work(spark: SparkSession) -> None:
    """What Spark's own metrics say of all its stages."""
    context: Any = spark.sparkContext
    gateway = context._gateway
    none, quantiles = gateway.jvm.java.util.ArrayList(), gateway.new_array(gateway.jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(none, False, False, quantiles, none)
    told = [stages.apply(n) for n in range(stages.size())]
    shuffled = sum(stage.shuffleWriteBytes() for stage in told)
    spilled = sum(stage.memoryBytesSpilled() + stage.diskBytesSpilled() for stage in told)
    print(f"\nSpark's own metrics, {len(told)} stages: {shuffled / MB:,.1f} MB shuffled, {spilled / MB:,.1f} MB spilled")
