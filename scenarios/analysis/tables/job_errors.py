"""One sentence for an exception of Spark: what went wrong, without the eighty lines of Java's stack."""

import re

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError)
"""The exceptions of a job that fails; ConnectionError if the JVM has ended."""

_TRACEBACK = "Traceback (most recent call last):"
_CAUSED_BY = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
_NOISE = (
    re.compile(r"^An error occurred while calling \S+\s*:?\s*"),
    re.compile(r"^(?:[a-z]\w*\.)+(?=[A-Z])"),  # the package of an exception
    re.compile(r"^SparkException: "),
    re.compile(r"^Job aborted due to stage failure: .*? most recent failure: Lost task .*? \(TID \d+\) \(.*?\): "),
    re.compile(r"^(?:[a-z]\w*\.)+(?=[A-Z])"),
    re.compile(r"^SparkException: "),
    re.compile(r"^\[[A-Z0-9_.]+\] "),
    re.compile(r"\.?\s*SQLSTATE: \w+$"),
)


def sentence(error: BaseException) -> str:
    """Return one line: what went wrong, and after a semicolon the cause, if the exception has both."""
    if isinstance(error, OSError) and error.filename:  # a file system that cannot be reached
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, (ConnectionError, Py4JNetworkError)):
        return "Spark's JVM has ended: it was killed, or out of memory (--conf spark.driver.memory=8g gives it more)"
    text = str(error)
    if _TRACEBACK in text:
        return f"a worker failed: {_raised(text)}"
    first = _without_noise(_first_line(text))
    causes: list[str] = _CAUSED_BY.findall(text)
    root = _without_noise(causes[-1]) if causes else ""
    return f"{first}; {root}" if root and root not in first else first


def _raised(text: str) -> str:
    """Return the exception at the end of a Python traceback."""
    lines = text.rpartition(_TRACEBACK)[2].splitlines()
    return next((line.strip() for line in lines if line.strip() and not line.startswith((" ", "\t"))), "no reason was given")


def _first_line(text: str) -> str:
    """Return the first line that is not py4j's own, which only names the call of Java."""
    lines = [line.lstrip(": ") for line in text.splitlines() if not line.startswith("An error occurred while calling")]
    return next((line for line in lines if line.strip()), "no reason was given")


def _without_noise(line: str) -> str:
    for noise in _NOISE:
        line = noise.sub("", line)
    return line.strip().rstrip(".")
