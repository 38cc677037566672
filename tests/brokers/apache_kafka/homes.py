"""Folders that look like an installation of Apache Kafka, for tests of how installations are recognised."""

from collections.abc import Iterable
from pathlib import Path

COMPANY = ("kafka-clients-2.8.2.jar", "scala-library-2.13.5.jar", "slf4j-api-1.7.30.jar")
"""Jars that lie beside the broker's own jar."""


def make_home(place: Path, jars: Iterable[str]) -> Path:
    """Make a folder whose libs folder holds empty files of these names."""
    libs = place / "libs"
    libs.mkdir(parents=True)
    for jar in jars:
        (libs / jar).touch()
    return place
