"""kcsim topics, compared with what Apache Kafka's own command printed and wrote, and on its own."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.scenarios.cli.command_exit import ExitStatus
from kcsim.scenarios.cli.up_cluster.server_registry import register_servers
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, led, live_cluster, on, parsed, recorded, topic

ORDERS = {
    **topic("orders", {0: on(1, 2), 1: on(2, 3), 2: on(3, 1)}, {"min.insync.replicas": "2"}),
    **led("orders", 0, 1, (1, 2)),
    **led("orders", 1, 2, (2,)),
    **led("orders", 2, None, (3,)),
}
PLAIN = {**topic("plain", {0: on(4)}), **led("plain", 0, 4, (4,))}
OFFSETS = {**topic("__consumer_offsets", {0: on(1)}), **led("__consumer_offsets", 0, 1, (1,))}
MARKED = {"/admin/delete_topics/plain": None}


@pytest.fixture
def ours(server: EmbeddedZooKeeper, runtime_directory: Path) -> Iterator[str]:
    """Announce the suite's ZooKeeper as one that kcsim runs."""
    with register_servers(server.connect_string):
        yield server.connect_string


@pytest.fixture(scope="module")
def described(server: EmbeddedZooKeeper) -> LiveCluster:
    """Return a cluster in which brokers 1, 2 and 3 are live and 4 is not, with a few topics."""
    return live_cluster(server.connect_string, {**brokers(1, 2, 3), **ORDERS, **PLAIN, **OFFSETS, **MARKED})


# --- recorded --------------------------------------------------------------------------------------------------------------


@pytest.mark.live
@pytest.mark.parametrize(
    ("file", "index"), [("command-create-zookeeper.json", 0), ("command-describe.json", 2), ("command-describe.json", 3)]
)
def test_what_kafkas_command_printed_and_wrote_is_printed_and_written(ours: str, file: str, index: int) -> None:
    """The znodes are those of the recording just before the command; its output was recorded without outer white space."""
    kafka = recorded(file, index)
    cluster = live_cluster(ours, kafka.before)
    before = cluster.znodes()
    arguments = [argument for argument in kafka.step["do"]["tool"][1:] if argument not in ("--zookeeper", "ZK")]
    result = cluster.run("topics", *arguments)
    assert (result.exit_code, result.stdout.strip().splitlines()) == (
        ExitStatus.REFUSED if kafka.exit_status else 0,
        kafka.printed,
    )
    written = {path: parsed(data) for path, data in cluster.znodes().items() if before.get(path, "none") != data}
    assert {path: data for path, data in written.items() if not path.startswith("/config/")} == kafka.admin_writes


# --- describing ------------------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_topics_are_described_to_the_tab(described: LiveCluster) -> None:
    result = described.run("topics", "--describe", "--exclude-internal")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "Topic: orders\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: min.insync.replicas=2",
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2",
        "\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2",
        "\tTopic: orders\tPartition: 2\tLeader: none\tReplicas: 3,1\tIsr: 3",
        "Topic: plain\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \tMarkedForDeletion: true",
        "\tTopic: plain\tPartition: 0\tLeader: 4\tReplicas: 4\tIsr: 4\tMarkedForDeletion: true",
    ]


@pytest.mark.live
@pytest.mark.parametrize(
    ("report", "shown"),
    [
        ("under-replicated", ["orders 1", "orders 2"]),
        ("unavailable", ["orders 2", "plain 0"]),
        ("under-min-isr", ["orders 1", "orders 2"]),
        ("at-min-isr", ["__consumer_offsets 0", "orders 0", "plain 0"]),
    ],
)
def test_a_report_shows_only_the_partitions_that_it_is_about(described: LiveCluster, report: str, shown: list[str]) -> None:
    """Source: TopicCommand.PartitionDescription.

    Kafka refuses the last two reports with --zookeeper, because it does not know min.insync.replicas there.
    """
    lines = described.run("topics", "--describe", f"--{report}-partitions").stdout.splitlines()
    assert [" ".join(part.split(": ")[1] for part in line.split("\t")[1:3]) for line in lines] == shown


@pytest.mark.live
def test_topics_with_settings_of_their_own_are_shown_without_partitions(described: LiveCluster) -> None:
    result = described.run("topics", "--describe", "--topics-with-overrides")
    assert result.stdout == "Topic: orders\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: min.insync.replicas=2\n"


@pytest.mark.live
def test_descriptions_come_as_json_too(described: LiveCluster) -> None:
    (plain,) = json.loads(described.run("topics", "--describe", "--topic", "plain", "--output", "json").stdout)
    assert (plain["topic"], plain["config"], plain["marked_for_deletion"]) == ("plain", {}, True)
    assert plain["partitions"] == [
        {"partition": 0, "leader": 4, "replicas": [4], "isr": [4], "adding_replicas": [], "removing_replicas": []}
    ]


@pytest.mark.live
@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        ([], "__consumer_offsets\norders\nplain - marked for deletion\n"),
        (["--exclude-internal"], "orders\nplain - marked for deletion\n"),
        (["--topic", "ord.*, nothing"], "orders\n"),
    ],
)
def test_topics_are_listed_and_chosen_by_a_pattern(described: LiveCluster, arguments: list[str], listed: str) -> None:
    assert described.run("topics", "--list", *arguments).stdout == listed


@pytest.mark.live
def test_the_list_comes_as_json_too(described: LiveCluster) -> None:
    result = described.run("topics", "--list", "--topic", "plain", "--output", "json")
    assert json.loads(result.stdout) == [{"topic": "plain", "marked_for_deletion": True}]


@pytest.mark.live
@pytest.mark.parametrize(("if_exists", "status"), [([], ExitStatus.REFUSED), (["--if-exists"], 0)])
def test_a_topic_that_is_not_there_can_be_passed_over(described: LiveCluster, if_exists: list[str], status: int) -> None:
    result = described.run("topics", "--describe", "--topic", "no", *if_exists)
    line = "Error while executing topic command : Topic 'no' does not exist as expected\n" if status else ""
    assert (result.exit_code, result.stdout) == (status, line)


# --- creating --------------------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_a_topic_is_placed_on_the_live_brokers_racks_alternating(ours: str) -> None:
    cluster = live_cluster(ours, brokers(0, 1, 2, 3, racks={0: "a", 1: "a", 2: "b", 3: "b"}))
    arguments = ["--partitions", "4", "--replication-factor", "2", "--config", "retention.ms=1000", "--seed", "3"]
    result = cluster.run("topics", "--create", "--topic", "t", *arguments)
    assert (result.exit_code, result.stdout) == (0, "Created topic t.\n")
    written = cluster.znodes()
    assert parsed(written["/config/topics/t"]) == {"version": 1, "config": {"retention.ms": "1000"}}
    partitions = parsed(written["/brokers/topics/t"])["partitions"]
    assert sorted(replicas[0] for replicas in partitions.values()) == [0, 1, 2, 3]
    assert all({replica // 2 for replica in replicas} == {0, 1} for replicas in partitions.values())


@pytest.mark.live
def test_a_topic_that_exists_is_refused_or_passed_over(ours: str) -> None:
    cluster = live_cluster(ours, {**brokers(1), **PLAIN})
    arguments = ["--create", "--topic", "plain", "--partitions", "1", "--replication-factor", "1"]
    before = cluster.znodes()
    result = cluster.run("topics", *arguments)
    message = "Error while executing topic command : Topic 'plain' already exists.\n"
    assert (result.exit_code, result.stdout) == (ExitStatus.REFUSED, message)
    result = cluster.run("topics", *arguments, "--if-not-exists")
    assert (result.exit_code, result.stdout) == (0, "")
    assert cluster.znodes() == before


@pytest.mark.live
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "t", "--partitions", "0", "--replication-factor", "1"], "Number of partitions must be larger than 0."),
        (
            ["--topic", "plain", "--partitions", "1", "--replication-factor", "3"],
            "Replication factor: 3 larger than available brokers: 2.",
        ),
        (
            ["--topic", "a b", "--partitions", "1", "--replication-factor", "1"],
            "Topic name \"a b\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'",
        ),
        (["--topic", "t", "--replica-assignment", "1:1"], "Partition replica lists may not contain duplicate entries: 1"),
        (
            ["--topic", "t", "--replica-assignment", "1", "--config", "no.such=1"],
            "Unknown topic config name: no.such",
        ),
        (
            ["--topic", "t", "--replica-assignment", "1", "--config", "retention.ms"],
            'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".',
        ),
    ],
)
def test_what_kafka_refuses_is_refused_in_its_words_and_nothing_is_written(
    ours: str, arguments: list[str], message: str
) -> None:
    """The tool places replicas before it looks for an existing topic: too large a replication factor is reported first."""
    cluster = live_cluster(ours, {**brokers(1, 2), **PLAIN})
    before = cluster.znodes()
    result = cluster.run("topics", "--create", *arguments)
    assert (result.exit_code, result.stdout) == (ExitStatus.REFUSED, f"Error while executing topic command : {message}\n")
    assert cluster.znodes() == before


@pytest.mark.live
def test_a_name_whose_metrics_would_go_under_anothers_is_warned_of_and_refused(ours: str) -> None:
    cluster = live_cluster(ours, {**brokers(1), **topic("a_b", {0: on(1)})})
    result = cluster.run("topics", "--create", "--topic", "a.b", "--replica-assignment", "1")
    assert result.exit_code == ExitStatus.REFUSED
    assert result.stdout.splitlines()[0].startswith(
        "WARNING: Due to limitations in metric names, topics with a period ('.')"
    )
    assert result.stdout.endswith("topic command : Topic 'a.b' collides with existing topics: a_b\n")


@pytest.mark.live
def test_mixed_racks_are_refused_unless_racks_do_not_count(ours: str) -> None:
    cluster = live_cluster(ours, brokers(1, 2, racks={1: "a"}))
    arguments = ["--create", "--topic", "t", "--partitions", "1", "--replication-factor", "2"]
    assert "Not all brokers have rack information. Add --disable-rack-aware" in cluster.run("topics", *arguments).stdout
    assert cluster.run("topics", *arguments, "--disable-rack-aware").stdout == "Created topic t.\n"


# --- altering --------------------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_partitions_are_added_where_somebody_wants_them(ours: str) -> None:
    """Entries for existing partitions are ignored, and these partitions keep their replicas."""
    moving = topic("t", {0: on(1, 2, 3, adding=[3], removing=[1])})
    cluster = live_cluster(ours, {**brokers(1, 2, 3), **moving})
    arguments = ["--partitions", "2", "--replica-assignment", "1:2:3,3:2:1"]
    result = cluster.run("topics", "--alter", "--topic", "t", *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages"
        " will be affected",
        "Adding partitions succeeded!",
    ]
    assert parsed(cluster.znodes()["/brokers/topics/t"]) == {
        "partitions": {"0": [1, 2, 3], "1": [3, 2, 1]},
        "adding_replicas": {"0": [3]},
        "removing_replicas": {"0": [1]},
        "version": 3,
    }


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "orders",
            ["--partitions", "3"],
            "The number of partitions for a topic can only be increased."
            " Topic orders currently has 3 partitions, 3 would not be an increase.",
        ),
        (
            "orders",
            ["--partitions", "4", "--replica-assignment", "1:2,1:2,1:2,1:9"],
            "Some brokers specified for partition id 3 are not available."
            " Specified brokers: 1, 9, available brokers: 1, 2, 3.",
        ),
        (
            "__consumer_offsets",
            ["--partitions", "2"],
            "The number of partitions for the internal topic __consumer_offsets cannot be changed.",
        ),
        ("no", ["--partitions", "2"], "Topic 'no' does not exist as expected"),
        (
            "orders",
            ["--config", "segment.bytes=13"],
            "Invalid value 13 for configuration segment.bytes: Value must be at least 14",
        ),
        ("orders", ["--delete-config", "no.such"], "Unknown topic config name: no.such"),
    ],
)
def test_an_alteration_that_kafka_refuses_is_refused_in_its_words(
    ours: str, name: str, arguments: list[str], message: str
) -> None:
    cluster = live_cluster(ours, {**brokers(1, 2, 3), **ORDERS, **OFFSETS})
    before = cluster.znodes()
    result = cluster.run("topics", "--alter", "--topic", name, *arguments)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (
        ExitStatus.REFUSED,
        f"Error while executing topic command : {message}",
    )
    assert cluster.znodes() == before


@pytest.mark.live
def test_changed_settings_are_written_and_the_brokers_are_notified(ours: str) -> None:
    """Source: AdminZkClient.changeTopicConfig, which writes the entity first and the notification after it."""
    cluster = live_cluster(ours, {**brokers(1), **topic("t", {0: on(1)}, {"retention.ms": "1", "segment.ms": "5"})})
    arguments = ["--config", "retention.ms = 2", "--config", "preallocate=true", "--delete-config", "segment.ms"]
    result = cluster.run("topics", "--alter", "--topic", "t", *arguments)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Updated config for topic t.")
    after = cluster.znodes()
    config = {"retention.ms": "2", "preallocate": "true"}
    assert parsed(after["/config/topics/t"]) == {"version": 1, "config": config}
    assert parsed(after["/config/changes/config_change_0000000000"]) == {"version": 2, "entity_path": "topics/t"}


# --- deleting --------------------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_topics_are_marked_for_deletion_once(ours: str) -> None:
    cluster = live_cluster(ours, {**brokers(1), **topic("a", {0: on(1)}), **topic("b", {0: on(1)})})
    note = "Note: This will have no impact if delete.topic.enable is not set to true."
    result = cluster.run("topics", "--delete", "--topic", "a")
    assert result.stdout.splitlines() == ["Topic a is marked for deletion.", note]
    result = cluster.run("topics", "--delete", "--topic", "a|b")
    assert result.stdout.splitlines() == [
        "Topic a is already marked for deletion.",
        "Topic b is marked for deletion.",
        note,
    ]
    assert [path for path in cluster.znodes() if path.startswith("/admin/delete_topics/")] == [
        "/admin/delete_topics/a",
        "/admin/delete_topics/b",
    ]


@pytest.mark.live
def test_kafkas_own_topics_are_not_deleted(described: LiveCluster, ours: str) -> None:
    result = described.run("topics", "--delete", "--topic", "__consumer_offsets")
    assert result.exit_code == ExitStatus.REFUSED
    assert result.stdout.endswith(
        "Topic __consumer_offsets is a kafka internal topic and is not allowed to be marked for deletion.\n"
    )


# --- an external ZooKeeper -------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_elsewhere_it_says_what_it_would_write_and_writes_only_on_request(server: EmbeddedZooKeeper) -> None:
    cluster = live_cluster(server.connect_string, brokers(1, 2))
    arguments = ["--create", "--topic", "t", "--replica-assignment", "1:2,2:1", "--config", "preallocate=true"]
    before = cluster.znodes()
    result = cluster.run("topics", *arguments)
    topic_znode = '{"partitions":{"0":[1,2],"1":[2,1]},"adding_replicas":{},"removing_replicas":{},"version":3}'
    assert (result.exit_code, result.stdout.splitlines()) == (
        ExitStatus.DRY_RUN,
        [
            f"Dry run: nothing has been written to {cluster.connect}, which kcsim has not started. It would be:",
            '  create /config/topics/t  {"version":1,"config":{"preallocate":"true"}}',
            f"  create /brokers/topics/t  {topic_znode}",
            "Run it again with --execute to do it.",
        ],
    )
    assert cluster.znodes() == before
    assert cluster.run("topics", *arguments, "--execute").stdout == "Created topic t.\n"
    assert cluster.znodes()["/brokers/topics/t"] == topic_znode


@pytest.mark.live
def test_elsewhere_what_is_refused_is_refused_and_what_would_change_nothing_is_reported(described: LiveCluster) -> None:
    result = described.run("topics", "--create", "--topic", "orders", "--replica-assignment", "1")
    assert (result.exit_code, result.stdout) == (
        ExitStatus.REFUSED,
        "Error while executing topic command : Topic 'orders' already exists.\n",
    )
    result = described.run("topics", "--delete", "--topic", "plain")
    assert (result.exit_code, result.stdout) == (0, "Topic plain is already marked for deletion.\n")


@pytest.mark.live
def test_elsewhere_a_change_of_settings_names_the_notification_too(described: LiveCluster) -> None:
    result = described.run("topics", "--alter", "--topic", "plain", "--config", "preallocate=true")
    assert result.stdout.splitlines()[1:-1] == [
        '  set /config/topics/plain  {"version":1,"config":{"preallocate":"true"}}',
        '  create /config/changes/config_change_…  {"version":2,"entity_path":"topics/plain"}',
    ]


# --- invalid options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--zookeeper x", "Command must include exactly one action: --list, --describe, --create, --alter or --delete"),
        ("--zookeeper x --list --describe", "Command must include exactly one action: --list, --describe, --create,"),
        ("--list", 'Missing required argument "[zookeeper]": no cluster is up; name a ZooKeeper, or start kcsim up\n'),
        ("--zookeeper x --delete", 'Missing required argument "[topic]"'),
        ("--zookeeper x --describe --if-exists", 'Missing required argument "[topic]"'),
        ("--zookeeper x --create --topic t --partitions 1", 'Missing required argument "[replication-factor]"'),
        ("--zookeeper x --list --config a=b", 'Option "[config]" can\'t be used with option "[list]"'),
        (
            "--zookeeper x --create --topic t --replica-assignment 1 --partitions 1",
            'Option "[replica-assignment]" can\'t be used with option "[partitions]"',
        ),
        (
            "--zookeeper x --describe --under-replicated-partitions --topics-with-overrides",
            'Option "[under-replicated-partitions]" can\'t be used with option "[topics-with-overrides]"',
        ),
        ("--zookeeper x:y --list", "--zookeeper: "),
    ],
)
def test_options_that_make_no_sense_end_with_64_in_kafkas_words(arguments: str, message: str) -> None:
    result = kcsim("topics", *arguments.split())
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(message)
