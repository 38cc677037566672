"""The transitions read off recorded runs, and counts made of them, compared with the cluster state that expectations use."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.analyses.health import health_steps
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.recorded import recorded_transitions
from kcsim.scenarios.analysis.analyses.scope import Liveness, Scope
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.analysis.replay import replay
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from tests.scenarios.analysis.analyses.conftest import divided

RUNS = (
    *("broker-crash-and-return", "rack-loss", "controller-and-leader-lost", "bounced-broker", "session-expiry"),
    *("unclean-election-loses-counted-records", "reassignment-cancelled", "partition-expansion", "rolling-restart"),
    *("preferred-election-after-rolling-restart", "deletion-with-dead-broker", "last-isr-member-lost", "zombie-controller"),
)
pytestmark = pytest.mark.slow

STATE = ("leader", "leader_epoch", "isr", "controller_epoch", "zk_version")
Key = tuple[str, str, int]


def recorded(name: str) -> Sequence[Event]:
    loaded = load_scenario(find_scenario(name))
    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=loaded.scenario.zookeeper.members)

    async def script(cluster: Cluster) -> None:
        await run_scenario(loaded, cluster)

    return run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo(name, 1, choice.kind.value), script).events


@pytest.fixture(scope="module")
def logs() -> dict[str, Sequence[Event]]:
    return {name: recorded(name) for name in RUNS}


@pytest.fixture(scope="module")
def events(spark: SparkSession, logs: dict[str, Sequence[Event]]) -> DataFrame:
    rows = [
        {"batch": "library", "run": run, **msgspec.structs.asdict(event), "kind": str(event.kind)}
        for run, log in logs.items()
        for event in log
    ]
    return divided(spark, 2).createDataFrame(pa.Table.from_pylist(rows, schema=events_arrow_schema())).localCheckpoint()


@pytest.fixture(scope="module")
def transitions(events: DataFrame) -> DataFrame:
    return recorded_transitions(events).localCheckpoint()


@pytest.fixture(scope="module")
def rows(transitions: DataFrame) -> list[dict[str, Any]]:
    return sorted(
        (row.asDict() for row in transitions.collect()), key=lambda r: (r["run"], r["topic"], r["partition"], r["n"])
    )


def test_the_last_transition_of_a_partition_is_its_state_at_the_end(
    rows: list[dict[str, Any]], logs: dict[str, Sequence[Event]]
) -> None:
    found: dict[Key, tuple[Any, ...]] = {}
    for row in rows:
        key = row["run"], row["topic"], row["partition"]
        if row["kind"] == EventKind.ZNODE_DELETED:
            found.pop(key, None)
        elif row["leader"] is not None:
            found[key] = tuple(row[name] for name in STATE)
    expected: dict[Key, tuple[Any, ...]] = {}
    for run, log in logs.items():
        state = ClusterState()
        for event in log:
            state.apply(event)
        for tp, stored in state.of_topics.states.items():
            of = stored.leader_and_isr
            leader = -1 if of.leader is None else of.leader
            expected[run, tp.topic, tp.partition] = (
                *(leader, of.leader_epoch, list(of.isr), stored.controller_epoch, of.zk_version),
            )
    assert found == expected


def test_transitions_of_a_partition_are_numbered_without_gaps(rows: list[dict[str, Any]]) -> None:
    numbers: dict[Key, list[int]] = {}
    for row in rows:
        numbers.setdefault((row["run"], row["topic"], row["partition"]), []).append(row["n"])
    assert all(listed == list(range(len(listed))) for listed in numbers.values())


def test_every_decision_that_was_written_is_recognised_with_its_reason(rows: list[dict[str, Any]]) -> None:
    """In these runs only controllers and leaders write states, and every write of theirs has a reason."""
    unknown = {(row["run"], row["kind"], row["trigger"]) for row in rows if row["trigger"] in ("Unknown", "Written")}
    assert unknown == set()
    assert {row["trigger"] for row in rows} >= {
        "TopicCreated",
        "BrokerFailed",
        "BrokerStarted",
        "ControlledShutdown",
        "Leader",
    }


SAME_IN_BOTH = (
    "n",
    "t_ms",
    *STATE,
    "replicas",
    "adding",
    "removing",
    "clean",
    "kind",
    "strategy",
    "rule",
    "cause",
    "trigger",
)


def test_the_replay_decides_what_is_read_off_here(
    spark: SparkSession, events: DataFrame, rows: list[dict[str, Any]]
) -> None:
    """One table is computed in two ways: by deciding again, and by reading what was written."""

    def keyed(table: list[dict[str, Any]]) -> dict[tuple[str, str, int, int], dict[str, Any]]:
        return {
            (row["run"], row["topic"], row["partition"], row["seq"]): {name: row[name] for name in SAME_IN_BOTH}
            for row in table
        }

    replayed = keyed([row.asDict() for row in replay(events).collect()])
    read = keyed(rows)
    assert read.keys() == replayed.keys()
    for key, row in read.items():
        expected = replayed[key]
        if expected["trigger"] == Trigger.UNKNOWN:  # a consequence of a topic's deletion, or of partitions being added
            assert row["trigger"] in (Trigger.UNKNOWN, Trigger.TOPIC_DELETION, Trigger.TOPIC_CREATED)
            expected = {**expected, "trigger": row["trigger"]}
        if row["kind"] == EventKind.PARTITION_REASSIGNMENT:  # in the replay a step of the controller, here the write
            expected = {**expected, "cause": row["cause"]}
        assert row == expected, key


def test_counts_of_every_moment_are_those_of_the_state_that_runs_are_judged_by(
    events: DataFrame, transitions: DataFrame, logs: dict[str, Sequence[Event]]
) -> None:
    """Compared at the end of every millisecond with events; at the end of the run, also with the controller's own gauge."""
    history = HistoryTables(events, transitions, Scope(liveness=Liveness.REGISTERED))
    steps = [row.asDict() for row in health_steps(history).collect()]
    for run, log in logs.items():
        of_run = [row for row in steps if row["run"] == run]
        state = ClusterState()
        for event, following in pairwise(log):
            state.apply(event)
            if following.t_ms == event.t_ms:
                continue
            found = next((row for row in of_run if row["from_ms"] <= event.t_ms < row["to_ms"]), None)
            counted = (found["partitions"], found["offline"], found["under_replicated"]) if found else (0, 0, 0)
            assert counted == truth(state), f"{run} at {event.t_ms}"
        assert counted[1] == state.of_metrics.now.get("OfflinePartitionsCount", 0), run


def truth(state: ClusterState) -> tuple[int, int, int]:
    """Return the numbers of partitions that have a state, whose leader is not registered, and whose ISR is too small."""
    topics = state.of_topics
    there = [tp for tp in topics.partitions() if tp in topics.states]
    offline, under = topics.offline(state.registered), topics.under_replicated()
    return len(there), len(set(offline) & set(there)), len(set(under) & set(there))
