"""Plays the steps of a recording on real brokers, and records what they wrote."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.processes.admin_tools import KafkaAdminTools
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_with_kafka
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.zk.capture.write_comparison.differences import WriteComparison, WriteDifference
from kcsim.zk.capture.write_comparison.writes import Writes, by_znode
from tests.conformance.replayed.kafka_commands import KafkaCommands
from tests.conformance.replayed.player import Player, every_broker
from tests.conformance.replayed.recording import Recording, Step
from tests.conformance.replayed.settings import TICK_TIME_MS, settings_in_force
from tests.conformance.replayed.step_actions import StepActions

SEED = 0
"""Nothing is drawn from this seed: all chance is Kafka's own."""
QUIET_WITHIN_MS = 20_000
"""A step that is not quiet within this time never becomes quiet."""
OLD_FORMAT = {"log.message.format.version": "2.6"}
"""Printed when a topic is described: all recordings have it, because it was set for the first ones."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Result of a run on real brokers.

    Attributes:
        recording: as many of the steps as could be played, less those that ZooKeeper or a broker's state refused.
        ended_by: why later steps are missing, in words; None if none are.
        unfinished: the first step that is missing; None if none are.
    """

    recording: Recording
    ended_by: str | None
    unfinished: Step | None = None


def record(
    plan: Recording,
    kafka: KafkaInstallation,
    logs: Path | None = None,
    zookeeper: ZooKeeperKind = ZooKeeperKind.EMBEDDED,
) -> Recorded:
    """Play the steps of a plan on a cluster of real brokers.

    Args:
        plan: a recording; its writes are not read.
        logs: where each broker's own log files are kept; None: nowhere.
        zookeeper: EMBEDDED, a real server; or MODEL, our model of it behind a socket.

    Raises: what run_with_kafka raises.
    """
    players: list[Player] = []

    async def script(cluster: ProcessCluster) -> None:
        commands = KafkaCommands(kafka, cluster, plan.directory)

        async def produce(topic: str) -> None:
            await KafkaAdminTools(kafka).produce(cluster.bootstrap(), topic, records=1, acks=1)

        actions = StepActions(cluster, commands, produce)
        players.append(
            Player(
                plan,
                cluster,
                actions,
                leaves_out_refused=True,
                catch_up=cluster.settle,
                quiet_within_ms=QUIET_WITHIN_MS,
            )
        )
        try:
            await players[0].play()
        finally:
            if logs is not None:
                for name, folder in cluster.log_folders.items():
                    if folder.is_dir():
                        shutil.copytree(folder, logs / name, dirs_exist_ok=True)

    spec = ClusterSpec(every_broker(plan), {**OLD_FORMAT, **settings_in_force(plan)}, TICK_TIME_MS)
    info = RunInfo(plan.name, SEED, zookeeper.value, brokers=f"Apache Kafka {kafka.version}")
    run_with_kafka(kafka, ZooKeeperChoice(zookeeper), spec, info, script)
    source = f"recorded from Apache Kafka {kafka.version}, {PROTOCOL_VERSION} {spec.settings[PROTOCOL_VERSION]}"
    played = players[0].played(source)
    played = replace(played, steps=tuple(map(_without_words, played.steps)))
    last = played.steps[-1] if played.steps else None
    ended_by = None if last is None else last.problem or last.not_supported
    if last is None or ended_by is None:
        return Recorded(played, None)
    return Recorded(replace(played, steps=played.steps[:-1], alive=None, final=None), ended_by, Step(last.do))


def _without_words(step: Step) -> Step:
    """Remove the error text of a broker that did not start: it names files of this machine."""
    if step.outcome is None or "exit" not in step.outcome:
        return step
    return replace(step, outcome={key: value for key, value in step.outcome.items() if key != "err"})


def with_other_runs(first: Recording, others: Sequence[Recording]) -> Recording:
    """Merge several runs of the same steps into one recording: the other runs' writes are as valid as the first run's."""
    steps = list(first.steps)
    for other in others:
        for place, found in _by_step(first, other).items():
            steps[place] = _with_other(steps[place], other.steps[place], found)
    return replace(first, steps=tuple(steps))


def _by_step(first: Recording, other: Recording) -> dict[int, list[WriteDifference]]:
    """Return step index (from 0) -> the differences between two runs of this step."""
    comparison = WriteComparison()
    # A step that was refused in one run only is missing in that run, and the runs are not comparable from there on.
    pairs = enumerate(takewhile(_is_same_step, zip(first.steps, other.steps, strict=False)))
    return {place: list(comparison.of_step(place + 1, a.followed, b.followed)) for place, (a, b) in pairs}


def _is_same_step(pair: tuple[Step, Step]) -> bool:
    return pair[0].do == pair[1].do


def _with_other(step: Step, other: Step, found: Sequence[WriteDifference]) -> Step:
    unsteady: dict[str, tuple[Writes, ...]] = dict(step.unsteady)
    written = by_znode(other.writes or ())
    for path in [difference.what for difference in found if difference.what.startswith("/")]:
        known = unsteady.get(path, ())
        unsteady[path] = known if written.get(path, ()) in known else (*known, written.get(path, ()))
    winners = dict.fromkeys([*step.other_winners, *([other.controller] if other.controller is not None else [])])
    return replace(step, unsteady=unsteady, other_winners=tuple(w for w in winners if w != step.controller))
