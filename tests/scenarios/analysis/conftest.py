"""One SparkSession for all tests of the part of kcsim that runs on Spark."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.requirements import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # A test has a few rows: to generate and compile code for them, and to re-plan in between, costs more than it saves.
    # test_spark_session.py runs a command with Spark's own choices.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Otherwise each hash table and each sort takes up to 64 MiB, and most of the time goes into clearing them.
    "spark.buffer.pageSize": "1m",
    # Java's optimising compiler and the verification of Spark's own classes cost more than they save, too.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms512m -Xmn256m -XX:MetaspaceSize=256m"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    # See FOR_LITTLE_DATA in spark_session.py.
    " -Xss64m",
}


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Yield a session with two cores and few partitions per shuffle: a test's data is small.

    Skip, with the reason, without Java.
    """
    require("java")
    from kcsim.scenarios.analysis.tables.spark_session import spark_session

    session = spark_session("local[2]", SMALL)
    yield session
    session.stop()
