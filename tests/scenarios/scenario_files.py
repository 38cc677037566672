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
"""BASE with two topics; its steps begin in line 9."""

WITH_WORKLOAD = (
    WITH_TOPICS
    + """\
workload:
  producers:
    writer: {topics: orders, records: 10}
    endless: {topics: [orders, clicks], rate: 5}
  groups:
    billing: {members: [c1, c2], topics: orders}
"""
)
"""A scenario with two producers, the first of them in line 15, and two consumers, whose group is in line 18."""


def written(directory: Path, text: str) -> Path:
    """Write a scenario file with this text and return its path."""
    path = directory / "try-it.yaml"
    path.write_text(text, encoding="utf-8")
    return path
