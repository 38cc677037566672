"""Kafka's own producers, consumers and group tools, of Kafka 2.8.2 and of 3.9.1, on our brokers; 2.8.2's on Kafka's, too.

Commands of one step run at the same time, because each of them starts a JVM.
"""

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient

from kcsim.brokers.apache_kafka.commands import CommandOutcome, run_kafka_command
from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.vocabulary import BrokerId
from tests.brokers.cluster.both_clusters import (
    SETTINGS,
    WITHIN_S,
    Topics,
    in_sync,
    on_kafkas_brokers,
    on_our_brokers,
    run_together,
    until_known,
)
from tests.brokers.cluster.test_client_groups import Member, committed, until
from tests.requirements import KAFKA_3_9_1, require

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]

ONE, TWO, THREE = map(BrokerId, (1, 2, 3))
TOPICS = (
    NewTopic("orders", assignment=((ONE, TWO, THREE), (TWO, THREE, ONE))),
    NewTopic("numbers", assignment=((TWO, THREE, ONE),)),
    NewTopic("load", assignment=((THREE, ONE, TWO),)),
)
ORDERS = 20
NUMBERS = 20
LOAD = 1000
GROUP = "watchers"


class Tool(NamedTuple):
    """A command of Kafka: its class in 2.8, its arguments in one line, and its standard input."""

    main_class: str
    words: str
    stdin: str | None = None


Step = Mapping[str, Tool]


def tool(main_class: str, words: str, stdin: str | None = None) -> Tool:
    """Return a tool that is given the bootstrap servers as most tools are."""
    return Tool(main_class, f"--bootstrap-server {{servers}} {words}", stdin)


def groups(words: str) -> Tool:
    """Return the tool for consumer groups. Its own time-out is 5 s, too short for a busy machine."""
    return tool("kafka.admin.ConsumerGroupCommand", f"--timeout 120000 {words}")


def shown(*what: str) -> str:
    """Return the arguments that make the console consumer print these parts of a record."""
    return " ".join(f"--property print.{part}=true" for part in what)


CONSOLE_PRODUCER, CONSOLE_CONSUMER = "kafka.tools.ConsoleProducer", "kafka.tools.ConsoleConsumer"
GET_OFFSETS, CONSUMER_PERFORMANCE = "kafka.tools.GetOffsetShell", "kafka.tools.ConsumerPerformance"
VERIFIABLE_PRODUCER, VERIFIABLE_CONSUMER, PRODUCER_PERFORMANCE = (
    f"org.apache.kafka.tools.{name}" for name in ("VerifiableProducer", "VerifiableConsumer", "ProducerPerformance")
)
LOG_DIRS, TOPIC, CONFIGS = "kafka.admin.LogDirsCommand", "kafka.admin.TopicCommand", "kafka.admin.ConfigCommand"
ELECTIONS, REASSIGNMENTS = "kafka.admin.LeaderElectionCommand", "kafka.admin.ReassignPartitionsCommand"
RECORDS, CLUSTER_TOOL = "kafka.admin.DeleteRecordsCommand", "kafka.tools.ClusterTool"
VERSIONS = "kafka.admin.BrokerApiVersionsCommand"

# One batch per record, so that sizes do not depend on time.
SENT_ALONE = "--topic orders --sync --timeout 0 --request-required-acks -1"
WITH_KEYS = "--property parse.key=true --property key.separator=:"
WITH_HEADERS = "--property parse.headers=true --property headers.delimiter=! --property headers.key.separator=="
KEYED = "".join(f"key-{number % 5}:order {number}\n" for number in range(ORDERS))
HEADED = "".join(f"from=shop-{number}!{line}\n" for number, line in enumerate(KEYED.splitlines()))

PRODUCERS: Step = {
    "verifiable-producer": tool(VERIFIABLE_PRODUCER, f"--topic numbers --max-messages {NUMBERS} --acks -1"),
    "producer-perf-test": Tool(
        PRODUCER_PERFORMANCE,
        f"--topic load --num-records {LOAD} --record-size 100 --throughput -1 "
        "--producer-props bootstrap.servers={servers} acks=all",
    ),
}
KEYED_ORDERS = {"console-producer": tool(CONSOLE_PRODUCER, f"{SENT_ALONE} {WITH_KEYS}", KEYED)}
HEADED_ORDERS = {"console-producer": tool(CONSOLE_PRODUCER, f"{SENT_ALONE} {WITH_KEYS} {WITH_HEADERS}", HEADED)}
CONSUMERS: Step = {
    "console-consumer of a partition": tool(
        CONSOLE_CONSUMER,
        "--topic orders --partition 1 --offset 2 --max-messages 5 "
        f"{shown('key', 'offset', 'partition', 'timestamp', 'headers')}",
    ),
    "console-consumer in a group": tool(
        CONSOLE_CONSUMER, f"--topic orders --group readers --from-beginning --max-messages {ORDERS} {shown('key')}"
    ),
    "verifiable-consumer": tool(
        VERIFIABLE_CONSUMER,
        f"--topic numbers --group-id verifying --max-messages {NUMBERS} --reset-policy earliest --verbose",
    ),
    "consumer-perf-test": tool(CONSUMER_PERFORMANCE, f"--topic load --group perf --messages {LOAD} --timeout 120000"),
    "get-offsets": Tool(GET_OFFSETS, "--broker-list {servers} --topic orders --time -1"),
}
WITH_A_MEMBER: Step = {
    "groups --list": groups("--list --state"),
    "groups --describe": groups(f"--describe --group {GROUP} --offsets"),
    "groups --members": groups(f"--describe --group {GROUP} --members --verbose"),
    "groups --state": groups("--describe --all-groups --state"),
    "groups --reset-offsets, refused": groups(f"--reset-offsets --group {GROUP} --topic orders --to-earliest --execute"),
    "groups --delete, refused": groups(f"--delete --group {GROUP}"),
    "log-dirs": tool(LOG_DIRS, "--describe --topic-list orders"),
}
WITHOUT_MEMBERS: Step = {
    "groups --reset-offsets": groups("--reset-offsets --group readers --topic orders --to-earliest --execute"),
    "groups --delete-offsets": groups("--delete-offsets --group perf --topic load"),
    "groups --delete": groups("--delete --group verifying --group nosuch"),
}
STORED_OFFSETS, STORED_GROUPS = "console-consumer of stored offsets", "console-consumer of stored groups"
# Of a partition, because with --from-beginning the consumer would be a member of a group that is stored there, too.
STORED = (
    "--topic __consumer_offsets --partition 0 --offset earliest --timeout-ms 20000 "
    "--consumer-property exclude.internal.topics=false"
)
FORMATTER = "--formatter kafka.coordinator.group.GroupMetadataManager"
AFTERWARDS: Step = {
    "groups --describe, all": groups("--describe --all-groups"),
    "groups --describe, unknown": groups("--describe --group nosuch"),
    STORED_OFFSETS: tool(CONSOLE_CONSUMER, f"{STORED} {FORMATTER}$OffsetsMessageFormatter"),
    STORED_GROUPS: tool(CONSOLE_CONSUMER, f"{STORED} {FORMATTER}$GroupMetadataMessageFormatter"),
}
OF_ORDERS = "--entity-type topics --entity-name orders"
CHANGES: Step = {
    "delete-records": tool(RECORDS, "--offset-json-file {directory}/offsets.json"),
    "reassign --execute": tool(REASSIGNMENTS, "--execute --reassignment-json-file {directory}/moves.json"),
    "configs --alter": tool(CONFIGS, f"--alter {OF_ORDERS} --add-config retention.ms=60000,cleanup.policy=[compact,delete]"),
    "topics --alter": tool(TOPIC, "--alter --topic load --partitions 3"),
    "topics --create": tool(TOPIC, "--create --topic more --partitions 2 --replication-factor 2"),
    "cluster-id": Tool(CLUSTER_TOOL, "cluster-id --bootstrap-server {servers}"),
    "versions": tool(VERSIONS, ""),
}
OFFSETS = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 3}]}
MOVES = {"version": 1, "partitions": [{"topic": "numbers", "partition": 0, "replicas": [1, 2]}]}
AFTER_CHANGES: Step = {
    "reassign --verify": tool(REASSIGNMENTS, "--verify --reassignment-json-file {directory}/moves.json"),
    "leader-election": tool(ELECTIONS, "--election-type preferred --topic numbers --partition 0"),
    "configs --describe": tool(CONFIGS, f"--describe {OF_ORDERS}"),
    "topics --describe": tool(TOPIC, "--describe --topic load"),
    "topics --delete": tool(TOPIC, "--delete --topic more"),
    "get-offsets, earliest": tool(GET_OFFSETS, "--topic orders --time -2"),
}

ANSWERS: Mapping[str, Sequence[str]] = {
    "verifiable-producer": [
        *(
            f'{{"timestamp":TIME,"name":"producer_send_success","key":null,"value":"{n}","offset":{n},"topic":"numbers","partition":0}}'
            for n in range(NUMBERS)
        ),
        f'{{"timestamp":TIME,"name":"tool_data","sent":{NUMBERS},"acked":{NUMBERS},"target_throughput":-1,"avg_throughput":N}}',
    ],
    "producer-perf-test": [
        f"{LOAD} records sent, N records/sec (N MB/sec), N ms avg latency, N ms max latency, N ms 50th, "
        "N ms 95th, N ms 99th, N ms 99.9th."
    ],
    "console-consumer in a group": [
        *(f"key-{number % 5} order {number}" for number in range(ORDERS)),
        f"Processed a total of {ORDERS} messages",
    ],
    "verifiable-consumer": [
        '{"timestamp":TIME,"name":"partitions_assigned","partitions":[{"topic":"numbers","partition":0}]}',
        *(
            f'{{"timestamp":TIME,"name":"record_data","key":null,"value":"{n}","topic":"numbers","partition":0,"offset":{n}}}'
            for n in range(NUMBERS)
        ),
        f'{{"timestamp":TIME,"name":"offsets_committed","offsets":[{{"topic":"numbers","partition":0,"offset":{NUMBERS}}}],'
        '"success":true}',
    ],
    "consumer-perf-test": [f"TIME, TIME, 0.0954, N, {LOAD}, N, N, N, N, N"],
    "get-offsets": ["orders:0:8", "orders:1:12"],
    "groups --list": ["perf Empty", "readers Empty", "verifying Empty", f"{GROUP} Stable"],
    "groups --describe": [
        f"{GROUP} orders 0 8 8 0 shop-ID /127.0.0.1 shop",
        f"{GROUP} orders 1 12 12 0 shop-ID /127.0.0.1 shop",
    ],
    "groups --state": ["readers COORDINATOR Empty 0", f"{GROUP} COORDINATOR range Stable 1"],
    "groups --reset-offsets, refused": [
        f"Error: Assignments can only be reset if the group '{GROUP}' is inactive, but the current state is Stable."
    ],
    "groups --delete, refused": [
        f"* Group '{GROUP}' could not be deleted due to: java.util.concurrent.ExecutionException: "
        "org.apache.kafka.common.errors.GroupNotEmptyException: The group is not empty."
    ],
    "groups --delete": [
        "* Group 'nosuch' could not be deleted due to: java.util.concurrent.ExecutionException: "
        "org.apache.kafka.common.errors.GroupIdNotFoundException: The group id does not exist."
    ],
    "groups --describe, all": [
        "readers orders 0 0 8 8 - - -",
        "readers orders 1 0 12 12 - - -",
        f"{GROUP} orders 0 8 8 0 - - -",
        f"{GROUP} orders 1 12 12 0 - - -",
    ],
    "groups --describe, unknown": ["Error: Consumer group 'nosuch' does not exist."],
    STORED_OFFSETS: [
        "[perf,load,0]::NULL",
        "[readers,orders,0]::OffsetAndMetadata(offset=0, leaderEpoch=Optional.empty, metadata=, commitTimestamp=TIME, "
        "expireTimestamp=None)",
        "[verifying,numbers,0]::NULL",
        f"[{GROUP},orders,1]::OffsetAndMetadata(offset=12, leaderEpoch=Optional[0], metadata=, commitTimestamp=TIME, "
        "expireTimestamp=None)",
    ],
    STORED_GROUPS: [
        "perf::NULL",
        "readers::GroupMetadata(groupId=readers, generation=2, protocolType=Some(consumer), currentState=Empty, "
        "members=HashMap())",
        "verifying::NULL",
    ],
}
"""Lines that both versions must print, among others."""

ANSWERS_2_8_2: Mapping[str, Sequence[str]] = {
    "groups --members": [f"{GROUP} shop-ID /127.0.0.1 shop 2 orders(0,1)"],
    "groups --reset-offsets": ["readers orders 0 0", "readers orders 1 0"],
    "groups --delete-offsets": ["load 0 Successful"],
    "console-consumer of a partition": [
        f"CreateTime:TIME Partition:1 Offset:{at} NO_HEADERS key-{n % 5} order {n}"
        for at, n in enumerate((4, 5, 8, 9, 10), 2)
    ],
}
# Kafka 3.9.1 omits the topic of an assignment, and the ends of these lines; on brokers of Kafka, too.
ANSWERS_3_9_1: Mapping[str, Sequence[str]] = {
    "groups --members": [f"{GROUP} shop-ID /127.0.0.1 shop 2 (0,1)"],
    "groups --reset-offsets": ["GROUP TOPIC PARTITION NEW-OFFSET readers orders 0 0 readers orders 1 0"],
    "groups --delete-offsets": ["TOPIC PARTITION STATUS load 0 Successful"],
    "console-consumer of a partition": [
        f"CreateTime:TIME Partition:1 Offset:{at} from:shop-{n} key-{n % 5} order {n}"
        for at, n in enumerate((4, 5, 8, 9, 10), 2)
    ],
    "delete-records": ["partition: orders-0 low_watermark: 3"],
    "reassign --execute": ["Successfully started partition reassignment for numbers-0"],
    "configs --alter": ["Completed updating config for topic orders."],
    "topics --create": ["Created topic more."],
    "versions": [
        "Produce(0): 3 to 9 [usable: 9],",
        "Fetch(1): 4 to 12 [usable: 12],",
        "DescribeCluster(60): 0 [usable: 0],",
    ],
    "reassign --verify": ["Reassignment of partition numbers-0 is completed."],
    "leader-election": ["Successfully completed leader election (PREFERRED) for partitions numbers-0"],
    "configs --describe": [
        "cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}",
        "retention.ms=60000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=60000}",
    ],
    "topics --describe": [
        f"Topic: load Partition: {p} Leader: {r[0]} Replicas: {r} Isr: {r} Elr: N/A LastKnownElr: N/A"
        for p, r in enumerate(("3,1,2", "1,2,3", "2,3,1"))
    ],
    "get-offsets, earliest": ["orders:0:3", "orders:1:0"],
}
RULES = (
    (r"(?m)^\d+ records sent, .* max latency\.\n", ""),
    (r"(?m)^\[20[^]]*\] WARN .* disconnected \(org\.apache\.kafka\.clients\.NetworkClient\)\n", ""),
    (r'"timestamp":\d+', '"timestamp":TIME'),
    (r"CreateTime:\d+", "CreateTime:TIME"),
    (r'"avg_throughput":[\d.E-]+', '"avg_throughput":N'),
    (r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "-ID"),
    (r"commitTimestamp=\d+", "commitTimestamp=TIME"),
    (r"127\.0\.0\.1:\d+ +\(\d\)", "COORDINATOR"),
    (r'"logDir":"[^"]*"', '"logDir":DIRECTORY'),
    (r"[\d.]+ (records/sec|MB/sec|ms)\b", r"N \1"),
    (
        r"(?m)^[-\d]+ [:\d]+, [-\d]+ [:\d]+, ([\d.]+), [\d.]+, (\d+), [\d.]+, \d+, \d+, [\d.]+, [\d.]+$",
        r"TIME, TIME, \1, N, \2, N, N, N, N, N",
    ),
)
"""What no two runs have in common: times, rates, ids and directories.

On a busy machine a producer may need longer than 5 s, and reports that; and a connection may not be made in time.
"""


async def work_with_tools(
    kafka: KafkaInstallation, producers: Step, cluster: Cluster | ProcessCluster, servers: str
) -> dict[str, CommandOutcome]:
    """Make topics, and run the tools on them, once without a member of GROUP and once with one."""
    for topic in TOPICS:
        await cluster.topics.create(topic, random.Random(1))
    await until_known(servers, lambda topics: in_sync(topics) == {"orders": [3, 3], "numbers": [3], "load": [3]})
    found = {**await run_step(kafka, producers, servers), **await run_step(kafka, CONSUMERS, servers)}
    member = Member(servers, **{"group.id": GROUP, "client.id": "shop", "auto.commit.interval.ms": 100})
    try:
        await until(lambda: len(member.values), ORDERS)
        client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        async with asyncio.timeout(WITHIN_S):
            await until_committed(client, {0: 8, 1: 12})
        found |= await run_step(kafka, WITH_A_MEMBER, servers)
    finally:
        await member.close()
    found |= await run_step(kafka, WITHOUT_MEMBERS, servers)
    return found | await run_step(kafka, AFTERWARDS, servers)


async def until_committed(client: AdminClient, offsets: Mapping[int, int]) -> None:
    """Wait until GROUP has committed these offsets of orders."""
    while True:
        if await committed(client, GROUP) == offsets:
            return
        await asyncio.sleep(0.1)


async def run_step(
    kafka: KafkaInstallation, step: Step, servers: str, directory: Path | None = None
) -> dict[str, CommandOutcome]:
    """Run tools at the same time, and return how each of them ended."""
    outcomes = await run_together(
        run_kafka_command(
            kafka, one.main_class, one.words.format(servers=servers, directory=directory).split(), one.stdin, WITHIN_S
        )
        for one in step.values()
    )
    return dict(zip(step, outcomes, strict=True))


def lines_of(name: str, outcome: CommandOutcome) -> list[str]:
    """Return the lines that a tool printed, without what RULES replaces, and with single blanks between their words.

    Which of two partitions a consumer reads first is left to chance; so are the order in which groups are stored, and how
    often offsets are committed.
    """
    text = outcome.out + outcome.err
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    if name in (STORED_OFFSETS, STORED_GROUPS):
        return stored(lines, latest_only=name == STORED_OFFSETS)
    return sorted(lines) if name == "console-consumer in a group" else lines


def stored(lines: Sequence[str], latest_only: bool) -> list[str]:
    """Return the records of __consumer_offsets among these lines by key: each key's in their order, or only the latest."""
    by_key: dict[str, list[str]] = {}
    for line in lines:
        key, separator, _ = line.partition("::")
        if separator:
            by_key.setdefault(key, []).append(line)
    return [line for key in sorted(by_key) for line in (by_key[key][-1:] if latest_only else by_key[key])]


def missing(found: Mapping[str, CommandOutcome], answers: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the lines of these answers that were not printed, by tool."""
    printed = {name: lines_of(name, outcome) for name, outcome in found.items()}
    lacking = {name: [line for line in lines if line not in printed[name]] for name, lines in answers.items()}
    return {name: lines for name, lines in lacking.items() if lines}


def test_the_tools_of_2_8_2_print_on_our_brokers_what_they_print_on_kafkas() -> None:
    require("java", "kafka")
    kafka = find_kafka(None)
    both: list[dict[str, CommandOutcome]] = []

    async def work(cluster: Cluster | ProcessCluster, servers: str) -> None:
        both.append(await work_with_tools(kafka, {**KEYED_ORDERS, **PRODUCERS}, cluster, servers))

    on_our_brokers(work, SETTINGS)
    on_kafkas_brokers(work, SETTINGS)
    ours, kafkas = both
    assert missing(ours, {**ANSWERS, **ANSWERS_2_8_2}) == {}
    assert {name: (outcome.rc, lines_of(name, outcome)) for name, outcome in ours.items()} == {
        name: (outcome.rc, lines_of(name, outcome)) for name, outcome in kafkas.items()
    }


@pytest.mark.nightly
def test_the_tools_of_3_9_1_get_right_answers_from_our_brokers(tmp_path: Path) -> None:
    require("java", "kafka-3.9.1")
    kafka = find_kafka(KAFKA_3_9_1)
    (tmp_path / "offsets.json").write_text(json.dumps(OFFSETS))
    (tmp_path / "moves.json").write_text(json.dumps(MOVES))
    found: dict[str, CommandOutcome] = {}

    def is_changed(topics: Topics) -> bool:
        moved = [set(partition.replica_nodes) for partition in topics["numbers"]] == [{1, 2}]
        return moved and in_sync(topics).items() >= {"numbers": [2], "load": [3, 3, 3], "more": [2, 2]}.items()

    async def work(cluster: Cluster | ProcessCluster, servers: str) -> None:
        found.update(await work_with_tools(kafka, {**HEADED_ORDERS, **PRODUCERS}, cluster, servers))
        found.update(await run_step(kafka, CHANGES, servers, tmp_path))
        await until_known(servers, is_changed)
        found.update(await run_step(kafka, AFTER_CHANGES, servers, tmp_path))
        await until_known(servers, lambda topics: "more" not in topics)

    on_our_brokers(work, SETTINGS)
    assert {name: outcome for name, outcome in found.items() if outcome.rc != 0} == {}
    assert missing(found, {**ANSWERS, **ANSWERS_3_9_1}) == {}
