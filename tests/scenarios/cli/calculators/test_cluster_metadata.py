"""kcsim assign and kcsim infer read brokers and topics from a real ZooKeeper, and only read."""

from collections.abc import Mapping

import pytest
from typer.testing import CliRunner, Result

from kcsim import znodes
from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Draw, Replicas
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.calculators.cluster_metadata import ClusterMetadata, read_cluster
from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint, ReplicaAssignment, TopicState
from kcsim.zk.capture.live_dump import dump
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Create, Created, Request
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.znodes import paths

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
SIX = [BrokerMetadata(BrokerId(broker), rack) for broker, rack in RACKS.items()]
ABOVE_BROKERS = ("", paths.parent(paths.BROKER_IDS), paths.BROKER_IDS, paths.BROKER_TOPICS)
PATIENCE_MS = 300_000
SESSION_MS = 30_000
ORDERS = dict(assign_replicas(SIX, 3, 3, Draw(1, 2)))
MOVING = TopicState({0: ReplicaAssignment((BrokerId(1), BrokerId(0)), (BrokerId(1),), (BrokerId(0),))})


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def topic_state(assignment: Mapping[int, Replicas]) -> TopicState:
    return TopicState({partition: ReplicaAssignment(replicas) for partition, replicas in assignment.items()})


async def write(connect: str, requests: list[Request]) -> None:
    session = await LiveZooKeeper(connect).open_session(SESSION_MS, lambda _: None, PATIENCE_MS)
    replies = await session.call(requests)
    await session.close()
    assert all(isinstance(reply, Created) for reply in replies), replies


def registration(broker: BrokerMetadata) -> bytes:
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
    return znodes.encode_broker(BrokerInfo(broker.id, (endpoint,), broker.rack))


@pytest.fixture(scope="module")
def cluster(server: EmbeddedZooKeeper) -> str:
    """Return the connect string of a cluster with six brokers on three racks, and a few topics.

    The registrations are not ephemeral, because no broker runs that would keep them.
    """
    chroot = "/cluster-reading"
    topics = {"orders": topic_state(ORDERS), "moving": MOVING, "going": topic_state({0: (BrokerId(0),)})}
    above = [*ABOVE_BROKERS, paths.parent(paths.DELETE_TOPICS), paths.DELETE_TOPICS]
    requests: list[Request] = [Create(chroot + path) for path in above]
    requests += [Create(chroot + paths.broker_id(broker.id), registration(broker)) for broker in SIX]
    requests += [Create(chroot + paths.topic(name), znodes.encode_topic(state)) for name, state in topics.items()]
    requests.append(Create(chroot + paths.delete_topic("going")))
    WallClockRuntime().run(write(server.connect_string, requests))
    return server.connect_string + chroot


@pytest.mark.live
def test_brokers_topics_and_deletions_are_read(cluster: str) -> None:
    seen = read_cluster(cluster)
    assert seen.brokers == tuple(SIX)
    assert (list(seen.topics), seen.queued_for_deletion) == (["going", "moving", "orders"], ("going",))
    assert seen.topics["moving"].assignments == MOVING.assignments


@pytest.mark.live
def test_an_empty_zookeeper_has_no_brokers(server: EmbeddedZooKeeper) -> None:
    WallClockRuntime().run(write(server.connect_string, [Create("/empty-cluster")]))
    assert read_cluster(f"{server.connect_string}/empty-cluster") == ClusterMetadata(())


@pytest.mark.live
def test_a_topic_is_placed_on_the_brokers_of_a_zookeeper_and_nothing_is_written(cluster: str) -> None:
    before = dump(cluster, "/")
    result = kcsim("assign", "--zookeeper", cluster, "--topic", "new", "--partitions", "6", "--start-index", "0")
    assert result.exit_code == 0, result.output
    assert "racks alternating: 0 (rack1), 3 (rack2), 1 (rack3), 5 (rack1), 4 (rack2), 2 (rack3)\n" in result.stdout
    assert dump(cluster, "/") == before


@pytest.mark.live
def test_a_topic_of_a_zookeeper_can_be_grown(cluster: str) -> None:
    result = kcsim("assign", "--zookeeper", cluster, "--topic", "orders", "--alter", "--partitions", "6")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Topic orders: partitions 3 to 5, replication factor 3\nStart index 3, shift 3\n")
    assert "The whole topic, 6 partitions:\n" in result.stdout


@pytest.mark.live
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "orders"], "Topic 'orders' already exists."),
        (["--topic", "going", "--alter", "--partitions", "2"], "The topic is queued for deletion."),
        (
            ["--topic", "moving", "--alter", "--partitions", "2"],
            "A partition reassignment is in progress for the topic 'moving'.",
        ),
        (["--topic", "no", "--alter", "--partitions", "2"], "The topic 'no' does not exist."),
    ],
)
def test_what_the_cluster_does_not_allow_is_refused_in_kafkas_words(
    cluster: str, arguments: list[str], message: str
) -> None:
    result = kcsim("assign", "--zookeeper", cluster, *arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr == f"Error while executing topic command : {message}\n"


@pytest.mark.live
def test_a_topic_of_a_zookeeper_is_explained_by_its_brokers_and_racks(cluster: str) -> None:
    result = kcsim("infer", "--zookeeper", cluster, "--topic", "orders")
    assert result.exit_code == 0, result.output
    assert result.stdout == "Topic orders: 3 partitions on brokers 0, 3, 1, 5, 4, 2\n  made by start index 1, shift 2\n"


@pytest.mark.live
def test_a_moving_partition_counts_as_where_it_goes(cluster: str) -> None:
    """Broker 1 is the third of the ring; one replica does not determine the shift."""
    result = kcsim("infer", "--zookeeper", cluster, "--topic", "moving")
    assert "  made by start index 2, shift 0 or 1 or 2 or 3 or 4 or 5;" in result.stdout


@pytest.mark.live
def test_brokers_that_are_down_take_part_and_their_racks_are_missed(server: EmbeddedZooKeeper) -> None:
    root = "/two-of-three"
    three = [BrokerMetadata(BrokerId(b)) for b in range(3)]
    placed = topic_state(assign_replicas(three, 6, 2, Draw(2, 1)))
    requests: list[Request] = [Create(root + path) for path in ABOVE_BROKERS]
    requests += [Create(root + paths.broker_id(broker.id), registration(broker)) for broker in SIX[:2]]
    requests.append(Create(root + paths.topic("t"), znodes.encode_topic(placed)))
    WallClockRuntime().run(write(server.connect_string, requests))
    result = kcsim("infer", "--zookeeper", server.connect_string + root)
    assert result.stderr == "racks of 2 unknown, not registered: racks are ignored; give them with --brokers\n"
    assert result.stdout == "Topic t: 6 partitions on brokers 0, 1, 2\n  made by start index 2, shift 1\n"


@pytest.mark.live
@pytest.mark.parametrize("command", [["assign", "--topic", "t"], ["infer"]])
def test_a_mistyped_chroot_ends_with_64_and_the_nearest_one(cluster: str, command: list[str]) -> None:
    result = kcsim(*command, "--zookeeper", cluster[:-1])
    assert (result.exit_code, result.stdout) == (64, "")
    assert "did you mean /cluster-reading?" in result.stderr
