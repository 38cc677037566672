"""kcsim reassign, compared with what Apache Kafka's own command printed, and on its own."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kcsim.scenarios.cli.command_exit import ExitStatus
from kcsim.scenarios.cli.up_cluster.server_registry import register_servers
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, live_cluster, on, parsed, recorded, topic
from tests.scenarios.cli.scripted_controller import CLUSTER, ScriptedController, scripted_controller

ZOOKEEPER_WARNING = "Warning: --zookeeper is deprecated, and will be removed in a future version of Kafka."
INCOMPLETE_WARNING = (
    "Warning: because you are using the deprecated --zookeeper option, the results may be incomplete."
    "  Use --bootstrap-server instead for more accurate results."
)
ORDERS = topic("orders", {0: on(1, 2), 1: on(2, 3)})
REQUEST_PATH = "/admin/reassign_partitions"


@pytest.fixture
def cluster(server: EmbeddedZooKeeper) -> LiveCluster:
    return live_cluster(server.connect_string, {**brokers(1, 2, 3), **ORDERS})


@pytest.fixture
def controller(cluster: LiveCluster) -> Iterator[ScriptedController]:
    with scripted_controller(cluster.connect) as scripted:
        yield scripted


@pytest.fixture
def plan(tmp_path: Path) -> "Plans":
    return Plans(tmp_path)


class Plans:
    """Writer of files for --reassignment-json-file."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "plan.json"

    def of(self, moves: Mapping[str, list[int] | None]) -> str:
        partitions = [(name.rpartition("-"), replicas or [1]) for name, replicas in moves.items()]
        entries = [{"topic": t, "partition": int(p), "replicas": replicas} for (t, _, p), replicas in partitions]
        return self.text(json.dumps({"version": 1, "partitions": entries}))

    def text(self, text: str) -> str:
        self._file.write_text(text, encoding="utf-8")
        return str(self._file)


def current(*entries: str) -> list[str]:
    """Return the lines that --execute prints first."""
    return [
        "Current partition replica assignment",
        "",
        f'{{"version":1,"partitions":[{",".join(entries)}]}}',
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
    ]


ORDERS_0 = '{"topic":"orders","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}'
ORDERS_1 = '{"topic":"orders","partition":1,"replicas":[2,3],"log_dirs":["any","any"]}'

# --- executing -------------------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_a_move_is_asked_for_in_the_znode(cluster: LiveCluster, plan: Plans) -> None:
    """--execute is Kafka's own flag, and is enough on any ZooKeeper."""
    result = cluster.run(
        "reassign", "--execute", "--reassignment-json-file", plan.of({"orders-1": [3, 1], "orders-0": [2, 1]})
    )
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            ZOOKEEPER_WARNING,
            *current(ORDERS_0, ORDERS_1),
            "Successfully started partition reassignments for orders-0,orders-1",
        ],
    )
    assert cluster.znodes()[REQUEST_PATH] == (
        '{"version":1,"partitions":[{"topic":"orders","partition":1,"replicas":[3,1]},'
        '{"topic":"orders","partition":0,"replicas":[2,1]}]}'
    )


@pytest.mark.live
def test_a_second_request_waits_for_the_first(cluster: LiveCluster, plan: Plans) -> None:
    file = plan.of({"orders-0": [2, 1]})
    cluster.run("reassign", "--execute", "--reassignment-json-file", file)
    before = cluster.znodes()
    result = cluster.run("reassign", "--execute", "--reassignment-json-file", file)
    assert (result.exit_code, result.stdout.splitlines()) == (
        ExitStatus.REFUSED,
        [
            ZOOKEEPER_WARNING,
            "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create"
            " a new partition assignment in addition to the existing one. The --additional flag can also be used to change"
            " the throttle by resubmitting the current reassignment.",
        ],
    )
    assert cluster.znodes() == before


@pytest.mark.live
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"partitions":[]}', "Partition reassignment list cannot be empty"),
        (
            '{"partitions":[{"topic":"orders","partition":0,"replicas":[]}]}',
            "Partition replica list cannot be empty",
        ),
        (
            '{"partitions":[{"topic":"orders","partition":7,"replicas":[1]}]}',
            "The proposed assignment contains non-existent partitions: List(orders-7)",
        ),
        (
            '{"partitions":[{"topic":"orders","partition":0,"replicas":[9,1]}]}',
            "The proposed assignment contains non-existent brokerIDs: 9",
        ),
        (
            '{"partitions":[{"topic":"orders","partition":0,"replicas":[1],"log_dirs":["/d"]}]}',
            "bootstrap-server needs to be provided when replica reassignments are present.",
        ),
        ('{"version":2}', "Not supported version field value 2"),
    ],
)
def test_a_plan_that_kafka_refuses_is_refused_in_its_words(
    cluster: LiveCluster, plan: Plans, text: str, message: str
) -> None:
    before = cluster.znodes()
    result = cluster.run("reassign", "--execute", "--reassignment-json-file", plan.text(text))
    assert (result.exit_code, result.stdout.splitlines()) == (ExitStatus.REFUSED, [ZOOKEEPER_WARNING, f"Error: {message}"])
    assert cluster.znodes() == before


RATES = {"leader.replication.throttled.rate": "5000", "follower.replication.throttled.rate": "5000"}
THROTTLED = {
    "leader.replication.throttled.replicas": "0:1,0:2",
    "follower.replication.throttled.replicas": "0:3",
}


@pytest.mark.live
def test_a_throttle_goes_to_every_broker_that_gives_or_gets_a_replica(cluster: LiveCluster, plan: Plans) -> None:
    file = plan.of({"orders-0": [2, 3]})
    result = cluster.run("reassign", "--execute", "--throttle", "5000", "--reassignment-json-file", file)
    assert result.stdout.splitlines()[-3:] == [
        "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed.",
        "The inter-broker throttle limit was set to 5000 B/s",
        "Successfully started partition reassignment for orders-0",
    ]
    written = cluster.znodes()
    assert [parsed(written[f"/config/brokers/{broker}"])["config"] for broker in (1, 2, 3)] == [RATES] * 3
    assert parsed(written["/config/topics/orders"])["config"] == THROTTLED


@pytest.mark.live
def test_verifying_a_move_that_is_done_removes_its_throttles(server: EmbeddedZooKeeper, plan: Plans) -> None:
    rates = json.dumps({"version": 1, "config": {**RATES, "log.cleaner.threads": "2"}})
    throttled = topic("orders", {0: on(2, 3)}, {**THROTTLED, "retention.ms": "7"})
    cluster = live_cluster(server.connect_string, {**brokers(1, 2, 3), **throttled, "/config/brokers/2": rates})
    with register_servers(server.connect_string):
        result = cluster.run("reassign", "--verify", "--reassignment-json-file", plan.of({"orders-0": [2, 3]}))
    assert result.stdout.splitlines() == [
        ZOOKEEPER_WARNING,
        INCOMPLETE_WARNING,
        "Status of partition reassignment:",
        "Reassignment of partition orders-0 is complete.",
        "Clearing broker-level throttles on brokers 1,2,3",
        "Clearing topic-level throttles on topic orders",
    ]
    after = cluster.znodes()
    assert parsed(after["/config/brokers/2"])["config"] == {"log.cleaner.threads": "2"}
    assert parsed(after["/config/topics/orders"])["config"] == {"retention.ms": "7"}
    assert "/config/brokers/1" not in after


# --- listing, verifying and generating -------------------------------------------------------------------------------------


@pytest.mark.live
def test_a_reassignment_is_verified_partition_by_partition(server: EmbeddedZooKeeper, plan: Plans) -> None:
    requested = '{"version":1,"partitions":[{"topic":"orders","partition":1,"replicas":[1]}]}'
    cluster = live_cluster(server.connect_string, {**brokers(1, 2, 3), **ORDERS, REQUEST_PATH: requested})
    file = plan.of({"orders-1": [1], "orders-0": [1, 2], "gone-0": [3]})
    result = cluster.run("reassign", "--verify", "--reassignment-json-file", file)
    assert result.stdout.splitlines() == [
        ZOOKEEPER_WARNING,
        INCOMPLETE_WARNING,
        "Status of partition reassignment:",
        "There is no active reassignment of partition gone-0, but replica set is  rather than 3.",
        "Reassignment of partition orders-0 is complete.",
        "Reassignment of partition orders-1 is still in progress.",
    ]


@pytest.mark.live
def test_verifying_elsewhere_removes_throttles_only_on_request(server: EmbeddedZooKeeper, plan: Plans) -> None:
    rate = '{"version":1,"config":{"leader.replication.throttled.rate":"1","log.cleaner.threads":"2"}}'
    cluster = live_cluster(server.connect_string, {**brokers(1, 2), **ORDERS, "/config/brokers/2": rate})
    before = cluster.znodes()
    arguments = ["--verify", "--reassignment-json-file", plan.of({"orders-0": [1, 2]})]
    result = cluster.run("reassign", *arguments)
    assert result.stdout.splitlines()[-4:] == [
        f"Dry run: nothing has been written to {cluster.connect}, which kcsim has not started. It would be:",
        '  set /config/brokers/2  {"version":1,"config":{"log.cleaner.threads":"2"}}',
        '  create /config/changes/config_change_…  {"version":2,"entity_path":"brokers/2"}',
        "Run it again with --execute to do it.",
    ]
    assert cluster.znodes() == before
    cluster.run("reassign", *arguments, "--execute")
    assert parsed(cluster.znodes()["/config/brokers/2"])["config"] == {"log.cleaner.threads": "2"}


@pytest.mark.live
def test_what_moves_is_listed_from_the_topics_znodes(server: EmbeddedZooKeeper) -> None:
    moving = topic("t", {0: on(2, 4, 1, adding=[4], removing=[1]), 1: on(1), 2: on(3, 1, removing=[1])})
    cluster = live_cluster(server.connect_string, {**brokers(1), **moving})
    assert cluster.run("reassign", "--list").stdout == (
        "Current partition reassignments:\nt-0: replicas: 2,4,1. adding: 4. removing: 1.\nt-2: replicas: 3,1. removing: 1.\n"
    )
    first, _ = json.loads(cluster.run("reassign", "--list", "--output", "json").stdout)
    assert first == {"topic": "t", "partition": 0, "replicas": [2, 4, 1], "adding_replicas": [4], "removing_replicas": [1]}


@pytest.mark.live
def test_without_a_move_the_list_says_so(cluster: LiveCluster) -> None:
    assert cluster.run("reassign", "--list").stdout == "No partition reassignments found.\n"


@pytest.mark.live
def test_a_proposal_places_topics_anew_on_the_live_goal_brokers(cluster: LiveCluster, tmp_path: Path) -> None:
    """Broker 9 is in the goal list and not alive: it is dropped without a message."""
    file = tmp_path / "topics.json"
    file.write_text('{"topics":[{"topic":"orders"}],"version":1}', encoding="utf-8")
    before = cluster.znodes()
    arguments = ["--generate", "--topics-to-move-json-file", str(file), "--broker-list", "2,3,9"]
    result = cluster.run("reassign", *arguments)
    warning, head, now, empty, proposed_head, proposed = result.stdout.splitlines()
    assert (result.exit_code, warning, head, empty) == (0, ZOOKEEPER_WARNING, "Current partition replica assignment", "")
    assert now == f'{{"version":1,"partitions":[{ORDERS_0},{ORDERS_1}]}}'
    assert proposed_head == "Proposed partition reassignment configuration"
    assert [sorted(entry["replicas"]) for entry in json.loads(proposed)["partitions"]] == [[2, 3], [2, 3]]
    assert cluster.znodes() == before


@pytest.mark.live
@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("2", "Replication factor: 2 larger than available brokers: 1."),
        ("2,2", "Broker list contains duplicate entries: 2"),
    ],
)
def test_a_proposal_that_cannot_be_is_refused_in_kafkas_words(
    cluster: LiveCluster, tmp_path: Path, goal: str, message: str
) -> None:
    file = tmp_path / "topics.json"
    file.write_text('{"topics":[{"topic":"orders"}]}', encoding="utf-8")
    result = cluster.run("reassign", "--generate", "--topics-to-move-json-file", str(file), "--broker-list", goal)
    assert (result.exit_code, result.stdout.splitlines()[1:]) == (ExitStatus.REFUSED, [f"Error: {message}"])


# --- through the controller's API ------------------------------------------------------------------------------------------


@pytest.mark.live
@pytest.mark.parametrize(
    ("file", "index", "answers", "first_line_only"),
    [
        ("reassign-replaced-by-command.json", 2, {"orders-0": "NONE"}, False),
        ("reassign-replaced-by-command.json", 3, {"orders-0": "NONE"}, False),
        ("command-reassign-bad.json", 1, {}, True),
        ("command-reassign-bad.json", 2, {"orders-7": "UNKNOWN_TOPIC_OR_PARTITION"}, False),
        ("command-reassign-bad.json", 3, {}, True),
    ],
)
def test_what_kafkas_command_printed_is_printed(
    server: EmbeddedZooKeeper,
    plan: Plans,
    file: str,
    index: int,
    answers: Mapping[str, str],
    first_line_only: bool,
) -> None:
    """Recorded with --bootstrap-server and --additional. The stack trace below the first line of a refusal is Java's own."""
    kafka = recorded(file, index)
    cluster = live_cluster(server.connect_string, kafka.before)
    with scripted_controller(cluster.connect) as controller:
        controller.answers["alter-partition-reassignments"] = {"errors": answers}
        moves = kafka.step["do"]["alter"]
        result = cluster.run("reassign", "--execute", "--additional", "--reassignment-json-file", plan.of(moves))
    printed = kafka.printed[:1] if first_line_only else kafka.printed
    assert (result.exit_code, result.stdout.splitlines()) == (ExitStatus.REFUSED if kafka.exit_status else 0, printed)
    assert [asked for asked in controller.asked if asked[0] != "list-partition-reassignments"] == (
        [("alter-partition-reassignments", {"targets": moves})] if answers else []
    )


@pytest.mark.live
def test_a_cancellation_goes_to_the_controller_of_the_cluster_that_lives_there(
    cluster: LiveCluster, controller: ScriptedController, plan: Plans
) -> None:
    kafka = recorded("reassign-cancel-loses-order.json", 3)
    controller.moves("orders-0", [3, 4, 2, 1], adding=[4], removing=[1])
    controller.answers["alter-partition-reassignments"] = {"errors": {"orders-0": "NONE"}}
    file = plan.of({"orders-0": [1], "orders-1": [1]})
    result = cluster.run("reassign", "--cancel", "--preserve-throttles", "--reassignment-json-file", file)
    assert (result.exit_code, result.stdout.splitlines()) == (ExitStatus.REFUSED if kafka.exit_status else 0, kafka.printed)
    assert controller.asked[-1] == ("alter-partition-reassignments", {"targets": {"orders-0": None}})


@pytest.mark.live
def test_with_nothing_to_cancel_nobody_is_asked(cluster: LiveCluster, controller: ScriptedController, plan: Plans) -> None:
    result = cluster.run("reassign", "--cancel", "--reassignment-json-file", plan.of({"orders-0": [1]}))
    assert result.stdout.splitlines() == [
        "None of the specified partition reassignments are active.",
        "None of the specified partition moves are active.",
        "Clearing broker-level throttles on brokers 1,2,3",
        "Clearing topic-level throttles on topic orders",
    ]
    assert [verb for verb, _ in controller.asked] == ["list-partition-reassignments"]


@pytest.mark.live
def test_a_cancellation_that_the_controller_refuses_is_reported(
    cluster: LiveCluster, controller: ScriptedController, plan: Plans
) -> None:
    controller.moves("orders-0", [3, 1], adding=[3], removing=[])
    controller.answers["alter-partition-reassignments"] = {"errors": {"orders-0": "NO_REASSIGNMENT_IN_PROGRESS"}}
    result = cluster.run("reassign", "--cancel", "--reassignment-json-file", plan.of({"orders-0": [1]}))
    assert (result.exit_code, result.stdout.splitlines()) == (
        ExitStatus.REFUSED,
        [
            "Error cancelling partition reassignment for:",
            "orders-0: No partition reassignment is in progress.",
        ],
    )


@pytest.mark.live
def test_by_the_clusters_name_the_controller_says_what_moves(
    cluster: LiveCluster, controller: ScriptedController, plan: Plans
) -> None:
    """A reassignment begun through the API is in no admin znode: --zookeeper takes it for complete, as Kafka warns."""
    controller.moves("orders-0", [1, 2, 3], adding=[3], removing=[1])
    assert kcsim("reassign", "--cluster", CLUSTER, "--list").stdout == (
        "Current partition reassignments:\norders-0: replicas: 1,2,3. adding: 3. removing: 1.\n"
    )
    file = plan.of({"orders-0": [2, 3]})
    verified = kcsim("reassign", "--cluster", CLUSTER, "--verify", "--reassignment-json-file", file)
    assert verified.stdout.splitlines() == [
        "Status of partition reassignment:",
        "Reassignment of partition orders-0 is still in progress.",
        "",
    ]
    verified = cluster.run("reassign", "--verify", "--reassignment-json-file", file)
    assert "but replica set is 1,2 rather than 2,3.\n" in verified.stdout


@pytest.mark.live
def test_by_the_clusters_name_a_second_reassignment_needs_additional(controller: ScriptedController, plan: Plans) -> None:
    controller.moves("orders-0", [1, 2, 3], adding=[3], removing=[1])
    file = plan.of({"orders-1": [3, 2]})
    result = kcsim("reassign", "--cluster", CLUSTER, "--execute", "--reassignment-json-file", file)
    assert result.exit_code == ExitStatus.REFUSED
    assert result.stdout.startswith("Cannot execute because there is an existing partition assignment.")


@pytest.mark.live
def test_without_a_cluster_up_it_says_why_it_cannot_be_cancelled(cluster: LiveCluster, plan: Plans) -> None:
    result = cluster.run("reassign", "--cancel", "--reassignment-json-file", plan.of({"orders-0": [1]}))
    assert (result.exit_code, result.stdout, result.stderr) == (
        2,
        "",
        "kcsim: cancellations go through the controller's API, for which there is no znode (Kafka's tool wants"
        f" --bootstrap-server), and no cluster of kcsim up runs on {cluster.connect}\n",
    )


# --- invalid options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--zookeeper x", "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list\n"),
        ("--zookeeper x --list --cancel", "Command must include exactly one action: "),
        ("--zookeeper x --execute", 'Missing required argument "[reassignment-json-file]"\n'),
        ("--zookeeper x --generate --broker-list 1", 'Missing required argument "[topics-to-move-json-file]"\n'),
        ("--zookeeper x --list --throttle 1", 'Option "[throttle]" can\'t be used with action "[list]"\n'),
        ("--list", "give either --zookeeper or --cluster, or start a cluster with kcsim up\n"),
        ("--zookeeper x --execute --reassignment-json-file no.json", "--reassignment-json-file: no.json: No such file or"),
    ],
)
def test_options_that_make_no_sense_end_with_64(arguments: str, message: str) -> None:
    result = kcsim("reassign", *arguments.split())
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(message)
