"""Ratio of virtual time to real time of the library's scenarios, with the invariants checked during the whole run."""

import statistics
import time

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario

SLOWEST_SHOWN = 5


def main() -> None:
    """Print the median and the slowest, as virtual seconds per second of processor time."""
    _ratio(library_names()[0])  # warm-up: the time of imports is not measured
    ratios = {name: _ratio(name) for name in library_names()}
    slowest = sorted(ratios.items(), key=lambda item: item[1])[:SLOWEST_SHOWN]
    print(f"\nThe library's {len(ratios)} scenarios in virtual time: how many times as fast as the clock")
    listed = ", ".join(f"{name} {ratio:,.0f} x" for name, ratio in slowest)
    print(f"  median {statistics.median(ratios.values()):,.0f} x, slowest {listed}")


def _ratio(name: str) -> float:
    loaded = load_scenario(find_scenario(name))
    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=loaded.scenario.zookeeper.members)

    async def script(cluster: Cluster) -> None:
        await run_scenario(loaded, cluster)

    spec, info = cluster_spec(loaded.scenario), RunInfo(name, 1, choice.kind.value)
    began = time.process_time()
    log = run_in_environment(choice, spec, info, script)
    return log.events[-1].t_ms / 1000 / (time.process_time() - began)
