"""Real brokers on the test suite's ZooKeeper, each test below its own chroot, and reads of their znodes."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec, Value
from kcsim.zk.servers.embedded import EmbeddedZooKeeper

UP_WITHIN_S = 180.0
DOWN_WITHIN_S = 180.0
PATIENCE_S = 120.0
SESSION_TIMEOUT_MS = 6_000
SETTINGS: dict[str, Value] = {"zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS, "controlled.shutdown.max.retries": 1}

T = TypeVar("T")


async def until(look: Callable[[], T], holds: Callable[[T], bool], what: str) -> T:
    """Return the first observed value for which `holds` is true; fail with the last observed value if there is none."""
    end = time.monotonic() + PATIENCE_S
    while not holds(seen := look()):
        assert time.monotonic() < end, f"waited {PATIENCE_S:g} s for {what}; last seen: {seen}"
        await asyncio.sleep(0.02)
    return seen


async def logged(log: Path, line: str, times: int) -> None:
    """Wait until lines with this text appear at least `times` times: a broker's threads write to the log asynchronously."""
    await until(log.read_text, lambda text: text.count(line) >= times, f"{times} of {line!r} in {log.name}")


class Znodes:
    """Reader of the znodes below a chroot of the test suite's ZooKeeper."""

    def __init__(self, client: KazooClient, connect: str) -> None:
        self._client = client
        self.connect = connect

    def content(self, path: str) -> Any:
        """Return a znode's JSON; None if it does not exist."""
        try:
            return json.loads(self._client.get(path)[0])
        except NoNodeError:
            return None

    async def until(self, path: str, holds: Callable[[Any], bool], what: str) -> Any:
        """Return a znode's content once `holds` is true of it; fail with the last content if that never happens."""
        return await until(lambda: self.content(path), holds, what)


@contextmanager
def znodes_below(server: EmbeddedZooKeeper, chroot: str) -> Iterator[Znodes]:
    connect = f"{server.connect_string}/{chroot}"
    client = KazooClient(server.connect_string)
    client.start()
    try:
        client.create(f"/{chroot}", b"")
        client.chroot = f"/{chroot}"
        yield Znodes(client, connect)
    finally:
        client.stop()
        client.close()


@asynccontextmanager
async def broker_on(
    znodes: Znodes,
    directory: Path,
    port: int | None = None,
    kafka_home: Path | None = None,
    settings: Mapping[str, Value] | None = None,
) -> AsyncIterator[KafkaBroker]:
    """Yield broker 1, not started yet; it is killed at the end if it is still running. `settings`: besides SETTINGS."""
    # Neither a space nor a non-ASCII letter in a path may cause a failure.
    spec = KafkaBrokerSpec(1, znodes.connect, {**SETTINGS, **(settings or {})}, "east")
    broker = KafkaBroker(find_kafka(kafka_home), spec, directory / "bröker 1", port)
    try:
        yield broker
    finally:
        await broker.close()
