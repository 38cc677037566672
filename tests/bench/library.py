"""How much faster than the clock the library's scenarios run in virtual time, the invariants watched all along."""

import statistics
import time

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.language.scenario_file import find_scenario, library_names, load_scenario
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind

SLOWEST_TOLD = 5


def main() -> None:
    """Print the median and the slowest, as virtual seconds in one second of the processor."""
    _ratio(library_names()[0])  # what is imported on the way is not counted
    ratios = {name: _ratio(name) for name in library_names()}
    slowest = sorted(ratios.items(), key=lambda item: item[1])[:SLOWEST_TOLD]
    print(f"\nThe library's {len(ratios)} scenarios in virtual time: how many times as fast as the clock")
    told = ", ".join(f"{name} {ratio:,.0f} x" for name, ratio in slowest)
    print(f"  median {statistics.median(ratios.values()):,.0f} x, slowest {told}")


def _ratio(name: str) -> float:
    loaded = load_scenario(find_scenario(name))
    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=loaded.scenario.zookeeper.members)

    async def script(cluster: Cluster) -> None:
        await run_scenario(loaded, cluster)

    spec, info = cluster_spec(loaded.scenario), RunInfo(name, 1, choice.kind.value)
    began = time.process_time()
    log = run_in_world(choice, spec, info, script)
    return log.events[-1].t_ms / 1000 / (time.process_time() - began)
