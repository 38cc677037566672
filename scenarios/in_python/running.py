"""A scenario of Python's run, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kcsim.scenarios.judging.verdict import HELD_STATUS, Verdict
from kcsim.scenarios.language.scenario_file import LoadedScenario, load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.zk.events import Event


@dataclass(frozen=True)
class Ran:
    """A run of a scenario: its verdict, and all that happened."""

    verdict: Verdict
    events: Sequence[Event]

    @property
    def held(self) -> bool:
        """Whether all expectations and invariants held."""
        return self.verdict.exit_status == HELD_STATUS

    def __str__(self) -> str:
        """Why, in words: what makes a failed assertion worth reading."""
        from kcsim.scenarios.telling.timeline import summary

        broken = [f"{j.outcome.value}: {j.claim}: {j.seen}" for j in self.verdict.judged if j.outcome.value != "held"]
        return "\n".join([summary(self.verdict), *broken])


def run(scenario: Scenario, zookeeper: str = "simulated", seed: int = 1, without: Sequence[str] = ()) -> Ran:
    """Run a scenario, on simulated brokers.

    Args:
        zookeeper: as for `kcsim run --zookeeper`: simulated, embedded, ensemble, docker.
        without: names of protections to switch off.

    Raises: what run_in_world raises, when there is no such ZooKeeper to be had.
    """
    from kcsim.scenarios.cluster import Cluster
    from kcsim.scenarios.runner import cluster_spec, run_scenario
    from kcsim.scenarios.runs import RunInfo
    from kcsim.scenarios.worlds import run_in_world
    from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind

    loaded = as_loaded(scenario)
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    info = RunInfo(scenario.name, seed, zookeeper)
    choice = ZooKeeperChoice.parse(zookeeper)
    if choice.kind is not ZooKeeperKind.EXTERNAL:
        choice = replace(choice, members=max(choice.members, scenario.zookeeper.members))
    log = run_in_world(choice, cluster_spec(scenario, without), info, script)
    return Ran(verdicts[0], log.events)


def as_loaded(scenario: Scenario) -> LoadedScenario:
    """The scenario as its file would be loaded: steps that cannot be done are told by the lines of `to_yaml()`."""
    return load_text(scenario.to_yaml(), f"{scenario.name}.yaml")
