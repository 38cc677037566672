"""A corpus of seeds whose runs may fail only by a known bug of Kafka.

The first 2,000 seeds of the smallest profile and of the standard one each night, some of them in the other targets.
"""

import pytest

from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.trial import run_seed
from tests.tiers import tiered

SEEDS = 2_000
AT_A_TIME = 20
RANGES = [range(first, first + AT_A_TIME) for first in range(0, SEEDS, AT_A_TIME)]


def unknown_violations(profile: str, seeds: range) -> list[str]:
    drawn_from = load_profile(profile)
    found = ((seed, one) for seed in seeds for one in run_seed(drawn_from, seed).violations)
    return [f"kcsim explore --profile {profile} --seeds {seed}..{seed}: {one.key}: {one.sentence}" for seed, one in found]


@pytest.mark.parametrize("seeds", tiered(RANGES, fast=80, slow=4), ids=str)
def test_no_small_scenario_has_an_unknown_violation(seeds: range) -> None:
    assert unknown_violations("small", seeds) == []


@pytest.mark.parametrize("seeds", tiered(RANGES, fast=0, slow=40), ids=str)
def test_no_standard_scenario_has_an_unknown_violation(seeds: range) -> None:
    assert unknown_violations("standard", seeds) == []
