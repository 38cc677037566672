"""Output and exit status of Kafka's commands: every line here is as Apache Kafka 2.8.2 printed it on such a cluster."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conformance.replayed.command_output import comparable_lines
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.play import play
from tests.conformance.replayed.recording import Recording

TOPICS = "kafka.admin.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
REASSIGN = "kafka.admin.ReassignPartitionsCommand"
ELECT = "kafka.admin.LeaderElectionCommand"
PREFER = "kafka.admin.PreferredReplicaLeaderElectionCommand"
ORDERS = {"topic": "orders", "assignment": {"0": [1, 2], "1": [2, 3]}, "config": {}, "wait_state": True}
REFUSED = "Error while executing topic command : "
CONFIG_WARNINGS = (
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.",
    "Use --bootstrap-server instead to specify a broker to connect to.",
)
GROWTH_WARNING = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages will"
    " be affected"
)
COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To avoid"
    " issues it is best to use either, but not both."
)


class Ran(NamedTuple):
    """A command with its expected exit status and output."""

    do: Mapping[str, Any]
    rc: int
    out: Sequence[str] = ()
    err: Sequence[str] = ()


def ran(
    tool: str, line: str, *out: str, rc: int = 0, err: Sequence[str] = (), files: Mapping[str, Any] | None = None
) -> Ran:
    return Ran({"tool": [tool, *line.split()], **({"files": files} if files else {})}, rc, out, err)


def refused(line: str, why: str, *before: str) -> Ran:
    return ran(TOPICS, line, *before, REFUSED + why, rc=1)


def assert_printed(*steps: Ran | Mapping[str, Any], source: str = "") -> None:
    """Play the steps on three brokers, and compare each command with its expected result.

    Args:
        source: as in a recording; it names the release.
    """
    commands = [{"do": s.do, "outcome": {"rc": s.rc, "out": [*s.out], "err": [*s.err]}} for s in steps if isinstance(s, Ran)]
    given = [commands.pop(0) if isinstance(s, Ran) else {"do": s} for s in steps]
    recording = Recording.of({"name": "made-up", "source": source, "brokers": [1, 2, 3], "steps": given})
    played = play(recording, "simulated")
    assert differences(recording, played) == []
    assert played.not_supported is None


def describe(partition: int, leader: int, replicas: str, isr: str, topic: str = "orders") -> str:
    return f"\tTopic: {topic}\tPartition: {partition}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}"


# --- kafka-topics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["--zookeeper ZK", "--bootstrap-server BS"])
def test_topics_created_and_refused(at: str) -> None:
    assert_printed(
        ORDERS,
        refused(f"{at} --create --topic orders --replica-assignment 1:2", "Topic 'orders' already exists."),
        ran(TOPICS, f"{at} --create --if-not-exists --topic orders --replica-assignment 1:2"),
        ran(TOPICS, f"{at} --create --topic a.b --replica-assignment 1:2", COLLISION_WARNING, "Created topic a.b."),
        refused(
            f"{at} --create --topic a_b --replica-assignment 1:2",
            "Topic 'a_b' collides with existing topics: a.b",
            COLLISION_WARNING,
        ),
        refused(
            f"{at} --create --topic c --partitions 2 --replication-factor 7",
            "Replication factor: 7 larger than available brokers: 3.",
        ),
        refused(
            f"{at} --create --topic c --replica-assignment 1:1",
            "Partition replica lists may not contain duplicate entries: 1",
        ),
        refused(f"{at} --create --topic c --replica-assignment 1 --config nosuch=1", "Unknown topic config name: nosuch"),
        refused(
            f"{at} --create --topic c --replica-assignment 1 --config retention.ms=x",
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        ran(TOPICS, f"{at} --list", "a.b", "orders"),
        ran(TOPICS, f"{at} --list --topic nosuch"),
    )


def test_without_partitions_each_way_refuses_in_its_own_words() -> None:
    line = "--create --topic c --partitions 0 --replication-factor 1"
    assert_printed(
        refused(f"--zookeeper ZK {line}", "Number of partitions must be larger than 0."),
        refused(f"--bootstrap-server BS {line}", "The partitions must be greater than 0"),
    )


def test_where_no_replica_lives_zookeeper_takes_a_topic_and_a_broker_waits_in_vain() -> None:
    assert_printed(
        ran(TOPICS, "--zookeeper ZK --create --topic dead --replica-assignment 9:8", "Created topic dead."),
        refused("--bootstrap-server BS --create --topic gone --replica-assignment 8:9", "The request timed out."),
        ran(TOPICS, "--bootstrap-server BS --list"),
        ran(TOPICS, "--zookeeper ZK --list", "dead", "gone"),
    )


def test_partitions_added_directly() -> None:
    at = "--zookeeper ZK --alter --topic"
    assert_printed(
        ORDERS,
        ran(TOPICS, f"{at} orders --partitions 3", GROWTH_WARNING, "Adding partitions succeeded!"),
        refused(
            f"{at} orders --partitions 2",
            "The number of partitions for a topic can only be increased. Topic orders currently has 3 partitions, 2 would"
            " not be an increase.",
            GROWTH_WARNING,
        ),
        refused(
            f"{at} orders --partitions 4 --replica-assignment 1:2,2:3,3:1,9:1",
            "Some brokers specified for partition id 3 are not available. Specified brokers: 9, 1, available brokers:"
            " 1, 2, 3.",
            GROWTH_WARNING,
        ),
        refused(f"{at} nosuch --partitions 3", "Topic 'nosuch' does not exist as expected"),
        ran(TOPICS, f"{at} nosuch --if-exists --partitions 3"),
    )


def test_partitions_added_by_a_broker() -> None:
    at = "--bootstrap-server BS --alter --topic"
    assert_printed(
        ORDERS,
        ran(TOPICS, f"{at} orders --partitions 3"),
        refused(f"{at} orders --partitions 2", "Topic currently has 3 partitions, which is higher than the requested 2."),
        refused(f"{at} orders --partitions 3", "Topic already has 3 partitions."),
        refused(
            f"{at} orders --partitions 5 --replica-assignment 1:2,2:3,3:1,9:1,9:8",
            "Unknown broker(s) in replica assignment: 9, 8.",
        ),
        refused(
            f"{at} orders --partitions 4 --replica-assignment 1:2",
            "Increasing the number of partitions by 1 but 0 assignments provided.",
        ),
        refused(f"{at} nosuch --partitions 3", "Topic 'nosuch' does not exist as expected"),
    )


def test_settings_altered_directly() -> None:
    warning = (
        "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future releases.",
        "         Going forward, please use kafka-configs.sh for this functionality",
    )
    at = "--zookeeper ZK --alter --topic orders"
    assert_printed(
        ORDERS,
        ran(TOPICS, f"{at} --config retention.ms=5000", *warning, "Updated config for topic orders."),
        ran(TOPICS, f"{at} --delete-config retention.ms", *warning, "Updated config for topic orders."),
        refused(f"{at} --config nosuch=5", "Unknown topic config name: nosuch"),
    )


def test_topics_deleted() -> None:
    marked = (
        "Topic orders is marked for deletion.",
        "Note: This will have no impact if delete.topic.enable is not set to true.",
    )
    gone = "--zookeeper ZK --delete --topic orders"
    assert_printed(
        ORDERS,
        {"kill": 3},
        ran(TOPICS, gone, *marked),
        ran(TOPICS, gone, "Topic orders is already marked for deletion."),
        ran(TOPICS, "--zookeeper ZK --list", "orders - marked for deletion"),
        ran(TOPICS, "--bootstrap-server BS --list"),
        refused("--bootstrap-server BS --delete --topic orders", "Topic 'orders' does not exist as expected"),
        ran(TOPICS, "--bootstrap-server BS --delete --if-exists --topic orders"),
    )


def test_a_broker_describes_topics_in_the_order_of_hash_maps_with_its_own_settings() -> None:
    create = "--bootstrap-server BS --create --topic"
    assert_printed(
        ran(TOPICS, f"{create} orders --replica-assignment 1:2 --config min.insync.replicas=2", "Created topic orders."),
        ran(TOPICS, f"{create} zz --replica-assignment 2:1 --config retention.ms=1000", "Created topic zz."),
        ran(
            TOPICS,
            "--bootstrap-server BS --describe",
            "Topic: zz\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: retention.ms=1000,message.format.version=2.6-IV0",
            describe(0, 2, "2,1", "2,1", "zz"),
            "Topic: orders\tPartitionCount: 1\tReplicationFactor: 2"
            "\tConfigs: min.insync.replicas=2,message.format.version=2.6-IV0",
            describe(0, 1, "1,2", "1,2"),
        ),
        ran(TOPICS, "--bootstrap-server BS --describe --at-min-isr-partitions", describe(0, 1, "1,2", "1,2")),
        ran(TOPICS, "--zookeeper ZK --describe --if-exists --topic nosuch"),
        refused("--bootstrap-server BS --describe --topic nosuch", "Topic 'nosuch' does not exist as expected"),
    )


def test_what_is_on_its_way_in_and_out_only_a_broker_reports() -> None:
    """With --zookeeper a replica that is being added counts as a missing one."""
    config = {"retention.ms": "7", "delete.retention.ms": "8", "min.insync.replicas": "2"}
    config |= {"segment.bytes": "1000000", "flush.ms": "3"}
    head = "Topic: orders\tPartitionCount: 1\tReplicationFactor: "
    moving = describe(0, 1, "1,3,2", "1,2")
    assert_printed(
        {"topic": "orders", "assignment": {"0": [1, 2]}, "config": config},
        {"pause": 3, "settle": False},
        {"alter": {"orders-0": [1, 3]}, "settle": False},
        ran(
            TOPICS,
            "--bootstrap-server BS --describe",
            f"{head}2\tConfigs: min.insync.replicas=2,flush.ms=3,segment.bytes=1000000,retention.ms=7,"
            "message.format.version=2.6-IV0,delete.retention.ms=8",
            f"{moving}\tAdding Replicas: 3\tRemoving Replicas: 2",
        ),
        ran(
            TOPICS,
            "--zookeeper ZK --describe",
            f"{head}3\tConfigs: flush.ms=3,min.insync.replicas=2,retention.ms=7,segment.bytes=1000000,delete.retention.ms=8",
            moving,
        ),
        ran(TOPICS, "--bootstrap-server BS --describe --under-replicated-partitions"),
        ran(TOPICS, "--zookeeper ZK --describe --under-replicated-partitions", moving),
        refused(
            "--bootstrap-server BS --alter --topic orders --partitions 4",
            "A partition reassignment is in progress for the topic 'orders'.",
        ),
    )


# --- kafka-configs ---------------------------------------------------------------------------------------------------------


def configured(line: str, *out: str) -> Ran:
    return ran(CONFIGS, f"--zookeeper ZK --alter {line}", *CONFIG_WARNINGS, *out)


def unconfigured(line: str, why: str) -> Ran:
    return ran(CONFIGS, f"--zookeeper ZK --alter {line}", *CONFIG_WARNINGS, rc=1, err=[why])


def test_settings_written_directly() -> None:
    orders = "--entity-type topics --entity-name orders"
    failed = "Error while executing config command with args '--zookeeper {} --alter {}'"
    nosuch = "--entity-type topics --entity-name nosuch --add-config retention.ms=5"
    rate = "--entity-type brokers --entity-default --add-config leader.replication.throttled.rate=5"
    assert_printed(
        ORDERS,
        configured(
            f"{orders} --add-config retention.ms=6000,min.insync.replicas=1",
            "Completed updating config for entity: topic 'orders'.",
        ),
        unconfigured(f"{orders} --delete-config retention.bytes", "Invalid config(s): retention.bytes"),
        unconfigured(f"{orders} --add-config nosuch=1", "Unknown topic config name: nosuch"),
        unconfigured(
            f"{orders} --add-config retention.ms=x", failed.format("127.0.0.1:2181", f"{orders} --add-config retention.ms=x")
        ),
        unconfigured(nosuch, failed.format("127.0.0.1:2181", nosuch)),
        configured(
            "--entity-type brokers --entity-name 1 --add-config leader.replication.throttled.rate=1000",
            "Completed updating config for entity: brokers '1'.",
        ),
        configured(rate, "Completed updating config for entity: default brokers."),
        unconfigured(
            "--entity-type brokers --entity-name 1 --add-config unclean.leader.election.enable=true",
            "requirement failed: --bootstrap-server option must be specified to update broker configs"
            " Set(unclean.leader.election.enable). when broker 1 is running. Broker configuration updates using ZooKeeper"
            " are supported for bootstrapping before brokers are started to enable encrypted password configs to be stored"
            " in ZooKeeper.",
        ),
    )


def test_settings_written_by_a_broker() -> None:
    at, orders = "--bootstrap-server BS --alter", "--entity-type topics --entity-name orders"
    unknown = f"{at} {orders} --add-config nosuch=1"
    brokers = "--entity-type brokers --entity-default"
    assert_printed(
        ORDERS,
        ran(CONFIGS, f"{at} {orders} --add-config retention.ms=7000", "Completed updating config for topic orders."),
        ran(CONFIGS, f"{at} {orders} --delete-config flush.ms", rc=1, err=["Invalid config(s): flush.ms"]),
        ran(CONFIGS, unknown, rc=1, err=[f"Error while executing config command with args '{unknown}'"]),
        ran(
            CONFIGS,
            f"{at} {brokers} --add-config unclean.leader.election.enable=true",
            "Completed updating default config for brokers in the cluster.",
        ),
        ran(
            CONFIGS,
            f"{at} --entity-type brokers --entity-name 1 --add-config unclean.leader.election.enable=true",
            "Completed updating config for broker 1.",
        ),
    )


def test_a_broker_knows_no_settings_of_a_topic_that_has_had_no_leader() -> None:
    orders = "--bootstrap-server BS --alter --entity-type topics --entity-name orders --add-config retention.ms=1"
    assert_printed(
        {"kill": 3},
        {"topic": "orders", "assignment": {"0": [3]}, "config": {}, "wait_state": False},
        ran(CONFIGS, orders, rc=1, err=[f"Error while executing config command with args '{orders}'"]),
        {"start": 3},
        ran(CONFIGS, orders, "Completed updating config for topic orders."),
    )


# --- kafka-reassign-partitions ---------------------------------------------------------------------------------------------


def plan(moves: Mapping[str, Sequence[int]]) -> Mapping[str, Any]:
    entries = [{"topic": name[:-2], "partition": int(name[-1]), "replicas": [*to]} for name, to in moves.items()]
    return {"plan.json": {"version": 1, "partitions": entries}}


def moved(line: str, moves: Mapping[str, Sequence[int]], *out: str, rc: int = 0) -> Ran:
    return ran(REASSIGN, f"{line} --reassignment-json-file plan.json", *out, rc=rc, files=plan(moves))


def current(*entries: str) -> list[str]:
    return [
        "Current partition replica assignment",
        "",
        f'{{"version":1,"partitions":[{",".join(entries)}]}}',
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
    ]


ORDERS_0 = '{"topic":"orders","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}'
ORDERS_1 = '{"topic":"orders","partition":1,"replicas":[2,3],"log_dirs":["any","any"]}'
MOVES = {"orders-0": [2, 3], "orders-1": [2, 1]}
COMPLETE = (
    "Status of partition reassignment:",
    "Reassignment of partition orders-0 is complete.",
    "Reassignment of partition orders-1 is complete.",
)
CLEARED = ("Clearing broker-level throttles on brokers 1,2,3", "Clearing topic-level throttles on topic orders")
REASSIGN_WARNING = "Warning: --zookeeper is deprecated, and will be removed in a future version of Kafka."


def test_partitions_moved_by_the_controllers_api() -> None:
    at = "--bootstrap-server BS"
    started = "Successfully started partition reassignments for orders-0,orders-1"
    assert_printed(
        ORDERS,
        ran(REASSIGN, f"{at} --list", "No partition reassignments found."),
        moved(f"{at} --execute", MOVES, *current(ORDERS_0, ORDERS_1), started),
        moved(f"{at} --verify", MOVES, *COMPLETE, "", *CLEARED),
        moved(f"{at} --verify --preserve-throttles", MOVES, *COMPLETE, ""),
        moved(
            f"{at} --cancel",
            MOVES,
            "None of the specified partition reassignments are active.",
            "None of the specified partition moves are active.",
            *CLEARED,
        ),
        moved(f"{at} --execute", {"orders-0": [9, 3]}, "Error: Unknown broker id 9", rc=1),
        moved(
            f"{at} --execute",
            {"orders-7": [2, 3], "orders-0": [3, 1]},
            *current('{"topic":"orders","partition":0,"replicas":[2,3],"log_dirs":["any","any"]}'),
            "Error reassigning partition(s):",
            "orders-7: The partition does not exist.",
            rc=1,
        ),
    )


def test_a_move_that_cannot_end_is_listed_refused_another_and_cancelled() -> None:
    at = "--bootstrap-server BS"
    assert_printed(
        ORDERS,
        {"pause": 3, "settle": False},
        moved(
            f"{at} --execute",
            {"orders-0": [1, 3]},
            *current(ORDERS_0),
            "Successfully started partition reassignment for orders-0",
        ),
        ran(
            REASSIGN,
            f"{at} --list",
            "Current partition reassignments:",
            "orders-0: replicas: 1,3,2. adding: 3. removing: 2.",
        ),
        moved(
            f"{at} --cancel --preserve-throttles",
            {"orders-0": [1, 3]},
            "Successfully cancelled partition reassignment for: orders-0",
            "None of the specified partition moves are active.",
        ),
    )


def test_partitions_moved_by_the_znode() -> None:
    at = "--zookeeper ZK"
    started = "Successfully started partition reassignments for orders-0,orders-1"
    incomplete = (
        "Warning: because you are using the deprecated --zookeeper option, the results may be incomplete."
        "  Use --bootstrap-server instead for more accurate results."
    )
    assert_printed(
        ORDERS,
        moved(f"{at} --execute", MOVES, REASSIGN_WARNING, *current(ORDERS_0, ORDERS_1), started),
        moved(f"{at} --verify", MOVES, REASSIGN_WARNING, incomplete, *COMPLETE, *CLEARED),
        moved(
            f"{at} --execute",
            {"orders-7": [2, 3]},
            REASSIGN_WARNING,
            "Error: The proposed assignment contains non-existent partitions: List(orders-7)",
            rc=1,
        ),
        moved(
            f"{at} --execute",
            {"orders-0": [9, 3]},
            REASSIGN_WARNING,
            "Error: The proposed assignment contains non-existent brokerIDs: 9",
            rc=1,
        ),
    )


# --- elections -------------------------------------------------------------------------------------------------------------


def test_elections_asked_of_the_controller() -> None:
    at = "--bootstrap-server BS --election-type"
    failed = "Error completing leader election ({}) for partition: {}: org.apache.kafka.common.errors.{}"
    assert_printed(
        ORDERS,
        ran(ELECT, f"{at} preferred --all-topic-partitions"),
        ran(
            ELECT,
            f"{at} preferred --topic orders --partition 0",
            "Valid replica already elected for partitions ",
        ),
        ran(
            ELECT,
            f"{at} preferred --topic orders --partition 9",
            failed.format("PREFERRED", "orders-9", "UnknownTopicOrPartitionException: The partition does not exist."),
            rc=1,
        ),
        {"kill": 2},
        ran(
            ELECT,
            f"{at} preferred --topic orders --partition 1",
            failed.format("PREFERRED", "orders-1", "PreferredLeaderNotAvailableException: ")
            + "Failed to elect leader for partition orders-1 under strategy PreferredReplicaPartitionLeaderElectionStrategy",
            rc=1,
        ),
        {"start": 2, "wait": {"isr": {"orders-1": [2, 3]}}},
        ran(
            ELECT,
            f"{at} preferred --all-topic-partitions",
            "Successfully completed leader election (PREFERRED) for partitions orders-1",
        ),
    )


@pytest.mark.parametrize(("kafka", "valid"), [("2.8.2", ""), ("3.9.1", "orders-0")])
def test_which_partitions_have_a_valid_leader_is_named_from_3_0_on(kafka: str, valid: str) -> None:
    assert_printed(
        ORDERS,
        ran(
            ELECT,
            "--bootstrap-server BS --election-type preferred --topic orders --partition 0",
            f"Valid replica already elected for partitions {valid}",
        ),
        source=f"recorded from Apache Kafka {kafka}",
    )


def test_why_no_leader_was_elected_is_printed_from_3_7_on() -> None:
    """As in leader-epoch-overflows of protocol-3.9; at 2.8 only a stack trace says it."""
    assert_printed(
        ORDERS,
        {"kill": 2},
        ran(
            ELECT,
            "--bootstrap-server BS --election-type preferred --topic orders --partition 1",
            "Error completing leader election (PREFERRED) for partition: orders-1:"
            " org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: "
            "Failed to elect leader for partition orders-1 under strategy PreferredReplicaPartitionLeaderElectionStrategy",
            rc=1,
            err=["1 replica(s) could not be elected"],
        ),
        source="recorded from Apache Kafka 3.9.1",
    )


def test_the_older_command_asks_the_controller_too() -> None:
    deprecated = "This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405"
    assert_printed(
        ORDERS,
        {"kill": 2},
        {"start": 2, "wait": {"isr": {"orders-1": [2, 3]}}},
        ran(
            PREFER,
            "--bootstrap-server BS",
            deprecated,
            "Successfully completed preferred leader election for partitions orders-1",
        ),
        ran(PREFER, "--bootstrap-server BS", deprecated),
    )


def test_a_file_that_the_step_holds_or_that_lies_beside_the_recording_is_read(tmp_path: Path) -> None:
    held = {"partitions": [{"topic": "orders", "partition": 0}]}
    (tmp_path / "beside.json").write_text(json.dumps(held))
    words = [PREFER, "--zookeeper", "ZK", "--path-to-json-file"]
    steps = [
        {"do": ORDERS},
        {"do": {"tool": [*words, "held.json"], "files": {"held.json": held}}},
        {"do": {"tool": [*words, "beside.json"]}},
        {"do": {"tool": [*words, "missing.json"]}},
    ]
    recording = Recording.of({"name": "made-up", "brokers": [1, 2, 3], "steps": steps}, tmp_path)
    _, first, second, third = play(recording, "simulated").steps
    assert [write.op for write in first.writes or ()] == [write.op for write in second.writes or ()] == ["create", "delete"]
    assert third.not_supported == "the file missing.json is neither in the step nor beside the recording"


# --- placements ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("placed", [{"0": [2, 3], "1": [3, 1]}, {"0": [3, 2], "1": [1, 3]}])
def test_partitions_are_placed_as_they_were_in_the_recording(placed: Mapping[str, Sequence[int]]) -> None:
    """Kafka draws two numbers; these placements are two of the six that it may draw."""
    words = [TOPICS, "--zookeeper", "ZK", "--create", "--topic", "t", "--partitions", "2", "--replication-factor", "2"]
    state = json.dumps({"version": 2, "partitions": placed, "adding_replicas": {}, "removing_replicas": {}})
    write = {"by": "admin", "op": "create", "path": "/brokers/topics/t", "data": state}
    step = {"do": {"tool": words}, "writes": [write]}
    (played,) = play(Recording.of({"name": "made-up", "brokers": [1, 2, 3], "steps": [step]}), "simulated").steps
    (written,) = [write.data for write in played.writes or () if write.path == "/brokers/topics/t"]
    assert json.loads(written or "")["partitions"] == placed


def test_a_command_may_be_named_by_its_script() -> None:
    assert_printed(ORDERS, ran("bin/kafka-topics.sh", "--zookeeper=ZK --list", "orders"))


# --- what is not supported -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"{TOPICS} --list", "TopicCommand without one of --zookeeper, --bootstrap-server"),
        (f"{TOPICS} --zookeeper ZK", "TopicCommand without one of --list, --describe, --create, --alter, --delete"),
        (f"{TOPICS} --zookeeper ZK --list --loudly", "TopicCommand --loudly"),
        (f"{TOPICS} --zookeeper ZK --create --topic t", "TopicCommand without --partitions"),
        (
            f"{TOPICS} --bootstrap-server BS --alter --topic orders --config a=b",
            "TopicCommand --bootstrap-server --alter of anything but --partitions",
        ),
        (f"{CONFIGS} --zookeeper ZK --describe --entity-type topics", "ConfigCommand --describe"),
        (
            f"{CONFIGS} --zookeeper ZK --alter --entity-type users --entity-name u --add-config a=1",
            "ConfigCommand of users",
        ),
        (f"{REASSIGN} --zookeeper ZK --list", "ReassignPartitionsCommand --zookeeper --list"),
        (
            f"{REASSIGN} --bootstrap-server BS --generate",
            "ReassignPartitionsCommand --generate: what it proposes is drawn at random",
        ),
        (f"{ELECT} --bootstrap-server BS --all-topic-partitions", "LeaderElectionCommand without --election-type"),
    ],
)
def test_what_is_not_supported_is_described_in_words(line: str, why: str) -> None:
    recording = {"name": "made-up", "brokers": [1, 2, 3], "steps": [{"do": ORDERS}, {"do": {"tool": line.split()}}]}
    assert play(Recording.of(recording), "simulated").not_supported == why


# --- what is not compared --------------------------------------------------------------------------------------------------


def test_stack_traces_do_not_count() -> None:
    printed = [
        "Error: Unknown broker id 9",
        "kafka.common.AdminCommandFailedException: Unknown broker id 9",
        "\tat kafka.admin.ReassignPartitionsCommand.main(ReassignPartitionsCommand.scala)",
        "Caused by: java.nio.file.NoSuchFileException: nofile.json",
        "\t... 3 more",
        "",
    ]
    assert comparable_lines(printed) == ("Error: Unknown broker id 9",)


def test_entries_of_a_log_do_not_count() -> None:
    printed = [
        "log4j:WARN No appenders could be found for logger (kafka.utils.Log4jControllerRegistration$).",
        "[2021-11-21 17:27:12,620] ERROR org.apache.kafka.common.errors.TopicExistsException: Topic 'zz' already exists.",
        "\tat kafka.admin.TopicCommand.main(TopicCommand.scala)",
        " (kafka.admin.TopicCommand$)",
        "Unknown topic config name: nosuch",
    ]
    assert comparable_lines(printed) == ("Unknown topic config name: nosuch",)


def test_the_table_of_all_options_does_not_count() -> None:
    printed = ['Missing required argument "[topic]"', "Option                 Description", "------", "--alter  Alter"]
    assert comparable_lines(printed) == ('Missing required argument "[topic]"',)


def test_blanks_within_count_and_around_it_all_do_not() -> None:
    assert comparable_lines(["\tTopic: a", "\tTopic: b ", ""]) == ("Topic: a", "\tTopic: b")
    assert comparable_lines(["", ""]) == ()
