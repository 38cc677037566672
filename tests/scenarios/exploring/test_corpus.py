"""A corpus of seeds in which nothing may go wrong that is not a known fault of Kafka's own.

In every run of the tests the 2,000 seeds of the smallest profile, and a few of the standard one: KCSIM_EXPLORE_SEEDS=N are
as many of these.
"""

import os

import pytest

from kcsim.scenarios.exploring.profile import load_profile
from kcsim.scenarios.exploring.trying import try_seed

SMALL_SEEDS = 2_000
STANDARD_SEEDS = int(os.environ.get("KCSIM_EXPLORE_SEEDS", "50"))
AT_A_TIME = 25


def lots(count: int) -> list[range]:
    return [range(first, min(first + AT_A_TIME, count)) for first in range(0, count, AT_A_TIME)]


def unknown_violations(profile: str, seeds: range) -> list[str]:
    drawn_from = load_profile(profile)
    found = ((seed, one) for seed in seeds for one in try_seed(drawn_from, seed).unknown)
    return [f"kcsim explore --profile {profile} --seeds {seed}..{seed}: {one.key}: {one.sentence}" for seed, one in found]


@pytest.mark.parametrize("seeds", lots(SMALL_SEEDS), ids=str)
def test_no_small_scenario_has_an_unknown_violation(seeds: range) -> None:
    assert unknown_violations("small", seeds) == []


@pytest.mark.parametrize("seeds", lots(STANDARD_SEEDS), ids=str)
def test_no_standard_scenario_has_an_unknown_violation(seeds: range) -> None:
    assert unknown_violations("standard", seeds) == []
