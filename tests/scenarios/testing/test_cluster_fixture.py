"""kcsim_cluster: simulated brokers, controlled by plain calls, on a real ZooKeeper or wholly in virtual time."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.scenarios.language.scenario_file import ScenarioFileError
from kcsim.scenarios.testing.cluster import ClusterForTest
from kcsim.scenarios.testing.cluster_environments import checked_spec
from kcsim.scenarios.testing.clusters import ClusterFactory
from kcsim.scenarios.testing.errors import RunEndedError
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.scenarios.testing.clients import client
from tests.zk.servers.processes import until

AN_HOUR_S = 3600
SESSION_TIMEOUT = "zookeeper.session.timeout.ms"
PATIENCE_S = 300.0
Make = Callable[..., ClusterForTest]


@pytest.fixture
def simulated(kcsim_cluster_factory: ClusterFactory) -> Make:
    def make(*args: Any, **kwargs: Any) -> ClusterForTest:
        return kcsim_cluster_factory(*args, zookeeper="simulated", **kwargs)

    return make


@pytest.mark.parametrize(
    ("settings", "session_ms"), [({}, 4_000), ({SESSION_TIMEOUT: 1_000}, 1_000), ({SESSION_TIMEOUT: 9_000}, 9_000)]
)
def test_brokers_sessions_last_4_s_unless_their_settings_say_otherwise(settings: dict[str, int], session_ms: int) -> None:
    """Expiry does not keep a test waiting, and a longer session is granted in virtual time, too."""
    assert checked_spec(3, None, settings).session_timeout_ms == session_ms


# --- on a real ZooKeeper


@pytest.mark.live
@pytest.mark.kcsim_cluster(2, settings={SESSION_TIMEOUT: 6_000})
def test_a_cluster_on_the_test_s_zookeeper_fails_over(kcsim_cluster: ClusterForTest) -> None:
    """Any client that reads Kafka's znodes reads what Kafka would write there."""
    cluster = kcsim_cluster
    assert cluster.brokers == ("broker-1", "broker-2")
    assert cluster.zookeeper is not None
    with client(cluster.zookeeper.client_address("reader")) as reader:
        cluster.create_topic("orders", partitions=2, replication_factor=2)
        assert reader.get_children("/brokers/topics") == ["orders"]
        old = cluster.pause_controller()
        new = cluster.wait_for_controller(other_than=old, within_s=PATIENCE_S)
        assert cluster.zookeeper.znodes.wait_until_data("/controller_epoch", "2", PATIENCE_S) == b"2"
        cluster.resume(old)
        won = cluster.wait_for_event("ElectionWon", PATIENCE_S, node=new, controller_epoch=2)
        assert won in cluster.events
        # Before that, every ISR is as the former controller left it; and a broker outside the ISR cannot lead afterwards.
        cluster.wait_for_event("ControllerFailover", PATIENCE_S, node=new, step="Ready to serve as the new controller")
        cluster.wait_until(
            lambda: all(len(cluster.state.of_topics.isr(TopicPartition("orders", p))) == 2 for p in (0, 1)), PATIENCE_S
        )
        cluster.kill(new)
        cluster.wait_for_leader("orders", 1, other_than=new, within_s=PATIENCE_S)
    assert cluster.violations == []


@pytest.mark.live
def test_two_clusters_do_not_meet(kcsim_cluster_factory: ClusterFactory) -> None:
    one, other = kcsim_cluster_factory(1), kcsim_cluster_factory(1)
    assert one.zookeeper is not None
    assert other.zookeeper is not None
    assert one.zookeeper.chroot != other.zookeeper.chroot
    assert (one.controller, other.controller) == ("broker-1", "broker-1")


@pytest.mark.live
def test_a_cluster_is_where_the_test_s_own_client_is(
    kcsim_zookeeper: ZooKeeperForTest, kcsim_cluster: ClusterForTest
) -> None:
    assert kcsim_cluster.zookeeper is kcsim_zookeeper
    assert kcsim_zookeeper.znodes.children("/brokers/ids") == ["1", "2", "3"]


@pytest.mark.live
def test_kafka_s_clients_see_the_leaders_of_a_cluster(kcsim_cluster: ClusterForTest) -> None:
    cluster = kcsim_cluster
    cluster.create_topic("orders", assignment=[[2, 3]])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    assert sorted(admin.list_topics(timeout=PATIENCE_S).brokers) == [1, 2, 3]

    def leader() -> int:
        found: int = admin.list_topics("orders", timeout=PATIENCE_S).topics["orders"].partitions[0].leader
        return found

    def wait_for_leader(broker: int) -> None:
        until(leader, lambda seen: seen == broker, f"broker-{broker} to lead", PATIENCE_S)

    wait_for_leader(2)
    cluster.kill(2)
    cluster.wait_for_leader("orders", other_than="broker-2", within_s=PATIENCE_S)
    wait_for_leader(3)


@pytest.mark.live
def test_steps_of_the_scenario_language_act_on_kafka_s_clients(kcsim_cluster: ClusterForTest) -> None:
    """A producer without idempotence writes a record twice whose acknowledgement it has not received."""
    cluster = kcsim_cluster
    cluster.create_topic("orders", assignment=[[2, 3]])
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "client.id": "shop", "linger.ms": 0})
    cluster.step(
        "break-connections: {from: client shop, to: leader-of orders-0, once-delivered: Produce, let-through: 1}",
        "inject-error: {request: Produce, error: NOT_ENOUGH_REPLICAS_AFTER_APPEND, to: clients, carried-out: true}",
    )
    for number in range(3):
        producer.produce("orders", f"order {number}", partition=0)
        assert producer.flush(PATIENCE_S) == 0
    log = cluster.call(_log_of_orders)
    assert log.log_end_offset == 5  # the first once more after the error, and once more after the broken connection


async def _log_of_orders(cluster: Cluster) -> ReplicaLog:
    return cluster.replica_logs(TopicPartition("orders", 0))[BrokerId(2)]


def test_a_wrong_step_is_refused_before_anything_is_done(simulated: Make) -> None:
    cluster = simulated()
    with pytest.raises(ScenarioFileError, match="unknown broker 'broker-9'"):
        cluster.step("kill: broker-1", "kill: broker-9")
    assert cluster.state.processes["broker-1"] == "running"
    cluster.step("slow-link: {between: broker-1, and: broker-2, delay: 100ms}", "heal: all")


# --- in virtual time


def test_kafka_s_clients_do_not_reach_virtual_time(simulated: Make) -> None:
    with pytest.raises(ClusterError, match="no Kafka client reaches a cluster in virtual time"):
        _ = simulated(start=False).bootstrap_servers


def test_an_hour_of_a_simulated_cluster_takes_no_hour(simulated: Make) -> None:
    cluster = simulated(5, racks=2)
    cluster.create_topic("orders", 3, 3)
    began_s = cluster.now_s
    cluster.let_pass(AN_HOUR_S)
    assert cluster.now_s == began_s + AN_HOUR_S
    assert len(cluster.isr("orders", 2)) == 3


def test_no_time_passes_while_the_test_thinks(simulated: Make) -> None:
    cluster = simulated()
    assert cluster.now_s == cluster.now_s
    assert len(cluster.events) == len(cluster.events)


def test_one_seed_gives_one_story(simulated: Make) -> None:
    def story(seed: int) -> list[str]:
        cluster = simulated(4, seed=seed)
        cluster.create_topic("orders", 6, 2)
        cluster.kill("leader-of orders-3")
        cluster.wait_for_controller()
        return [str(event) for event in cluster.events]

    assert story(3) == story(3)
    assert story(3) != story(4)


def test_the_verbs_return_the_broker_they_acted_on(simulated: Make) -> None:
    cluster = simulated()
    cluster.create_topic("orders", assignment=[[2, 3]])
    holder = cluster.controller
    assert cluster.pause("controller") == holder
    cluster.wait_for_controller(other_than=holder)
    assert cluster.resume(holder) == holder
    assert cluster.kill("follower-of orders-0") == "broker-3"
    cluster.wait_until(lambda: 3 not in cluster.state.registered)
    assert cluster.start(3) == ("broker-3",)
    assert cluster.stop(3) == "broker-3"
    assert cluster.leader("orders") == "broker-2"


def test_sessions_and_connections_are_broken(simulated: Make) -> None:
    cluster = simulated()
    epoch_of_3 = cluster.state.registered[3]
    cluster.expire(3)
    cluster.wait_until(lambda: cluster.state.registered.get(3, 0) > epoch_of_3)
    cluster.disconnect(2)
    cluster.wait_until(lambda: 2 not in cluster.state.registered)
    cluster.reconnect(2)
    cluster.wait_until(lambda: 2 in cluster.state.registered)


def test_a_broker_dies_in_the_middle_of_a_write(simulated: Make) -> None:
    cluster = simulated()
    holder = cluster.kill_at_write("controller", "/brokers/topics", moment="after")
    cluster.create_topic("orders", 1, 3)
    assert cluster.state.processes[holder] == "dead"
    assert cluster.controller_epoch == 2


def test_whatever_a_cluster_can_do_can_be_called_for(simulated: Make) -> None:
    cluster = simulated()

    async def lose_and_find_zookeeper(inside: Cluster) -> tuple[str, ...]:
        await inside.servers.kill("leader")
        await inside.servers.start("member-1")
        return inside.member_names

    assert cluster.call(lose_and_find_zookeeper) == ("member-1",)


def test_a_look_at_the_state_stays_as_it_was(simulated: Make) -> None:
    cluster = simulated()
    before = cluster.state
    cluster.create_topic("orders")
    assert list(before.of_topics.partitions()) == []
    cluster.delete_topic("orders")
    cluster.wait_until(lambda: not cluster.state.of_topics.topics)


def test_what_must_never_be_is_seen(simulated: Make) -> None:
    """The znode is one that no controller would write: its leader is not in its ISR."""
    cluster = simulated()
    cluster.create_topic("orders", assignment=[[1, 2]])

    async def write(inside: Cluster) -> None:
        wrong = '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":1,"isr":[2]}'
        await inside.znodes.set("/brokers/topics/orders/partitions/0/state", wrong)

    cluster.call(write)
    assert any("leaders-are-in-the-isr" in violation for violation in cluster.violations)


# --- waits that time out


def test_a_wait_that_runs_out_says_how_the_cluster_was(simulated: Make) -> None:
    cluster = simulated()
    cluster.create_topic("orders", assignment=[[1, 2]])
    with pytest.raises(TimedOutError) as raised:
        cluster.wait_until(lambda: cluster.state.controller_epoch == 9, within_s=60, what="the ninth epoch")
    assert str(raised.value).startswith(f"not within 60000 ms: the ninth epoch; last seen: controller {cluster.controller}")
    assert "registered 1, 2, 3; orders-0 led by broker-1, ISR [1, 2]" in str(raised.value)


def test_an_event_that_does_not_come_is_reported_with_the_nearest_one(simulated: Make) -> None:
    cluster = simulated()
    with pytest.raises(TimedOutError, match=r"ElectionWon, controller_epoch 5; last seen: \{'controller_epoch': 1\}"):
        cluster.wait_for_event("ElectionWon", 5, controller_epoch=5)
    with pytest.raises(ValueError, match="no event is called 'ElectionOne'; did you mean ElectionWon"):
        cluster.wait_for_event("ElectionOne")


@pytest.mark.parametrize(
    ("who", "message"),
    [
        ("broker-9", "no broker broker-9; there are broker-1, broker-2, broker-3"),
        (9, "no broker broker-9"),
        ("leader-of nothing-0", "nothing-0 has no leader now"),
        ("leader-of nothing", "'nothing' is no partition; write one as orders-0"),
    ],
)
def test_a_broker_that_is_not_there_is_reported(simulated: Make, who: str | int, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        simulated().kill(who)


def test_a_broker_that_does_not_run_is_neither_controller_nor_leader(simulated: Make) -> None:
    """ZooKeeper goes on naming it until its session expires."""
    cluster = simulated()
    cluster.create_topic("orders", replication_factor=3)
    first = cluster.wait_for_controller()
    cluster.kill("controller")
    assert cluster.state.controller_id is not None
    assert cluster.controller is None
    assert cluster.wait_for_controller() != first
    leader = cluster.wait_for_leader("orders")
    cluster.pause(leader)
    assert cluster.leader("orders") is None
    assert cluster.wait_for_leader("orders") not in (first, leader)


def test_nobody_is_paused_where_nobody_is_the_controller(simulated: Make) -> None:
    with pytest.raises(ClusterError, match="no broker is the controller now"):
        simulated(start=False).pause_controller()


def test_a_mistyped_setting_is_reported(kcsim_cluster_factory: ClusterFactory) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"unknown setting 'min\.insync\.replica'; did you mean"):
        kcsim_cluster_factory(settings={"min.insync.replica": 2}, zookeeper="simulated")


def test_another_zookeeper_is_an_option_of_the_run(kcsim_cluster_factory: ClusterFactory) -> None:
    with pytest.raises(pytest.fail.Exception, match="zookeeper='docker': a cluster is 'simulated', or on a ZooKeeper that"):
        kcsim_cluster_factory(zookeeper="docker")


def test_nothing_can_be_asked_of_a_cluster_that_is_over(simulated: Make) -> None:
    cluster = simulated()
    cluster.close()
    with pytest.raises(RunEndedError, match="the run of the cluster is over"):
        cluster.kill(1)


def test_a_defect_ends_the_run_and_is_raised_where_a_test_waits(simulated: Make) -> None:
    cluster = simulated()

    async def wait_beside_a_defect(inside: Cluster) -> None:
        async def fail() -> None:
            raise RuntimeError("a defect")

        inside.runtime.spawn("defective", fail())
        await inside.runtime.sleep_ms(1_000)

    with pytest.raises(RunEndedError, match="a defect"):
        cluster.call(wait_beside_a_defect)
    with pytest.raises(RuntimeError, match="a defect"):
        cluster.close()


# --- waits


def test_the_condition_of_a_wait_reads_the_cluster_and_its_value_is_returned(simulated: Make) -> None:
    cluster = simulated()
    old = cluster.kill("controller")
    epoch = cluster.wait_until(lambda: cluster.controller not in (None, old) and cluster.controller_epoch)
    assert (epoch, cluster.now_s > 0) == (2, True)


def test_a_condition_that_takes_arguments_is_answered_with_the_right_form(simulated: Make) -> None:
    cluster = simulated()
    with pytest.raises(TypeError, match="a function without arguments; write wait_until"):
        cluster.wait_until(lambda state: state.controller_id)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("topic", "partition", "message"),
    [
        ("ordres", 0, r"there is no topic ordres; did you mean orders\?"),
        ("clicks", 0, "there is no topic clicks; there are orders"),
        ("orders", 7, "there is no partition orders-7; orders has 0 to 1"),
    ],
)
def test_nobody_waits_for_the_leader_of_what_does_not_exist(
    simulated: Make, topic: str, partition: int, message: str
) -> None:
    cluster = simulated()
    cluster.create_topic("orders", 2, 2)
    before = cluster.now_s
    with pytest.raises(ClusterError, match=message):
        cluster.wait_for_leader(topic, partition)
    assert cluster.now_s == before
