"""Player of a recording on a cluster whose controller is of one software and whose brokers are of another."""

import asyncio
import shutil
from pathlib import Path

from confluent_kafka import Producer

from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.cluster.cluster_spec import ClusterSpec, max_session_timeout_ms
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.processes.process_environment import run_on_processes
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from tests.conformance.replayed.accepted import accepted, name_of, not_accepted
from tests.conformance.replayed.companions import companion_of, nodes_of, without_companions
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.divided_cluster import (
    COMPANION_SESSIONS,
    SESSION_TIMEOUT,
    DividedSoftware,
    Elections,
    Software,
)
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.kafka_commands import KafkaCommands
from tests.conformance.replayed.on_kafka import OLD_FORMAT, SEED
from tests.conformance.replayed.player import Player, every_broker
from tests.conformance.replayed.recording import Recording, Step
from tests.conformance.replayed.settings import TICK_TIME_MS, settings_in_force, settings_of
from tests.conformance.replayed.step_actions import WITHIN_MS, StepActions

QUIET_AFTER_START_MS = 4_000
"""A follower that has just started joins its ISRs seconds later on a busy machine: no session ends meanwhile."""
CONTROLLERS = {
    Software.OURS: "our controller and Apache Kafka's brokers",
    Software.KAFKA: "Apache Kafka's controller and our brokers",
}


def play_divided(
    recording: Recording, kafka: KafkaInstallation, controller: Software, logs: Path | None = None
) -> Recording:
    """Play a recording's steps on processes of our brokers and of Apache Kafka's, and a real ZooKeeper.

    Args:
        controller: whose controller it is; the brokers are the other software's.
        logs: where what the processes have written is kept, in a folder for the recording; None: nowhere.

    Returns: the cluster's run, in which each broker is the controller that its companion was; it ends with the first step
        that is not supported, or that could not be done.
    Raises: what run_on_processes raises.
    """
    source = f"played with {CONTROLLERS[controller]}"
    if recording.release not in (None, ".".join(map(str, kafka.release))):
        return recording.unplayed(source, f"it is of Kafka {recording.release}, and the installation of {kafka.version}")
    if (reason := accepted().reason_left_out(name_of(recording), controller)) is not None:
        return recording.unplayed(source, reason)
    try:
        known = settings_of(recording)
    except NotSupportedError as error:
        return recording.unplayed(source, str(error))
    elections = Elections(recording.brokers[0])
    spec = _spec(recording)
    session = {SESSION_TIMEOUT: spec.session_timeout_ms}
    software = DividedSoftware(kafka, controller, {**known, **session}, recording.release, elections)
    players: list[Player] = []

    def steer(step: Step) -> None:
        elections.winner = None if step.more_writes else step.controller

    async def script(cluster: ProcessCluster) -> None:
        elections.cluster = cluster

        async def produce(topic: str) -> None:
            await asyncio.to_thread(_produce, cluster.bootstrap(), topic)

        actions = StepActions(cluster, KafkaCommands(kafka, cluster, recording.directory), produce, nodes_of)
        player = Player(
            recording,
            cluster,
            actions,
            steer,
            catch_up=cluster.settle,
            controller_of=companion_of,
            quiet_after_start_ms=QUIET_AFTER_START_MS,
        )
        players.append(player)
        try:
            await player.play()
        finally:
            if logs is not None:
                for name, folder in cluster.log_folders.items():
                    if folder.is_dir():
                        shutil.copytree(folder, logs / recording.name / name, dirs_exist_ok=True)

    info = RunInfo(recording.name, SEED, ZooKeeperKind.EMBEDDED.value, brokers=CONTROLLERS[controller])
    run_on_processes(software, ZooKeeperChoice(ZooKeeperKind.EMBEDDED), spec, info, script, ())
    return without_companions(players[0].played(source))


def play_until_it_agrees(
    recording: Recording, kafka: KafkaInstallation, controller: Software, runs: int, logs: Path | None = None
) -> Recording:
    """Play a recording until a run has no differences but accepted ones. Returns: that run, or the last.

    The 1.5 s of quiet after which a recording's next step begins are not enough where a broker waits for a busy machine.

    Args:
        runs: the most that are played. Others as for play_divided.
    """
    for _ in range(runs - 1):
        played = play_divided(recording, kafka, controller, logs)
        if not not_accepted(recording, differences(recording, played), controller):
            return played
    return play_divided(recording, kafka, controller, logs)


def _spec(recording: Recording) -> ClusterSpec:
    """Return the cluster; its ZooKeeper grants brokers the sessions that they request, and companions longer ones.

    The recordings' own grants no more than 10 s. Where more is requested, no session is to end, however busy the machine is.
    """
    settings = {**OLD_FORMAT, **settings_in_force(recording)}
    of_companions_ms = COMPANION_SESSIONS * int(settings[SESSION_TIMEOUT])
    longest_ms = max_session_timeout_ms({SESSION_TIMEOUT: of_companions_ms}, TICK_TIME_MS)
    return ClusterSpec(every_broker(recording), settings, TICK_TIME_MS, max_session_timeout_ms=longest_ms)


def _produce(bootstrap: str, topic: str) -> None:
    """Write one record, before the session of a frozen broker ends: the start of Kafka's own producer takes seconds."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": 1, "log_level": 0})
    producer.produce(topic, b"record")
    producer.flush(WITHIN_MS / 1000)
