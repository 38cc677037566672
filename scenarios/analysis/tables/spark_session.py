"""The SparkSession: quiet, in UTC, on any suitable Java, with this process's own Python in the executors.

**On this machine** (`local[N]`, `local-cluster[…]`) everything binds to 127.0.0.1, and nothing is left behind: no folder in
the current one, no JVM, no temporary file. The driver's memory is sized by the data where its size is known, and at most a
quarter of the machine's, unless `spark.driver.memory` is given.

**On a cluster** (`spark://…`, `yarn`, `k8s://…`) the user's settings take precedence over ours. The executors need this
package in the Python that they run: installed there with pip, or packed with `venv-pack` into an archive of a virtual
environment, which `spark.archives=venv.tar.gz#venv` with `spark.pyspark.python=./venv/bin/python` distributes. Its version
of Python must be ours.

**Under spark-submit**, and where a session is active already, that session is used: its master and its JVM stay as they are.
"""

import atexit
import logging
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.tables.driver_jvm import LOG_VARIABLE, DriverJvm, start_driver
from kcsim.scenarios.analysis.tables.location import s3_endpoint
from kcsim.scenarios.analysis.tables.memory_limit import memory_limit
from kcsim.zk.servers.java import find_java

DEFAULT_MASTER = "local[*]"
OURS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.showConsoleProgress": "false",
    # The tables that the analyses share are kept serialized. Java's serialization took a fifth of the executors' time.
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryoserializer.buffer.max": "1g",  # the largest object, such as the rows that a task returns; else 64 MB
}
ON_THIS_MACHINE = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Spark describes each plan anew whenever it changes, for a page that is off.
    "spark.sql.maxPlanStringLength": "2000",
    "spark.sql.ui.explainMode": "simple",
    # PySpark looks up the place in our code for each operation on a table, for messages of errors that nobody is shown.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.executor.heartbeatInterval": "2s",  # a heartbeat tells how many rows a task has read
}
PARTITIONS_PER_CORE = 2
"""Parts of a shuffle on this machine; Spark's default of 200 is meant for a cluster. Little data has one for each core."""
BYTES_PER_PARTITION = 128_000_000
"""Bytes of Parquet for each part of a shuffle, so that the memory of a task holds a part however much data there is."""
LITTLE_BYTES = 250_000_000
"""Bytes of Parquet, of some ten million events: for less of them FOR_LITTLE_DATA is better, on a few cores."""
LEAST_MEMORY, MOST_MEMORY = 1 * 2**30, 16 * 2**30
MEMORY_PER_BYTE = 16
"""Bytes of memory for each byte of Parquet: a compressed history takes some ten times its size as Spark's rows."""
FOR_LITTLE_DATA = {
    # Code runs too seldom for the optimising compiler, and the parallel collector takes less of the processor than G1.
    # When Python fails in a streaming query, Spark applies a recursive pattern to its message, which may be long: with the
    # usual megabyte of stack, the query's thread ends there, and does not say why. Without the optimising compiler, Java
    # reserves less memory for compiled code than all analyses take.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseParallelGC -Xss64m",
    # The shuffles are small from the beginning: to plan the rest of a query anew after each of them saves nothing.
    "spark.sql.adaptive.enabled": "false",
}
TINY_BYTES = 2_000_000
"""Bytes, of some ten thousand events as JSON: to generate and compile code for them costs more than it saves."""
FOR_TINY_DATA = {
    **FOR_LITTLE_DATA,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.buffer.pageSize": "1m",  # otherwise each hash table and each sort takes up to 64 MiB, and clears them
}
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of PySpark that write an exception's message once more to stderr, with all of Java's lines."""
GATEWAY = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")


def spark_session(
    master: str = DEFAULT_MASTER, conf: Mapping[str, str] | None = None, bytes_read: int | None = None
) -> SparkSession:
    """Return the session of this process; start it if there is none yet.

    Args:
        master: Spark's master URL. Ignored under spark-submit, which has set the master.
        bytes_read: the size of the data that passes through the JVM; None: not known.
        conf: Spark's settings; they take precedence over our own.

    Raises: NoJavaError, DriverError; any exception that Spark raises for the settings.
    """
    settings = {**_ours(master, bytes_read), **_for_amount(master, bytes_read), **(conf or {})}
    builder = SparkSession.builder.appName("kcsim")
    for name, value in settings.items():
        builder = builder.config(name, value)
    if not _is_submitted():
        builder = builder.master(master)
        if not is_active():
            _choose_python(master, settings)
        if SparkContext._gateway is None:
            return _in_own_jvm(builder, master, settings)
    return builder.getOrCreate()


def is_active() -> bool:
    """Return whether there is a session already, which `spark_session` would return."""
    return SparkContext._active_spark_context is not None


def is_on_this_machine(master: str) -> bool:
    """Return whether a master has its executors on this machine."""
    return master.startswith("local")


def is_in_this_process(master: str) -> bool:
    """Return whether a master has its executors in the driver's JVM."""
    return master == "local" or master.startswith("local[")


def _is_submitted() -> bool:
    return all(name in os.environ for name in GATEWAY)


def _of_object_stores() -> dict[str, str]:
    """Return what S3A needs beside what Spark takes from the environment: a service of its own has no names for buckets."""
    return {"spark.hadoop.fs.s3a.path.style.access": "true"} if s3_endpoint() else {}


def _for_amount(master: str, bytes_read: int | None) -> Mapping[str, str]:
    if not _is_little(master, bytes_read):
        return {}
    # 0: Python reads the data, and how many rows of it come to Spark is not known.
    return FOR_TINY_DATA if 0 < (bytes_read or 0) < TINY_BYTES else FOR_LITTLE_DATA


def _is_little(master: str, bytes_read: int | None) -> bool:
    return bytes_read is not None and bytes_read < LITTLE_BYTES and is_in_this_process(master)


def _ours(master: str, bytes_read: int | None) -> dict[str, str]:
    if _is_submitted() or is_active() or not is_on_this_machine(master):
        return {**OURS, **_of_object_stores()}
    warehouse = Path(tempfile.gettempdir(), "kcsim-spark-warehouse")  # Spark creates it for its first table; we have none
    return {
        **OURS,
        **_of_object_stores(),
        **ON_THIS_MACHINE,
        "spark.sql.shuffle.partitions": str(shuffle_partitions(master, bytes_read)),
        "spark.driver.memory": f"{driver_memory(bytes_read, memory_limit()) // 2**20}m",
        "spark.sql.warehouse.dir": warehouse.as_uri(),
    }


def shuffle_partitions(master: str, bytes_read: int | None) -> int:
    """Return the parts of a shuffle on this machine. Args: bytes_read: None: not known."""
    per_core = 1 if _is_little(master, bytes_read) else PARTITIONS_PER_CORE
    return max(per_core * cores_of(master), (bytes_read or 0) // BYTES_PER_PARTITION)


def cores_of(master: str) -> int:
    """Return how many tasks run at a time: local[N], local[*], local-cluster[workers,cores,memory]."""
    numbers = [int(number) for number in re.findall(r"[0-9]+", master)[:2]]
    if master.startswith("local-cluster"):
        return prod(numbers)
    return numbers[0] if numbers else (os.cpu_count() or 1) if "*" in master else 1


def driver_memory(bytes_read: int | None, limit: int) -> int:
    """Return the driver's memory in bytes. Args: bytes_read: None: not known. limit: the machine's or the container's."""
    quarter = min(max(limit // 4, LEAST_MEMORY), MOST_MEMORY)
    return quarter if bytes_read is None else min(quarter, LEAST_MEMORY + MEMORY_PER_BYTE * bytes_read)


def _choose_python(master: str, settings: Mapping[str, str]) -> None:
    """Choose the Python that the executors run. PySpark takes it only from the environment."""
    if is_on_this_machine(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    elif chosen := settings.get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = chosen


def _in_own_jvm(builder: Any, master: str, settings: Mapping[str, str]) -> SparkSession:
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    jvm = start_driver(find_java(), home, settings, is_on_this_machine(master))
    atexit.register(_end, jvm)
    if LOG_VARIABLE not in os.environ:
        _quiet_python()
    variables = dict(zip(GATEWAY, (str(jvm.port), jvm.secret), strict=True))
    os.environ.update(variables)
    try:
        session: SparkSession = builder.getOrCreate()
    finally:
        for name in variables:  # else a child process would take the JVM for its own
            del os.environ[name]
        if SparkContext._gateway is not None:
            SparkContext._gateway.proc = jvm
    if master.startswith("local-cluster"):
        jvm.owns(home / "work" / session.sparkContext.applicationId)  # of the workers; no setting moves it elsewhere
    return session


def _quiet_python() -> None:
    """Disable the logs of PySpark and py4j that repeat the exceptions that they raise."""
    for name in LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)


def end_jvm() -> None:
    """End the JVM that `spark_session` started, at once, with every job in it; do nothing if it started none."""
    jvm = getattr(SparkContext._gateway, "proc", None)
    if isinstance(jvm, DriverJvm):
        _end(jvm)


def _end(jvm: DriverJvm) -> None:
    """Stop the JVM, and suppress what PySpark and py4j log about its end where the session was not stopped before."""
    if LOG_VARIABLE not in os.environ:
        logging.getLogger().addFilter(_is_of_others)
    context = SparkContext._active_spark_context
    if context is not None and hasattr(context, "_accumulatorServer"):
        vars(context._accumulatorServer)["handle_error"] = lambda *_: None
    jvm.stop()


def _is_of_others(record: logging.LogRecord) -> bool:
    """Return False for py4j's message to the root logger that there is no JVM to send a command to."""
    return not str(record.msg).endswith("while sending command.")
