"""The names by which Spark's own readers and writers reach files: Hadoop's file systems, in the JVM."""

from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.tables.location import Location, NoFileSystemError, RemotePath

ARTIFACTS = {"s3a": "org.apache.hadoop:hadoop-aws"}
"""What Spark needs beyond its own jars, of the version of Hadoop that it has."""


def hadoop_name(spark: SparkSession, place: Location) -> str:
    """Return the name of a place for Spark. Raises: NoFileSystemError if its JVM has no file system for it."""
    if isinstance(place, Path):
        return str(place)
    _require(spark, place)
    return str(place)


def _require(spark: SparkSession, place: RemotePath) -> None:
    hadoop = spark.sparkContext._jvm.org.apache.hadoop  # type: ignore[union-attr]
    try:
        hadoop.fs.FileSystem.getFileSystemClass(place.scheme, spark.sparkContext._jsc.hadoopConfiguration())
    except Py4JJavaError:
        needed = f"{ARTIFACTS.get(place.scheme, place.scheme)}:{hadoop.util.VersionInfo.getVersion()}"
        brings = f"--conf spark.jars.packages={needed} brings it"
        raise NoFileSystemError(f"{place}: {place.scheme}:// needs {needed} in Spark's class path; {brings}") from None
