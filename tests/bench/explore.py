"""Seeds that `kcsim explore` runs per minute of processor time, by profile, on one processor."""

import time

from kcsim.scenarios.explore.garbage_collection import garbage_collected_seldom
from kcsim.scenarios.explore.known_bugs import known_bugs
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.trial import run_seed

PROFILES = ("standard", "network", "admin", "zookeeper", "records", "small")
SEEDS = range(90_000, 90_020)


def main() -> None:
    """Print how many seeds, and how much of the processor's time an event of the log takes on average."""
    print("\nRandom scenarios, with their invariants checked, judged and summarized")
    for name in PROFILES:
        profile, bugs = load_profile(name), known_bugs()
        run_seed(profile, SEEDS[0], bugs)  # warm-up: the time of imports is not measured
        began_s = time.process_time()
        with garbage_collected_seldom():
            events = sum(run_seed(profile, seed, bugs).events for seed in SEEDS)
        taken_s = time.process_time() - began_s
        print(f"  {name:<10} {len(SEEDS) / taken_s * 60:7,.0f} seeds a minute, {taken_s / events * 1e6:4.0f} us an event")
