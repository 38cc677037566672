"""Player of a recording on our own cluster, in which the brokers that won the recorded elections win them again."""

from functools import partial

from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.workload import Workload
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.controller.capabilities import RELEASES
from kcsim.scenarios.engine.steering import ElectionSteering
from kcsim.zk.ports import ZooKeeper
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.player import Player, every_broker
from tests.conformance.replayed.recording import Recording, Step
from tests.conformance.replayed.settings import TICK_TIME_MS, settings_of
from tests.conformance.replayed.step_actions import StepActions
from tests.conformance.replayed.tools.tools import Tools

SEED = 1


def play(recording: Recording, zookeeper: str) -> Recording:
    """Play a recording's steps in an environment of their own.

    Args:
        zookeeper: as --zookeeper of kcsim has it.

    Returns: our cluster's run; it ends with the first step that is not supported, or that could not be done.
    """
    source = f"played by kcsim, {zookeeper} ZooKeeper"
    try:
        spec = ClusterSpec(every_broker(recording), settings_of(recording), TICK_TIME_MS, release=recording.release)
    except NotSupportedError as error:
        return recording.unplayed(source, str(error))
    players: list[Player] = []

    async def script(cluster: Cluster) -> None:
        players.append(_player(recording, cluster))
        await players[0].play()

    run_in_environment(ZooKeeperChoice.parse(zookeeper), spec, RunInfo(recording.name, SEED, zookeeper), script)
    return players[0].played(source)


def _player(recording: Recording, cluster: Cluster) -> Player:
    steering = ElectionSteering(cluster, recording.brokers[0])
    unsteered: list[ZooKeeper] = []

    def steered(zookeeper: ZooKeeper) -> ZooKeeper:
        unsteered.append(zookeeper)
        return steering.steered(zookeeper)

    def steer(step: Step) -> None:
        steering.winner = step.controller

    cluster.reach_zookeeper_through(steered)
    release = recording.release or RELEASES[0]
    tools = Tools(cluster, unsteered[0], recording.settings, release, recording.directory)
    return Player(recording, cluster, StepActions(cluster, tools, partial(_produce, cluster)), steer)


async def _produce(cluster: Cluster, topic: str) -> None:
    await Workload(cluster, {topic: ProducerSpec(topic, (topic,))}).produce([topic], records=1)
