"""One campaign that all tests of campaigns share."""

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.campaigns.campaign_options import Traces
from kcsim.scenarios.analysis.campaigns.exploring import explore
from kcsim.scenarios.analysis.campaigns.gathering import run_once
from kcsim.scenarios.analysis.campaigns.trial import DrawnScenarios
from kcsim.scenarios.explore.profile import load_profile

SEEDS = range(8, 16)
"""The seeds of the campaign; some of their runs have outages, and some lose records."""


@pytest.fixture(scope="session")
def drawn() -> DrawnScenarios:
    return DrawnScenarios(load_profile("small"))


@pytest.fixture(scope="session")
def trials(spark: SparkSession, drawn: DrawnScenarios) -> Iterator[DataFrame]:
    """Yield the trials of the eight seeds, with their traces."""
    kept = run_once(explore(spark, drawn, SEEDS, traces=Traces.ALL, tasks=3))
    yield kept
    kept.unpersist()
