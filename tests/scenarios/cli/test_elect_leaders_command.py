"""kcsim elect-leaders, compared with what Apache Kafka's own commands printed and wrote, and on its own."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kcsim.scenarios.cli.command_exit import ExitStatus
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, led, live_cluster, on, parsed, recorded, topic
from tests.scenarios.cli.scripted_controller import CLUSTER, ScriptedController, scripted_controller

REQUEST_PATH = "/admin/preferred_replica_election"
ORDERS = {
    **topic("orders", {0: on(1, 2), 1: on(2, 1)}),
    **led("orders", 0, 2, (2, 1)),
    **led("orders", 1, 2, (2, 1)),
    "/brokers/topics/orders/partitions/0": None,
    "/brokers/topics/orders/partitions/1": None,
}


@pytest.fixture
def cluster(server: EmbeddedZooKeeper) -> LiveCluster:
    return live_cluster(server.connect_string, {**brokers(1, 2), **ORDERS})


@pytest.fixture
def controller(cluster: LiveCluster) -> Iterator[ScriptedController]:
    with scripted_controller(cluster.connect) as scripted:
        yield scripted


# --- preferred leaders, through the znode ----------------------------------------------------------------------------------


@pytest.mark.live
def test_what_kafkas_command_printed_and_wrote_is_printed_and_written(server: EmbeddedZooKeeper) -> None:
    kafka = recorded("command-elect-preferred-zookeeper.json", 3)
    cluster = live_cluster(server.connect_string, kafka.before)
    result = cluster.run("elect-leaders", "--execute")
    assert (result.exit_code, result.stdout.splitlines()) == (ExitStatus.REFUSED if kafka.exit_status else 0, kafka.printed)
    assert {REQUEST_PATH: parsed(cluster.znodes()[REQUEST_PATH])} == kafka.admin_writes


@pytest.mark.live
def test_partitions_can_be_named_in_a_file_and_unknown_ones_are_skipped(cluster: LiveCluster, tmp_path: Path) -> None:
    file = tmp_path / "partitions.json"
    file.write_text('{"partitions":[{"topic":"orders","partition":1},{"topic":"no","partition":0}]}', encoding="utf-8")
    result = cluster.run("elect-leaders", "--execute", "--path-to-json-file", str(file))
    assert result.stdout.splitlines()[3:] == [
        "Created preferred replica election path with orders-1",
        "Successfully started preferred replica election for partitions Set(orders-1)",
        "Skipping preferred replica leader election for partition no-0 since it doesn't exist.",
    ]
    assert cluster.znodes()[REQUEST_PATH] == '{"version":1,"partitions":[{"topic":"orders","partition":1}]}'


@pytest.mark.live
def test_a_second_request_is_refused_while_the_first_one_is_pending(cluster: LiveCluster) -> None:
    arguments = ["--execute", "--topic", "orders", "--partition", "0"]
    assert cluster.run("elect-leaders", *arguments).exit_code == 0
    result = cluster.run("elect-leaders", *arguments)
    assert result.exit_code == ExitStatus.REFUSED
    assert result.stderr.splitlines() == [
        "kafka.common.AdminCommandFailedException: Admin command failed",
        "Caused by: kafka.admin.AdminOperationException: Preferred replica leader election currently in progress for"
        " Set(orders-0). Aborting operation",
    ]


@pytest.mark.live
def test_elsewhere_it_says_what_it_would_write(cluster: LiveCluster) -> None:
    result = cluster.run("elect-leaders", "--topic", "orders", "--partition", "1")
    assert result.stdout.splitlines()[3:] == [
        f"Dry run: nothing has been written to {cluster.connect}, which kcsim has not started. It would be:",
        f'  create {REQUEST_PATH}  {{"version":1,"partitions":[{{"topic":"orders","partition":1}}]}}',
        "Run it again with --execute to do it.",
    ]
    assert REQUEST_PATH not in cluster.znodes()


# --- through the controller's API ------------------------------------------------------------------------------------------


@pytest.mark.live
@pytest.mark.parametrize(
    ("file", "index", "answers", "asked"),
    [
        (
            "unclean-by-command.json",
            4,
            {"orders-0": "NONE"},
            {"election_type": "UNCLEAN", "partitions": ["orders-0"]},
        ),
        (
            "command-elect-preferred.json",
            3,
            {"orders-0": "ELECTION_NOT_NEEDED", "orders-1": "NONE", "orders-2": "ELECTION_NOT_NEEDED"},
            {"election_type": "PREFERRED", "partitions": None},
        ),
    ],
)
def test_what_kafkas_command_printed_of_the_answer_is_printed(
    controller: ScriptedController, file: str, index: int, answers: Mapping[str, str], asked: Mapping[str, object]
) -> None:
    """The options are the same, with --cluster in place of --bootstrap-server.

    An election for all partitions does not list those that needed none.
    """
    kafka = recorded(file, index)
    controller.answers["elect-leaders"] = {"errors": answers, "messages": {}, "release": "2.8"}
    options = kafka.step["do"]["tool"][1:]
    result = kcsim("elect-leaders", "--cluster", CLUSTER, *options[options.index("--election-type") :])
    assert (result.exit_code, result.stdout.splitlines()) == (ExitStatus.REFUSED if kafka.exit_status else 0, kafka.printed)
    assert controller.asked == [("elect-leaders", asked)]


@pytest.mark.live
@pytest.mark.parametrize(("release", "exception"), [("2.8", "kafka.common.AdminCommandFailedException: "), ("3.9", "")])
def test_an_unclean_election_finds_the_cluster_by_its_zookeeper_under_whichever_name(
    cluster: LiveCluster, controller: ScriptedController, release: str, exception: str
) -> None:
    """From 3.7 on the command prints why it fails without the exception's class."""
    failed = "Failed to elect leader for partition orders-2 under strategy OfflinePartitionLeaderElectionStrategy(true)"
    controller.answers["elect-leaders"] = {
        "errors": {"orders-0": "NONE", "orders-1": "ELECTION_NOT_NEEDED", "orders-2": "ELIGIBLE_LEADERS_NOT_AVAILABLE"},
        "messages": {"orders-2": failed},
        "release": release,
    }
    connect = cluster.connect.replace("127.0.0.1", "localhost")
    result = kcsim("elect-leaders", "--zookeeper", connect, "--election-type", "unclean", "--all-topic-partitions")
    assert (result.exit_code, result.stdout.splitlines()) == (
        ExitStatus.REFUSED,
        [
            "Successfully completed leader election (UNCLEAN) for partitions orders-0",
            "Error completing leader election (UNCLEAN) for partition: orders-2:"
            " org.apache.kafka.common.errors.EligibleLeadersNotAvailableException:"
            f" {failed}",
        ],
    )
    assert result.stderr == f"{exception}1 replica(s) could not be elected\n"


@pytest.mark.live
def test_without_a_cluster_up_it_says_why_there_is_no_unclean_election(cluster: LiveCluster) -> None:
    result = cluster.run("elect-leaders", "--election-type", "unclean", "--all-topic-partitions")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("kcsim: unclean elections go through the controller's API, for which there is no znode")


def test_a_cluster_that_is_not_up_is_missed_by_name() -> None:
    result = kcsim("elect-leaders", "--cluster", "no", "--all-topic-partitions")
    assert (result.exit_code, result.stderr) == (2, "kcsim: no cluster named no is up; start one with kcsim up\n")


# --- invalid options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--zookeeper x --topic t", "Missing required option(s): partition\n"),
        ("--zookeeper x --partition 1", "Option partition is only allowed if topic is used\n"),
        (
            "--zookeeper x --topic t --partition 1 --all-topic-partitions",
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file\n",
        ),
        ("--cluster x", "One and only one of the following options is required: "),
        (
            "--all-topic-partitions",
            "give either --zookeeper or --cluster, or start a cluster with kcsim up\n",
        ),
        ("--zookeeper x --path-to-json-file no.json", "--path-to-json-file: no.json: No such file or directory\n"),
    ],
)
def test_options_that_make_no_sense_end_with_64(arguments: str, message: str) -> None:
    result = kcsim("elect-leaders", *arguments.split())
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(message)
