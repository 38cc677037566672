"""kcat prints the same about our brokers as about Kafka's, before and after the loss of a leader, and through it."""

import asyncio
import random
import re
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

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
    until_known,
)
from tests.brokers.cluster.environments import kill_and_expire
from tests.requirements import require

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]

ONE, TWO, THREE = map(BrokerId, (1, 2, 3))
ORDERS = NewTopic("orders", assignment=((ONE, TWO, THREE), (TWO, THREE, ONE)))
LOST = "broker-2"
KEYED = "".join(f"key-{number % 3}:order {number}\n" for number in range(6))
PLAIN = "one\ntwo\nthree\nfour\n"
FORMAT = r"'%t %p %o %T %k %s %h\n'"
READERS = "-G readers -q -X auto.offset.reset=earliest -e -K : orders"

COMMANDS: Mapping[str, tuple[str, str]] = {
    "produce with keys and headers": ("-P -t orders -p 1 -K : -H shop=here -z gzip -X acks=all", KEYED),
    "produce as an idempotent producer": ("-P -t orders -p 0 -X enable.idempotence=true", PLAIN),
    "metadata": ("-L -t orders", ""),
    "metadata in JSON": ("-L -J -t orders", ""),
    "consume a partition": (f"-C -t orders -p 1 -o beginning -e -f {FORMAT}", ""),
    "consume in JSON": ("-C -t orders -p 1 -o -4 -e -J", ""),
    "consume an unknown topic": ("-C -t nosuch -p 0 -e", ""),
    "query offsets": ("-Q -t orders:0:-1 -t orders:1:-2", ""),
    "consume in a group": (READERS, ""),
    "consume in the group again": (READERS, ""),
}
"""The arguments and the standard input of each, but for the bootstrap servers."""

RULES = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r'"ts":\d+', '"ts":TIME'),
    (r"\b\d{13}\b", "TIME"),
    (r"\(from broker -?\d: ADDRESS/(-?\d|bootstrap)\)", "(from BROKER)"),
    (r'"originating_broker":\{[^}]*\}', '"originating_broker":BROKER'),
    (r'"controllerid":\d', '"controllerid":BROKER'),
    (r" \(controller\)", ""),
    (r'\{"id":\d,"name":"ADDRESS"\}(,?)', r"BROKER\1"),
)
"""What no two runs have in common: addresses, times, the broker that has answered, the controller, the order of brokers."""


class Printed(NamedTuple):
    """How kcat ended, and the lines that it printed."""

    rc: int | None
    out: list[str]
    err: list[str]


@asynccontextmanager
async def kcat(servers: str, words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start kcat, and end it if it has not ended by itself."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "kcat", "-b", servers, "-m", f"{WITHIN_S:.0f}", *shlex.split(words), stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ended(process: asyncio.subprocess.Process, stdin: str) -> Printed:
    async with asyncio.timeout(WITHIN_S):
        out, err = await process.communicate(stdin.encode())
    return Printed(process.returncode, lines_of(out), lines_of(err))


async def run_all(servers: str, when: str) -> dict[str, Printed]:
    """Run the commands one after the other."""
    found = {}
    for name, (words, stdin) in COMMANDS.items():
        async with kcat(servers, words) as process:
            found[f"{name}, {when}"] = await ended(process, stdin)
    return found


def lines_of(printed: bytes) -> list[str]:
    """Return the lines, sorted, without what RULES replaces. Which partition or broker comes first is left to chance."""
    text = printed.decode()
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return sorted(text.splitlines())


async def look(cluster: Cluster | ProcessCluster, servers: str) -> dict[str, Printed]:
    """Run the commands before and after the loss of a leader, while one consumer goes on."""
    await cluster.topics.create(ORDERS, random.Random(1))
    await until_known(servers, lambda topics: in_sync(topics) == {"orders": [3, 3]})
    found = await run_all(servers, "before")
    reading = f"-C -t orders -p 1 -o beginning -c {2 * len(KEYED.splitlines())} -q -u -f {FORMAT}"
    async with kcat(servers, reading) as consumer:
        assert consumer.stdout is not None
        async with asyncio.timeout(WITHIN_S):
            early = b"".join([await consumer.stdout.readline() for _ in KEYED.splitlines()])
        rest = ",".join(address for broker, address in enumerate(servers.split(","), 1) if f"broker-{broker}" != LOST)
        await kill_and_expire(cluster, LOST)
        await until_known(rest, is_led_by_others)
        found |= await run_all(rest, "after")
        late = await ended(consumer, "")
    return found | {"consume through the loss": Printed(late.rc, lines_of(early) + late.out, [])}


def is_led_by_others(topics: Topics) -> bool:
    """Return whether the partitions of orders have the leaders and the in-sync replicas that they have without LOST."""
    found = {partition.partition_index: (partition.leader_id, len(partition.isr_nodes)) for partition in topics["orders"]}
    return found == {0: (1, 2), 1: (3, 2)}


def test_kcat_prints_the_same_about_our_brokers_as_about_kafkas() -> None:
    require("java", "kafka", "kcat")
    both: list[dict[str, Printed]] = []

    async def work(cluster: Cluster | ProcessCluster, servers: str) -> None:
        both.append(await look(cluster, servers))

    on_our_brokers(work, SETTINGS)
    on_kafkas_brokers(work, SETTINGS)
    ours, kafkas = both
    assert ours == kafkas
    assert "    partition 1, leader 3, replicas: 2,3,1, isrs: 3,1" in ours["metadata, after"].out
    assert [ours[f"consume in a group, {when}"].out for when in ("before", "after")] == [
        sorted([*KEYED.splitlines(), *(f":{line}" for line in PLAIN.splitlines())])
    ] * 2
    assert [len(ours[f"consume in the group again, {when}"].out) for when in ("before", "after")] == [0, 0]
    assert len(ours["consume through the loss"].out) == 2 * len(KEYED.splitlines())
    failed = {name for name, printed in ours.items() if printed.rc != 0}
    assert failed == {"consume an unknown topic, before", "consume an unknown topic, after"}
