"""One campaign for all tests of campaigns."""

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.exploring.profile import load_profile
from kcsim.scenarios.replay.campaigns.exploring import explore
from kcsim.scenarios.replay.campaigns.gathering import run_once
from kcsim.scenarios.replay.campaigns.trial import Drawn
from kcsim.scenarios.replay.campaigns.vocabulary import Traces

SEEDS = range(8, 16)
"""Among them runs with outages, and some that lose records."""


@pytest.fixture(scope="session")
def drawn() -> Drawn:
    return Drawn(load_profile("small"))


@pytest.fixture(scope="session")
def trials(spark: SparkSession, drawn: Drawn) -> Iterator[DataFrame]:
    """Eight seeds, with their traces."""
    kept = run_once(explore(spark, drawn, SEEDS, traces=Traces.ALL, tasks=3))
    yield kept
    kept.unpersist()
