"""Plans executed by Apache Kafka 2.8.2: its own tool starts each batch, and reports it as complete, as rehearsed before."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcsim.brokers.apache_kafka.commands import run_kafka_command
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec, max_session_timeout_ms
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_with_kafka
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.controller.admin.topics import NewTopic
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, encode_snapshot, read_snapshot
from kcsim.vocabulary import BrokerId
from tests.requirements import require
from tests.scenarios.cli.live_cluster import kcsim
from tests.scenarios.snapshots.of_processes import snapshot_of_cluster
from tests.scenarios.what_if.losses_on_kafka import SETTINGS, TICK_MS, WITHIN_MS

REASSIGNMENTS = "kafka.admin.ReassignPartitionsCommand"
ELECTIONS = "kafka.admin.LeaderElectionCommand"
WITHIN_S = 180.0
RACKS = {1: "a", 2: "b", 3: "a", 4: "b"}
GOALS = [
    ["remove-brokers 2"],
    ["rack-aware", "balance"],
    ["replication-factor orders=3", "balance"],
]


class _PlanOnKafka:
    """A cluster of Kafka's brokers with a drawn placement, and the plan for it, executed in batches."""

    def __init__(self, cluster: ProcessCluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory

    async def execute(self, goals: Sequence[str]) -> ControlPlaneSnapshot:
        """Plan and execute. Returns: the cluster afterwards."""
        await self._create_topics()
        options = [word for goal in goals for word in ("--goal", goal)]
        before = self._file("before.json", encode_snapshot(await snapshot_of_cluster(self._cluster)))
        result = kcsim("plan", before, *options, "-o", str(self._directory / "plan.json"), "--batches", "1")
        assert result.exit_code == 0, result.output
        batches = [file for file in self._directory.glob("plan.batch-*.json") if "rollback" not in file.name]
        assert batches
        for batch in batches:
            moves = ("--reassignment-json-file", str(batch))
            assert "Successfully started partition reassignment" in await self._command(REASSIGNMENTS, "--execute", *moves)
            verified = await self._command(REASSIGNMENTS, "--verify", *moves)
            while "still in progress" in verified:
                verified = await self._command(REASSIGNMENTS, "--verify", *moves)
            assert "There is no active reassignment" not in verified
            assert "is complete" in verified
        elections = self._directory / "plan.elections.json"
        if elections.exists():
            await self._command(ELECTIONS, "--election-type", "preferred", "--path-to-json-file", str(elections))
        return await snapshot_of_cluster(self._cluster)

    async def _create_topics(self) -> None:
        numbers = random.Random(11)
        for name, partitions in (("orders", 9), ("clicks", 7)):
            drawn = (numbers.sample((1, 2, 3) if number % 3 else (1, 2, 3, 4), 2) for number in range(partitions))
            placed = tuple(tuple(map(BrokerId, replicas)) for replicas in drawn)
            await self._cluster.topics.create(NewTopic(name, assignment=placed), random.Random(0))

        def missing() -> str | None:
            topics, state = self._cluster.state.of_topics, self._cluster.state
            behind = topics.under_replicated() or topics.offline(state.registered)
            return f"behind: {behind}" if behind or len(topics.states) < 16 else None

        await self._cluster.wait_until(missing, WITHIN_MS)

    async def _command(self, main_class: str, *words: str) -> str:
        arguments = ["--bootstrap-server", self._cluster.bootstrap(), *words]
        outcome = await run_kafka_command(find_kafka(None), main_class, arguments, None, WITHIN_S)
        assert outcome.rc == 0, outcome
        return outcome.out

    def _file(self, name: str, content: bytes) -> str:
        file = self._directory / name
        file.write_bytes(content)
        return str(file)


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize("goals", GOALS, ids=" ".join)
def test_kafka_completes_the_plan_as_rehearsed_and_its_leaders_are_the_planned_ones(
    goals: list[str], tmp_path: Path
) -> None:
    """Planned once more for the same goals, the cluster has nothing to move.

    The rehearsal of the files that Kafka's tool was given ends with the same assignments, leaders and ISRs.
    """
    require("java", "kafka")
    specs = tuple(BrokerSpec(broker, rack) for broker, rack in RACKS.items())
    spec = ClusterSpec(specs, SETTINGS, TICK_MS, max_session_timeout_ms=max_session_timeout_ms(SETTINGS, TICK_MS))
    found: list[ControlPlaneSnapshot] = []

    async def script(cluster: ProcessCluster) -> None:
        await cluster.start(cluster.broker_names)
        await cluster.wait_until(lambda: None if cluster.state.controller_id else "no controller", WITHIN_MS)
        found.append(await _PlanOnKafka(cluster, tmp_path).execute(goals))

    kind = ZooKeeperKind.EMBEDDED
    run_with_kafka(find_kafka(None), ZooKeeperChoice(kind), spec, RunInfo("plan", 0, kind.value, "Apache Kafka"), script)
    (after,) = found
    assert _rehearsed(tmp_path) == _placements(after)
    assert all(partition.leader == partition.replicas[0] for _, partition in after.partitions())
    assert all(set(partition.isr) == set(partition.replicas) for _, partition in after.partitions())
    again = tmp_path / "after.json"
    again.write_bytes(encode_snapshot(after))
    options = [word for goal in goals for word in ("--goal", goal)]
    assert kcsim("plan", str(again), *options).stdout.splitlines()[-1] == "Nothing has to move."


def _rehearsed(folder: Path) -> dict[str, dict[str, Any]]:
    """Return where the rehearsal of the batches and the elections in a folder leaves each partition."""
    result = kcsim("rehearse", str(folder), str(folder / "before.json"), "--runs", "5", "--output", "json")
    assert result.exit_code == 0, result.output
    before = read_snapshot(folder / "before.json")
    steps = json.loads(result.stdout)["steps"]
    moved = {name: placed for step in steps for name, placed in step["undisturbed"]["final"].items()}
    return _placements(before) | moved


def _placements(snapshot: ControlPlaneSnapshot) -> dict[str, dict[str, Any]]:
    return {
        str(tp): {"replicas": list(known.replicas), "leader": known.leader, "isr": sorted(known.isr)}
        for tp, known in snapshot.partitions()
    }
