"""Scenario files for tests."""

from pathlib import Path

BASE = """\
name: try-it
description: For a test.
cluster:
  brokers: 3
timetable:
  - start: all
  - wait: {controller: any, within: 10s}
expect:
  - controller: any
"""

WITH_TOPICS = BASE.replace(
    "timetable:",
    """\
  topics:
    orders: {assignment: {0: [1, 2, 3], 1: [2, 3, 1]}}
    clicks: {partitions: 4, replication-factor: 2}
timetable:""",
)
"""The same with two topics; its steps begin in line 9."""


def written(directory: Path, text: str) -> Path:
    """A scenario file with this text."""
    path = directory / "try-it.yaml"
    path.write_text(text, encoding="utf-8")
    return path
