"""The description of Spark's jobs, which Spark's UI shows beside their figures."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

PROPERTY = "spark.job.description"


@contextmanager
def job_description(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs that this thread starts within the context."""
    before = spark.sparkContext.getLocalProperty(PROPERTY)
    spark.sparkContext.setLocalProperty(PROPERTY, text)
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty(PROPERTY, before)  # type: ignore[arg-type]  # None removes it
