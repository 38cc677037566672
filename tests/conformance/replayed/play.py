"""Plays a recording on a cluster of our own, where the brokers that won its elections win them again."""

from dataclasses import replace
from functools import partial

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.comparing.steering import ElectionSteering
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import ClusterSpec
from kcsim.scenarios.workload.producer import ProducerSpec
from kcsim.scenarios.workload.workload import Workload
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.ports import ZooKeeper
from tests.conformance.replayed.deeds import Deeds
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.player import Player, every_broker
from tests.conformance.replayed.recording import Recording, Step
from tests.conformance.replayed.settings import TICK_TIME_MS, settings_of
from tests.conformance.replayed.tools.tools import Tools

SEED = 1


def play(recording: Recording, zookeeper: str) -> Recording:
    """Play a recording's steps in a world of their own.

    Args:
        zookeeper: as --zookeeper of kcsim has it.

    Returns: what our cluster did; it ends with the first step that is not supported, or that could not be done.
    """
    source = f"played by kcsim, {zookeeper} ZooKeeper"
    try:
        spec = ClusterSpec(every_broker(recording), settings_of(recording), TICK_TIME_MS)
    except NotSupportedError as error:
        first = Step(recording.steps[0].do, not_supported=str(error))
        return replace(recording, source=source, steps=(first,), alive=None, final=None, directory=None)
    players: list[Player] = []

    async def script(cluster: Cluster) -> None:
        players.append(_player(recording, cluster))
        await players[0].play()

    run_in_world(ZooKeeperChoice.parse(zookeeper), spec, RunInfo(recording.name, SEED, zookeeper), script)
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
    tools = Tools(cluster, unsteered[0], recording.settings, recording.directory)
    return Player(recording, cluster, Deeds(cluster, tools, partial(_produce, cluster)), steer)


async def _produce(cluster: Cluster, topic: str) -> None:
    await Workload(cluster, {topic: ProducerSpec(topic, (topic,))}).produce([topic], records=1)
