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


def written(directory: Path, text: str) -> Path:
    """A scenario file with this text."""
    path = directory / "try-it.yaml"
    path.write_text(text, encoding="utf-8")
    return path
