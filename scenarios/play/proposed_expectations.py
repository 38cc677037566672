"""Expectations for a cluster that was played with, from what happened: those that a run of the saved scenario meets.

They say who is the controller and by which election, who leads the partitions, which brokers do not run, and whether
acknowledged records are lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.value_types import duration_text
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.vocabulary import NO_LEADER, TopicPartition

MOST_PARTITIONS = 24
"""For more partitions the number of those without a leader is expected, and not the leader of each."""
STATES = ("dead", "paused", "stopped")


def proposed_expectations(
    state: ClusterState, counts: Mapping[TopicPartition, RecordCounts], topics: Sequence[str], at_ms: int
) -> list[dict[str, Any]]:
    """Return expectations that a state meets, as a scenario file has them.

    Args:
        counts: the fate of the records so far.
        topics: those that the scenario declares; it cannot name others.
        at_ms: the time of the state: the run of the scenario goes on until then.
    """
    now = {"at": duration_text(at_ms)}
    expected: list[dict[str, Any]] = []
    if state.controller_id is not None:
        broker, epoch = f"broker-{state.controller_id}", state.controller_epoch
        claim = f"{broker} is the controller, with epoch {epoch}."
        expected.append({"claim": claim, "controller": broker, "controller-epoch": epoch, **now})
    leaders = _leaders(state, topics)
    if leaders and len(leaders) <= MOST_PARTITIONS:
        expected.append({"claim": "These brokers lead the partitions.", "leader": leaders, **now})
    elif leaders:
        unled = sum(leader == "none" for leader in leaders.values())
        expected.append({"claim": "So many partitions have no leader.", "offline-partitions": unled, **now})
    for word in STATES:
        if names := sorted(name for name, seen in state.processes.items() if seen == word and name.startswith("broker-")):
            expected.append({"claim": f"These brokers are {word}.", word: names, **now})
    whole = sum(counts.values(), RecordCounts())
    if whole.acknowledged:
        claim = f"{whole.lost} acknowledged records are lost." if whole.lost else "No acknowledged record is lost."
        expected.append({"claim": claim, "lost": whole.lost})
    return expected


def _leaders(state: ClusterState, topics: Sequence[str]) -> dict[str, str]:
    of_topics = state.of_topics
    found = {}
    for partition in sorted(of_topics.partitions()):
        if partition.topic in topics and partition in of_topics.states:
            leader = of_topics.leader(partition)
            found[str(partition)] = "none" if leader in (None, NO_LEADER) else f"broker-{leader}"
    return found


def with_held_expectations(tree: Mapping[str, Any], expected: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Any]:
    """Run a scenario with these expectations in virtual time. Returns: the scenario, with those that hold."""
    if not expected:
        return dict(tree)
    loaded = load_text(yaml_text({**tree, "expect": list(expected)}), "play")
    verdicts: list[Verdict] = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = replace(ZooKeeperChoice(ZooKeeperKind.SIMULATED), members=loaded.scenario.zookeeper.members)
    run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo(loaded.scenario.name, seed, "simulated"), script)
    outcomes = [result.outcome for result in verdicts[0].results]
    held = [one for one, outcome in zip(expected, outcomes, strict=False) if outcome is ExpectationOutcome.HELD]
    return {**tree, "expect": held} if held else dict(tree)
