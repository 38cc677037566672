"""One SparkSession for all tests of the part that runs on Spark."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.replay.tables.spark_session import spark_session
from tests.requirements import require

SMALL = {
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "4",
    # Half the time of a short life goes into compiling well what is run only a few times.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, and few partitions in a shuffle: what a test has is small. Skipped, with the reason, without a Java."""
    require("java")
    session = spark_session("local[2]", SMALL)
    yield session
    session.stop()
