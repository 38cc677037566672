"""The library on simulated brokers in processes of their own: its verdicts are those of the runs in one process."""

import pytest

from kcsim.brokers.cluster.run_in_environment import run_with_processes
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, Verdict
from kcsim.scenarios.engine.process_brokers import refusals_on_processes, why_unobservable_on_processes
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.library import library_names
from tests.requirements import require
from tests.scenarios.long_timeouts import patient
from tests.scenarios.scenario_library import of_library
from tests.tiers import chosen

ATTEMPTS = "a wait for a refused attempt of a producer, which reports results only"
NOT_RUN = {
    "leader-crash-acks-all": "a wait for the acknowledgements of one leader, which the producers do not name",
    "leader-cut-off-from-followers": ATTEMPTS,
    "lost-answer-duplicates": "a connection that breaks once a request has been delivered, which a proxy does not see",
    "segments-rolled": "more records than a producer makes one by one",
    "two-racks-lost": ATTEMPTS,
}
"""Scenario -> what it needs and processes do not have."""

DIVERGENT = "divergent"
RUN_IN_PART = {
    "follower-leads-before-it-hears": ["RecordsAcknowledged", DIVERGENT],
    "leader-crash-acks-one": [DIVERGENT],
    "leader-cut-off-from-zookeeper": ["RecordsAcknowledged", "RecordsRefused", DIVERGENT],
    "min-insync-replicas-refuse": ["RecordsGivenUp", "RecordsRefused"],
    "one-way-partition": ["NetworkStalled", "NetworkStalled"],
    "rolling-restart-of-twelve": [DIVERGENT],
    "slow-follower-leaves-and-rejoins": ["RecordsAcknowledged", DIVERGENT],
    "topic-recreated-while-a-broker-was-away": [DIVERGENT],
    "unclean-election-loses-counted-records": [DIVERGENT],
}
"""Scenario -> what some of its expectations need and no process reports."""

OF_OTHER_TIMING = {
    "fault-elections-without-end-reassigned": "a broker that is up before ten elections are over; a process takes seconds",
    "fault-isr-change-stays-pending": "a follower that is paused before its first fetch, some milliseconds after it began",
    "restart-unseen": "a restart that is over before the controller looks; a process takes seconds to end and to start",
    "rolling-upgrade": "a restart that is over before the next controller is elected",
}
"""Scenario -> the moment that it needs, which is over when the event before it has been read from a trace."""
SLOW = ("broker-crash-and-return", "controller-failover", "leader-crash-acks-one")
"""Scenarios of `make test-all`; the nightly run takes all."""


def test_these_scenarios_need_an_inside_view() -> None:
    assert {name for name in library_names() if refusals_on_processes(of_library(name))} == NOT_RUN.keys()


@pytest.mark.parametrize("name", sorted({*library_names()} - NOT_RUN.keys()))
def test_so_much_of_the_others_is_seen(name: str) -> None:
    """All expectations can be evaluated, except for those in RUN_IN_PART."""
    found = [why_unobservable_on_processes(expectation) for expectation in of_library(name).scenario.expect]
    assert [why.partition(" ")[0].strip(":") for why in found if why is not None] == RUN_IN_PART.get(name, [])


def verdict_on_processes(name: str) -> Verdict:
    """Run a scenario on the model of ZooKeeper, or on a real ensemble if servers of it are killed."""
    loaded = patient(of_library(name))
    zookeeper = "ensemble" if loaded.scenario.zookeeper.members > 1 else "model"
    if zookeeper == "ensemble":
        require("java")
    verdicts: list[Verdict] = []

    async def script(cluster: ScenarioCluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice, info = ZooKeeperChoice.parse(zookeeper), RunInfo(name, 1, zookeeper)
    run_with_processes(choice, cluster_spec(loaded.scenario), info, script)
    return verdicts[0]


@pytest.mark.live
@pytest.mark.parametrize(
    "name", chosen(sorted({*library_names()} - NOT_RUN.keys() - OF_OTHER_TIMING.keys()), fast=(), slow=SLOW)
)
def test_a_scenario_goes_in_processes_as_it_does_in_one(name: str) -> None:
    verdict = verdict_on_processes(name)
    assert verdict.failure is None
    unmet = [judged for judged in verdict.results if judged.outcome is not ExpectationOutcome.HELD]
    assert [judged.outcome for judged in unmet] == [ExpectationOutcome.NOT_OBSERVABLE] * len(RUN_IN_PART.get(name, [])), (
        unmet
    )
