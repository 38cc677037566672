"""Commands on a cluster in migration to KRaft: those that read it say so, and those that write to it refuse."""

import pytest

from kcsim.scenarios.cli.command_exit import ExitStatus
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.conformance.recorded_migration import ONE_RUN, data_after
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, led, live_cluster, on, topic

MIGRATED, GIVEN_UP = "the KRaft controller starts", "/controller is deleted by hand"
"""After the first step /controller names the KRaft controller; after the second one only /migration does."""
OF_ORDERS = ("--entity-type", "topics", "--entity-name", "orders")
PLAN = '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[2,1]}]}'


def cluster_after(step: str, server: EmbeddedZooKeeper, *registered: int) -> LiveCluster:
    """Return a cluster with the znodes of a recorded migration after a step, and a topic."""
    migrating = {path: data_after(ONE_RUN, step, path) for path in ("/controller", "/controller_epoch", "/migration")}
    orders = {**topic("orders", {0: on(1, 2)}), "/brokers/topics/orders/partitions/0": None, **led("orders", 0, 1, (1, 2))}
    return live_cluster(server.connect_string, {**brokers(*registered), **orders, **migrating})


@pytest.mark.live
@pytest.mark.parametrize("step", [MIGRATED, GIVEN_UP])
@pytest.mark.parametrize(
    "command",
    [
        ("topics", "--create", "--topic", "clicks", "--partitions", "1", "--replication-factor", "1", "--execute"),
        ("topics", "--delete", "--topic", "orders", "--execute"),
        (
            "configs",
            "--alter",
            "--entity-type",
            "topics",
            "--entity-name",
            "orders",
            "--add-config",
            "retention.ms=1",
            "--execute",
        ),
        ("elect-leaders", "--execute"),
        ("reassign", "--execute", "--reassignment-json-file", "plan.json"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_nothing_is_written_to_it(
    step: str, command: tuple[str, ...], server: EmbeddedZooKeeper, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("plan.json", "w", encoding="utf-8") as plan:
        plan.write(PLAN)
    cluster = cluster_after(step, server, 1, 2)
    before = cluster.znodes()
    result = cluster.run(*command)
    assert result.exit_code == ExitStatus.REFUSED
    assert result.stderr.splitlines() == [
        f"kcsim: nothing is written to {cluster.connect}: its cluster is in migration to KRaft, whose controller 3000 "
        "decides now and overwrites what others write there; use Kafka's own command with --bootstrap-server, or delete "
        "/migration if the migration was given up"
    ]
    assert cluster.znodes() == before


@pytest.mark.live
def test_it_can_be_read(server: EmbeddedZooKeeper) -> None:
    result = cluster_after(MIGRATED, server, 1, 2).run("topics", "--list")
    note = (
        "note: this cluster is in migration to KRaft, with the KRaft controller 3000; it can be read here, but not changed"
    )
    assert (result.exit_code, result.stdout, result.stderr) == (0, "orders\n", note + "\n")


@pytest.mark.live
def test_before_a_kraft_controller_has_taken_it_it_is_a_cluster_like_any_other(server: EmbeddedZooKeeper) -> None:
    result = cluster_after("the brokers start, and topic `before` is created", server, 1, 2).run(
        "elect-leaders", "--execute"
    )
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.live
def test_no_run_begins_on_it_even_while_no_broker_is_registered(server: EmbeddedZooKeeper) -> None:
    cluster = cluster_after(MIGRATED, server)
    result = kcsim("run", "controller-race", "--zookeeper", cluster.connect, "--execute")
    assert result.exit_code == ExitStatus.USAGE
    assert f"--zookeeper: nothing is written to {cluster.connect}: its cluster is in migration to KRaft" in result.stderr
