"""kcsim snapshot: the control state of a cluster in a file, without a trace left in the cluster's ZooKeeper."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.snapshots.snapshot_format import SnapshotBroker, SnapshotPartition, SnapshotTopic, read_snapshot
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.transactions import CloseSessionTxn, CreateSessionTxn
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Acl, Create, Created
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import NotServingError
from kcsim.zk.servers.external import ExternalZooKeeper, parse_connect_string
from kcsim.zk.servers.four_letter_words import ask
from tests.conformance.recorded_migration import ONE_RUN, data_after
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, led, live_cluster, new_chroot, on, topic

STATES = {f"/brokers/topics/orders/partitions{end}": None for end in ("", "/0", "/1")}
CONTROLLER = {"/controller": '{"version":1,"brokerid":2,"timestamp":"1"}', "/controller_epoch": "4"}


@pytest.fixture
def cluster(server: EmbeddedZooKeeper) -> LiveCluster:
    """Two brokers, the controller among them, and two partitions: one that a third broker has left, one never led."""
    orders = topic("orders", {0: on(1, 2, 3), 1: on(2, 3, adding=(3,))}, {"retention.ms": "1"})
    dynamic = {
        "/config/brokers/<default>": '{"version":1,"config":{"min.insync.replicas":"2","ssl.key.password":"encrypted"}}',
        "/admin/delete_topics/clicks": None,
        "/admin/reassign_partitions": '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[2,1]}]}',
        "/cluster/id": '{"version":"1","id":"hpH3ASYfQ9uoqQ0gKpa1Fw"}',
    }
    has = {**brokers(1, 2, racks={1: "a"}), **orders, **STATES, **led("orders", 0, 1, (1, 2)), **CONTROLLER, **dynamic}
    return live_cluster(server.connect_string, has)


@pytest.mark.live
def test_a_snapshot_has_the_whole_control_state(cluster: LiveCluster, tmp_path: Path) -> None:
    before, file = cluster.znodes(), tmp_path / "cluster.json"
    result = kcsim("snapshot", cluster.connect, "-o", str(file))
    assert result.exit_code == 0, result.output
    taken = read_snapshot(file)
    assert (taken.controller, taken.controller_epoch, taken.cluster_id) == (2, 4, "hpH3ASYfQ9uoqQ0gKpa1Fw")
    assert taken.brokers == (
        SnapshotBroker(1, taken.brokers[0].epoch, "a", ("PLAINTEXT://localhost:9092",)),
        SnapshotBroker(2, taken.brokers[1].epoch, None, ("PLAINTEXT://localhost:9092",)),
    )
    first = SnapshotPartition(0, (1, 2, 3), leader=1, isr=(1, 2), leader_epoch=0, controller_epoch=1)
    orders = SnapshotTopic("orders", (first, SnapshotPartition(1, (2, 3), (3,))), None, {"retention.ms": "1"})
    assert taken.topics == (orders,)
    assert taken.broker_configs == {"<default>": {"min.insync.replicas": "2"}}
    assert taken.topic_deletions == ("clicks",)
    assert [request.replicas for request in taken.reassignment_requests] == [(2, 1)]
    assert result.stdout.splitlines() == [
        f"{file}: 2 brokers, 1 topic, 2 partitions, as of {taken.taken}",
        "not registered, with replicas: broker-3",
        "no size is known of 2 partitions; --sizes adds them",
    ]
    assert cluster.znodes() == before


@pytest.mark.live
def test_a_server_without_multi_read_gives_the_same_snapshot(
    cluster: LiveCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper before 3.6, and a server that does not answer `srvr`."""

    async def no_version(self: ExternalZooKeeper) -> str:
        raise NotServingError("the version", 1.0, "no member answers srvr")

    taken = []
    for file in (tmp_path / "one.json", tmp_path / "other.json"):
        assert kcsim("snapshot", cluster.connect, "-o", str(file)).exit_code == 0
        taken.append(read_snapshot(file))
        monkeypatch.setattr(ExternalZooKeeper, "version", no_version)
    assert taken[0].topics == taken[1].topics


@pytest.mark.live
def test_nothing_is_written_and_no_watch_stays(cluster: LiveCluster, server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """The server's own transaction log and its count of watches say so."""
    (member,) = server.member_names
    log_dir = server.transaction_log_dir(member)
    assert log_dir is not None
    before = DataDirectory(log_dir).last_zxid()
    watches = watch_count(server)
    assert kcsim("snapshot", cluster.connect, "-o", str(tmp_path / "cluster.json")).exit_code == 0
    done = [transaction.ops for transaction in DataDirectory(log_dir).transactions(before)]
    assert done
    assert {type(op) for ops in done for op in ops} == {CreateSessionTxn, CloseSessionTxn}
    assert all(not op.deleted for ops in done for op in ops if isinstance(op, CloseSessionTxn))
    assert watch_count(server) == watches


def watch_count(server: EmbeddedZooKeeper) -> str:
    """Return what the server answers to `wchs`: how many connections watch how many paths."""
    address = parse_connect_string(server.connect_string).addresses[0]
    return ask(address.host, address.port, "wchs", 30.0)


def forbid_reading(connect: str, paths: Iterable[str]) -> None:
    """Create znodes that no client of this machine may read."""
    nobody = (Acl(31, "ip", "192.0.2.1"),)

    async def create() -> None:
        session = await LiveZooKeeper(connect).open_session(10_000, lambda _: None, 60_000)
        replies = await session.call([Create(path, b"{}", acl=nobody) for path in paths])
        await session.close()
        assert all(isinstance(reply, Created) for reply in replies), replies

    WallClockRuntime().run(create())


@pytest.mark.live
def test_what_this_client_may_not_read_is_named(cluster: LiveCluster, tmp_path: Path) -> None:
    """Settings may be missing from a snapshot; without a topic's assignment there is none."""
    file = tmp_path / "cluster.json"
    forbid_reading(cluster.connect, ["/config/brokers/7", "/config/topics/clicks"])
    result = kcsim("snapshot", cluster.connect, "-o", str(file))
    assert (result.exit_code, [one.path for one in read_snapshot(file).unread]) == (
        0,
        ["/config/brokers/7", "/config/topics/clicks"],
    )
    forbid_reading(cluster.connect, ["/brokers/topics/clicks"])
    result = kcsim("snapshot", cluster.connect, "-o", str(file))
    no_permission = "/brokers/topics/clicks: this client has no permission to read it; without it there is no snapshot"
    assert (result.exit_code, result.stderr) == (2, f"kcsim: {no_permission}\n")


@pytest.mark.live
@pytest.mark.parametrize("step", ["the KRaft controller starts", "/controller is deleted by hand"])
def test_the_snapshot_of_a_cluster_in_migration_names_its_kraft_controller(
    step: str, server: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    migrating = {path: data_after(ONE_RUN, step, path) for path in ("/controller", "/controller_epoch", "/migration")}
    cluster = live_cluster(server.connect_string, {**brokers(1), **{p: d for p, d in migrating.items() if d is not None}})
    file = tmp_path / "cluster.json"
    result = kcsim("snapshot", cluster.connect, "-o", str(file))
    assert (result.exit_code, len(result.stderr.splitlines())) == (0, 1)
    assert "in migration to KRaft, with the KRaft controller 3000" in result.stderr
    taken = read_snapshot(file)
    assert (taken.kraft_controller, taken.controller) == (3000, None)


@pytest.mark.live
def test_a_malformed_znode_is_named_and_the_others_are_kept(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    broken = {"/brokers/topics/orders": "{", "/brokers/ids/7": '{"version":0}', "/controller_epoch": "four"}
    cluster = live_cluster(server.connect_string, {**brokers(1), **topic("clicks", {0: on(1)}), **broken})
    file = tmp_path / "cluster.json"
    result = kcsim("snapshot", cluster.connect, "-o", str(file))
    assert result.exit_code == 0
    taken = read_snapshot(file)
    assert ([one.name for one in taken.topics], taken.registered_ids, taken.controller_epoch) == (["clicks"], (1, 7), None)
    assert [one.path for one in taken.unread] == ["/brokers/ids/7", "/brokers/topics/orders", "/controller_epoch"]
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [one.path for one in taken.unread]


@pytest.mark.live
def test_where_no_cluster_is_the_command_ends_with_one_line(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    foreign = new_chroot(server.connect_string, "/hbase", "/hbase/master")
    file = tmp_path / "cluster.json"
    for source, output, status, text in (
        (foreign, file, 2, f"no broker of Kafka has ever registered in ZooKeeper {foreign}: /brokers/ids does not exist"),
        (f"{server.connect_string}/nowhere", file, 64, "nowhere"),
        ("127.0.0.1:1", file, 2, "127.0.0.1:1"),
        ("a:b:c", file, 64, "a:b:c"),
        (foreign, tmp_path / "nowhere" / "cluster.json", 64, "there is no directory"),
    ):
        result = kcsim("snapshot", source, "-o", str(output))
        assert (result.exit_code, result.stdout) == (status, ""), (source, result.output)
        assert text in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert not file.exists()
