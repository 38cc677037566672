"""Errors in Spark are reported in one sentence."""

import pytest
from pyspark.errors import PySparkException

from kcsim.scenarios.analysis.tables.job_errors import sentence

CALLED = "An error occurred while calling o141.parquet.\n: "
SPARK = "org.apache.spark.SparkException: "
LOST = (
    f"{SPARK}Job aborted due to stage failure: Task 1 in stage 3.0 failed 1 times, most recent failure: "
    "Lost task 1.0 in stage 3.0 (TID 7) (127.0.0.1 executor driver): "
)
WHERE = "\n\tat org.apache.hadoop.fs.FileSystem.create(FileSystem.java:1211)\n\tat java.lang.Thread.run(Thread.java:840)\n"
FAILED_READ = f"{SPARK}[FAILED_READ_FILE.NO_HINT] Encountered error while reading file a.parquet.  SQLSTATE: KD001"
TRACEBACK = (
    'Traceback (most recent call last):\n  File "worker.py", line 1, in invoke_udf\n    work()\n    ^^^^\n'
    "ValueError: row 7 is odd\n"
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            CALLED + "org.apache.spark.SparkException: Could not parse Master URL: 'foo'" + WHERE,
            "Could not parse Master URL: 'foo'",
        ),
        (
            CALLED + LOST + "java.io.IOException: Mkdirs failed to create file:/x" + WHERE,
            "IOException: Mkdirs failed to create file:/x",
        ),
        (
            CALLED + FAILED_READ + WHERE + "Caused by: java.lang.RuntimeException: a.parquet is not a Parquet file" + WHERE,
            "Encountered error while reading file a.parquet; RuntimeException: a.parquet is not a Parquet file",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: file:/nowhere. SQLSTATE: 42K03", "Path does not exist: file:/nowhere"),
        (f"An exception was thrown from the Python worker:\n{TRACEBACK}", "a worker failed: ValueError: row 7 is odd"),
        (
            CALLED + LOST + "org.apache.spark.api.python.PythonException: " + TRACEBACK + WHERE,
            "a worker failed: ValueError: row 7 is odd",
        ),
        ("", "no reason was given"),
    ],
)
def test_the_cause_is_reported_and_not_where_in_java_it_was(message: str, expected: str) -> None:
    assert sentence(PySparkException(message=message)) == expected


def test_a_jvm_that_is_gone_is_reported_as_such() -> None:
    assert sentence(ConnectionRefusedError(111, "Connection refused")).startswith("Spark's JVM has ended")


def test_a_file_system_that_cannot_be_reached_is_named() -> None:
    refused = ConnectionRefusedError(111, "Connection refused", "hdfs://host:8020")
    assert sentence(refused) == "hdfs://host:8020: Connection refused"
