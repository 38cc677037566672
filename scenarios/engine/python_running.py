"""Run a scenario written in Python, and return its result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.expectations.verdict import HELD_STATUS, Verdict
from kcsim.scenarios.language.scenario_file import LoadedScenario, load_text
from kcsim.scenarios.language.schema import Scenario


@dataclass(frozen=True)
class RunResult:
    """A run of a scenario: its verdict and all its events."""

    verdict: Verdict
    events: Sequence[Event]

    @property
    def held(self) -> bool:
        """Whether all expectations and invariants held."""
        return self.verdict.exit_status == HELD_STATUS

    def __str__(self) -> str:
        """Return the summary and the results that do not hold, for the message of a failed assertion."""
        from kcsim.scenarios.engine.expectations.verdict import summary

        broken = [f"{j.outcome.value}: {j.claim}: {j.observed}" for j in self.verdict.results if j.outcome.value != "held"]
        return "\n".join([summary(self.verdict), *broken])


def run(
    scenario: Scenario,
    zookeeper: str = "simulated",
    seed: int = 1,
    without: Sequence[str] = (),
    hardening: bool = False,
) -> RunResult:
    """Run a scenario, on simulated brokers.

    Args:
        zookeeper: as for `kcsim run --zookeeper`: simulated, embedded, ensemble, docker.
        without: names of protections to switch off.
        hardening: whether to switch hardening on, also if the scenario does not.

    Raises: what run_in_environment raises when the ZooKeeper is not available.
    """
    from kcsim.brokers.cluster.cluster import Cluster
    from kcsim.brokers.cluster.run_in_environment import run_in_environment
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
    from kcsim.scenarios.engine.run_source import scenario_run_info, with_hardening
    from kcsim.scenarios.engine.runner import cluster_spec, run_scenario

    loaded = as_loaded(scenario)
    if hardening:
        loaded = with_hardening(loaded)
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    info = scenario_run_info(loaded, seed, zookeeper, without, hardening=hardening)
    choice = ZooKeeperChoice.parse(zookeeper)
    if choice.kind is not ZooKeeperKind.EXTERNAL:
        choice = replace(choice, members=max(choice.members, scenario.zookeeper.members))
    log = run_in_environment(choice, cluster_spec(loaded.scenario, without), info, script)
    return RunResult(verdicts[0], log.events)


def as_loaded(scenario: Scenario) -> LoadedScenario:
    """Return the scenario as loaded from its file: errors of its steps name the lines of `to_yaml()`."""
    return load_text(scenario.to_yaml(), f"{scenario.name}.yaml")
