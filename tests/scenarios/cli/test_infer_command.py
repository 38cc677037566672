"""kcsim infer as a user sees it, and the descriptions that it reads."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Draw, Replicas
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.calculators.topic_description import BadDescriptionError, read_description
from kcsim.vocabulary import BrokerId, TopicPartition

SIX = [BrokerMetadata(BrokerId(broker)) for broker in range(2, 8)]


def infer(*arguments: str, described: str = "") -> Result:
    return CliRunner().invoke(app, ["infer", *arguments], input=described)


def description(topic: str, assignment: Mapping[int, Replicas]) -> str:
    """Return the description of a topic as kafka-topics --describe of Kafka 2.8 prints it."""
    lines = [f"Topic: {topic}\tPartitionCount: {len(assignment)}\tReplicationFactor: 2\tConfigs: segment.bytes=1073741824"]
    for partition, replicas in assignment.items():
        listed = ",".join(map(str, replicas))
        lines.append(f"\tTopic: {topic}\tPartition: {partition}\tLeader: {replicas[0]}\tReplicas: {listed}\tIsr: {listed}")
    return "\n".join(lines) + "\n"


# --- answers ---------------------------------------------------------------------------------------------------------------


def test_the_pair_that_made_a_topic_is_reported() -> None:
    result = infer(described=description("t", assign_replicas(SIX, 10, 2, Draw(0, 4))))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == ("Topic t: 10 partitions on brokers 2, 3, 4, 5, 6, 7\n  made by start index 0, shift 4\n")


def test_several_pairs_that_fit_are_all_reported() -> None:
    result = infer(described=description("t", assign_replicas(SIX, 10, 2, Draw(3, 0))))
    assert "  made by start index 3, shift 0 or 5; nothing about the topic distinguishes them\n" in result.stdout


def test_without_a_pair_the_partitions_that_were_moved_are_reported() -> None:
    moved = {**assign_replicas(SIX, 10, 2, Draw(0, 4)), 3: (BrokerId(7), BrokerId(2))}
    result = infer(described=description("t", moved))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        "  no start index and shift make this topic",
        "  nearest: start index 0, shift 4, which explains 9 of 10; not these:",
        "  Partition  Replicas  Would be",
        "          3  7,2       5,4",
    ]


def test_a_topic_that_may_have_grown_is_reported_as_such() -> None:
    """The topic is from the vectors: created with 6 partitions, grown to 12."""
    lists = ["2,3", "3,4", "4,5", "5,0", "0,1", "1,2", "2,0", "3,1", "4,2", "5,3", "0,4", "1,5"]
    grown = {p: tuple(BrokerId(int(broker)) for broker in listed.split(",")) for p, listed in enumerate(lists)}
    assert infer(described=description("t", grown)).stdout.endswith(
        "  it may have grown: partitions 0 to 5 by start index 2, shift 0 or 5;"
        " those from 6 on added by start index 2, shift 2\n"
    )
    later = "".join(line for line in description("t", grown).splitlines(keepends=True)[7:])
    result = infer("--start-partition", "6", "--brokers", "0,1,2,3,4,5", described=later)
    assert "  made by start index 2, shift 2\n" in result.stdout


def test_brokers_that_led_nothing_have_to_be_named() -> None:
    """Three of six brokers occur: another list fits, too, and gives another start index and shift."""
    described = description("t", assign_replicas(SIX, 2, 2, Draw(1, 0)))
    assert "on brokers 3, 4, 5\n  made by start index 0, shift 0 or 2;" in infer(described=described).stdout
    assert "made by start index 1, shift 0 or 5;" in infer("--brokers", "2,3,4,5,6,7", described=described).stdout


def test_brokers_without_a_part_in_it_explain_nothing() -> None:
    described = description("t", assign_replicas(SIX, 2, 2, Draw(1, 0)))
    result = infer("--brokers", "10,11", described=described)
    assert result.stdout.endswith(
        "  no start index and shift make this topic\n  nor do they explain any one partition on these brokers\n"
    )


def test_racks_are_taken_from_the_brokers_named() -> None:
    brokers = "0:rack1,1:rack3,2:rack3,3:rack2,4:rack2,5:rack1"
    ring = [BrokerMetadata(BrokerId(int(b)), rack) for b, rack in (entry.split(":") for entry in brokers.split(","))]
    described = description("t", assign_replicas(ring, 7, 3, Draw(0, 0)))
    result = infer("--brokers", brokers, described=described)
    assert result.stdout == (
        "Topic t: 7 partitions on brokers 0, 3, 1, 5, 4, 2\n"
        "  made by start index 0, shift 0 or 5; nothing about the topic distinguishes them\n"
    )
    assert "no start index" in infer("--brokers", brokers, "--disable-rack-aware", described=described).stdout


def test_json_has_every_topic_with_all_that_is_known_of_it() -> None:
    moved = {**assign_replicas(SIX, 10, 2, Draw(0, 4)), 3: (BrokerId(7), BrokerId(2))}
    text = description("fits", assign_replicas(SIX, 10, 2, Draw(3, 5))) + description("moved", moved)
    fits, deviates = json.loads(infer("--output", "json", described=text).stdout)
    assert (fits["topic"], fits["brokers"], fits["unique"], fits["deviating"]) == ("fits", [2, 3, 4, 5, 6, 7], False, [])
    assert fits["solutions"] == [
        {"start_index": 3, "next_replica_shift": 0},
        {"start_index": 3, "next_replica_shift": 5},
    ]
    assert (deviates["solutions"], deviates["growth"]) == ([], None)
    assert deviates["nearest"] == [{"start_index": 0, "next_replica_shift": 4}]
    assert deviates["deviating"] == [{"partition": 3, "replicas": [7, 2], "expected": [5, 4]}]


def test_one_topic_of_a_file_can_be_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "described.txt"
    placed = assign_replicas(SIX, 10, 2, Draw(3, 5))
    file.write_text(description("a", placed) + description("b", placed), encoding="utf-8")
    result = infer(str(file), "--topic", "b")
    assert [line.split(":")[0] for line in result.stdout.splitlines() if line[0] != " "] == ["Topic b"]


# --- refused ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "described", "message"),
    [
        ([], "", "stdin: no partition is described there; give what kafka-topics --describe prints\n"),
        (["no-such.txt"], "", "no-such.txt: No such file or directory\n"),
        (
            ["--topic", "order"],
            description("orders", {0: (BrokerId(1),)}),
            "there is no topic 'order'; did you mean orders?\n",
        ),
        (
            ["--brokers", "0:a,1"],
            description("t", {0: (BrokerId(1),)}),
            "--brokers: Not all brokers have rack information. Add --disable-rack-aware in command line"
            " to make replica assignment without rack information.\n",
        ),
        (["a-file", "--zookeeper", "localhost"], "", "give either a file or --zookeeper\n"),
    ],
)
def test_what_makes_no_sense_ends_with_64_and_one_line(arguments: list[str], described: str, message: str) -> None:
    result = infer(*arguments, described=described)
    assert (result.exit_code, result.stdout, result.stderr) == (64, "", message)


# --- descriptions ----------------------------------------------------------------------------------------------------------

T0 = TopicPartition("t", 0)


@pytest.mark.parametrize(
    "line",
    [
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2",
        "\tTopic: t\tPartition: 0    Leader: 1       Replicas: 1,2   Isr: 1,2",
        "  Topic:t  Partition:0  Leader:1  Replicas:1,2  Isr:1,2",
        "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: \tAdding Replicas: 2\tRemoving Replicas: ",
        "\tTopic: t\tPartition: 0\tLeader: -1\tReplicas: 1,2\tIsr: \tMarkedForDeletion: true",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: \tLastKnownElr: ",
    ],
)
def test_every_versions_line_is_read(line: str) -> None:
    assert read_description(f"Topic: t\tPartitionCount: 1\n{line}\n", "stdin") == {T0: (1, 2)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Topic: t Partition: x Leader: 1 Replicas: 1", "f:2: 'Topic: t Partition: x Leader: 1 Replicas: 1' is no line of"),
        ("Topic: t Partition: 0 Leader: 1 Replicas: 1;2", "f:2: '1;2' is no list of broker ids, as 1,2,3"),
        ("Topic: t Partition: 0 Leader: 1 Replicas:\tIsr: 1", "f:2: 'Isr:' is no list of broker ids, as 1,2,3"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str, message: str) -> None:
    with pytest.raises(BadDescriptionError) as refused:
        read_description(f"\n{line}", "f")
    assert str(refused.value).startswith(message)


def test_a_partition_described_twice_is_refused() -> None:
    line = "Topic: t Partition: 0 Leader: 1 Replicas: 1\n"
    with pytest.raises(BadDescriptionError, match=r"^f: t-0 is described more than once$"):
        read_description(line + line, "f")
