"""Record what Kafka's own KRaft controller and brokers in ZooKeeper mode write to ZooKeeper during a migration to KRaft.

python -m tests.conformance.record_migration --kafka-home DIR --out FILE [--runs N] [--logs DIR]

Three brokers and one KRaft controller, each a process, are taken through the steps of `_steps`. FILE then has, for each
step of each run, every write of that time, in ZooKeeper's order, and who wrote. Needs a Kafka 3.9.
"""

import argparse
import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from kcsim.brokers.apache_kafka.broker_process import HEAP_MB, MAIN_CLASS, KafkaBroker
from kcsim.brokers.apache_kafka.commands import run_kafka_command
from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.apache_kafka.log_files import BROKER_LOG4J, DIRECTORY_PROPERTY, jvm_options
from kcsim.brokers.apache_kafka.properties import HOST, KafkaBrokerSpec, properties_text
from kcsim.vocabulary import SessionId
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.past_tree import PastChangeKind, PastTree
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.free_ports import free_ports
from kcsim.zk.servers.guarded_processes import GuardedProcesses

BROKERS = (1, 2, 3)
KRAFT = 3000
"""Node id of the KRaft controller."""
MIGRATION = "zookeeper.metadata.migration.enable"
BOUND_S = 90
SESSION_MS = 4_000
END = "/end-of-step"
"""Created and deleted when a step is over."""
MIGRATION_ZNODE = "/migration"


class KraftController:
    """A process of Kafka that is the whole KRaft quorum, and the ZooKeeper side of the migration."""

    def __init__(self, kafka: KafkaInstallation, zookeeper: str, port: int, directory: Path) -> None:
        self._kafka, self._directory = kafka, directory
        self._guarded = GuardedProcesses(what="kafka")
        self._properties = {
            "process.roles": "controller",
            "node.id": str(KRAFT),
            "controller.quorum.voters": f"{KRAFT}@{HOST}:{port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://{HOST}:{port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(directory / "metadata"),
            "zookeeper.connect": zookeeper,
            MIGRATION: "true",
        }

    async def format(self, cluster_id: str, release: str) -> None:
        file = self._written()
        args = ["format", "--cluster-id", cluster_id, "--config", str(file), "--release-version", release]
        done = await run_kafka_command(self._kafka, "kafka.tools.StorageTool", args, None, BOUND_S)
        assert done.rc == 0, done

    def _written(self) -> Path:
        self._directory.mkdir(parents=True, exist_ok=True)
        file = self._directory / "controller.properties"
        file.write_text(properties_text(self._properties))
        return file

    def start(self) -> None:
        log4j = self._directory / "log4j.properties"
        log4j.write_text(BROKER_LOG4J)
        command = [
            str(self._kafka.java.executable),
            *jvm_options(log4j, HEAP_MB),
            f"-D{DIRECTORY_PROPERTY}={self._directory}",
            "-cp",
            os.pathsep.join(map(str, self._kafka.jars())),
            MAIN_CLASS,
            str(self._written()),
        ]
        self._guarded.start("kraft", command, self._directory / "console.log")

    def kill(self) -> None:
        self._guarded.kill("kraft")

    def close(self) -> None:
        self._guarded.close()


@dataclass
class Migration:
    """The processes, and the names of the steps so far."""

    zookeeper: EmbeddedZooKeeper
    brokers: dict[int, KafkaBroker]
    kraft: KraftController
    kafka: KafkaInstallation
    by_hand: KazooClient
    ends: list[str] = field(default_factory=list)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(BOUND_S * 5):
            if holds():
                return
            await asyncio.sleep(0.2)
        print(f"not within {BOUND_S} s: {what}")

    async def end_step(self, name: str, seconds: float) -> None:
        """End a step, some seconds later: the KRaft controller writes /migration again and again, so it is never quiet."""
        await asyncio.sleep(seconds)
        self.by_hand.create(END)
        self.by_hand.delete(END)
        self.ends.append(name)
        print(f"{name}: controller {self.controller()}, epoch {self.read('/controller_epoch')}", flush=True)

    def read(self, path: str) -> str | None:
        if self.by_hand.exists(path) is None:
            return None
        data: bytes = self.by_hand.get(path)[0]
        return data.decode()

    def controller(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.read("/controller") or "{}")
        return content

    def kraft_epoch(self) -> int:
        return int(self.controller().get("kraftControllerEpoch", -1))

    async def restart(self, broker: int) -> None:
        await self.brokers[broker].start()
        await self.brokers[broker].wait_until_up(BOUND_S)

    async def topic(self, *args: str) -> None:
        address = self.brokers[1].address
        command = ["--bootstrap-server", address, *args]
        done = await run_kafka_command(self.kafka, "kafka.admin.TopicCommand", command, None, BOUND_S)
        print("topic", args, done.rc, done.out.strip()[-300:], done.err.strip()[-300:])


async def _steps(run: Migration) -> None:
    await run.brokers[1].start()
    await run.brokers[1].wait_until_up(BOUND_S)
    for broker in (run.brokers[2], run.brokers[3]):
        await broker.start()
    for broker in (run.brokers[2], run.brokers[3]):
        await broker.wait_until_up(BOUND_S)
    await run.topic("--create", "--topic", "before", "--replica-assignment", "1:2:3")
    await run.end_step("the brokers start, and topic `before` is created", 3)

    cluster = json.loads(run.read("/cluster/id") or "{}")["id"]
    await run.kraft.format(cluster, "3.9")
    run.kraft.start()
    await run.until(lambda: run.kraft_epoch() >= 0, "the KRaft controller takes /controller")
    await run.end_step("the KRaft controller starts", 8)

    await run.topic("--create", "--topic", "during", "--replica-assignment", "2:3:1")
    await run.end_step("topic `during` is created", 4)

    await run.brokers[2].kill()
    await run.end_step("broker 2 is killed", 12)
    await run.restart(2)
    await run.end_step("broker 2 starts again", 5)
    await run.brokers[3].terminate(BOUND_S)
    await run.end_step("broker 3 is stopped with SIGTERM", 4)
    await run.restart(3)
    await run.end_step("broker 3 starts again", 5)

    run.kraft.kill()
    await run.end_step("the KRaft controller is killed", 8)
    await run.brokers[2].kill()
    await run.end_step("broker 2 is killed, without a KRaft controller", 8)
    await run.brokers[2].start()
    await run.end_step("broker 2 starts again, without a KRaft controller", 15)
    run.kraft.start()
    await run.until(lambda: run.kraft_epoch() >= 2, "the KRaft controller takes /controller again")
    await run.end_step("the KRaft controller starts again", 8)

    run.by_hand.delete("/controller")
    await run.end_step("/controller is deleted by hand", 8)
    run.kraft.kill()
    run.kraft.start()
    await run.until(lambda: run.kraft_epoch() >= 3, "the KRaft controller takes /controller from a broker")
    await run.end_step("the KRaft controller is restarted", 8)


def _settings(kraft_port: int) -> dict[str, str | int | bool]:
    return {
        "inter.broker.protocol.version": "3.9",
        MIGRATION: True,
        "controller.quorum.voters": f"{KRAFT}@{HOST}:{kraft_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "zookeeper.session.timeout.ms": SESSION_MS,
        "auto.leader.rebalance.enable": False,
    }


async def record(kafka: KafkaInstallation, logs: Path | None) -> list[dict[str, Any]]:
    """Play the steps, and return for each its name and its writes."""
    with tempfile.TemporaryDirectory() as name, EmbeddedZooKeeper() as zookeeper:
        directory, connect, (kraft_port,) = Path(name), zookeeper.connect_string, free_ports(1)
        brokers = {
            i: KafkaBroker(kafka, KafkaBrokerSpec(i, connect, _settings(kraft_port)), directory / f"broker-{i}")
            for i in BROKERS
        }
        kraft = KraftController(kafka, connect, kraft_port, directory / "kraft")
        by_hand = KazooClient(connect)
        by_hand.start()
        run = Migration(zookeeper, brokers, kraft, kafka, by_hand)
        try:
            await _steps(run)
        finally:
            for broker in brokers.values():
                await broker.close()
            kraft.close()
            if logs is not None:
                no_data = shutil.ignore_patterns("data-*", "metadata")
                shutil.copytree(directory, logs, dirs_exist_ok=True, ignore=no_data)
        (member,) = await zookeeper.states()
        log = zookeeper.transaction_log_dir(member)
        assert log is not None
        found = list(_writes(DataDirectory(log), run.ends, by_hand.client_id[0]))
        by_hand.stop()
        return found


def without_repetitions(writes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out the writes of /migration that only continue the one before in the same step; that has their number then."""
    kept: list[dict[str, Any]] = []
    last: dict[str, Any] | None = None
    for write in writes:
        is_progress = write["path"] == MIGRATION_ZNODE and write["kind"] == "set"
        if is_progress and last is not None and _claim(last) == _claim(write):
            last["repeated"] = last.get("repeated", 0) + 1
            continue
        kept.append(dict(write))
        last = kept[-1] if write["path"] == MIGRATION_ZNODE else last
    return kept


def _claim(write: dict[str, Any]) -> tuple[int, int]:
    content = json.loads(write["data"])
    return content["kraft_controller_id"], content["kraft_controller_epoch"]


def _writes(log: DataDirectory, names: Sequence[str], by_hand: int) -> Iterator[dict[str, Any]]:
    """Yield each step's name and writes. A session without a broker is that of the KRaft controller, or of a dead broker."""
    writers: dict[SessionId, str] = {SessionId(by_hand): "by hand"}
    tree, steps = PastTree.empty(), iter(names)
    writes: list[tuple[SessionId, dict[str, Any]]] = []
    for transaction in log.transactions():
        for change in tree.apply(transaction):
            if change.path == END:
                if change.kind is PastChangeKind.DELETED:
                    yield {"step": next(steps), "writes": [{**w, "by": writers.get(s, "KRaft")} for s, w in writes]}
                    writes = []
                continue
            if change.path.startswith("/brokers/ids/"):
                writers[change.owner] = f"broker {change.path.rpartition('/')[2]}"
            write: dict[str, Any] = {"kind": change.kind.value, "path": change.path, "zxid": transaction.zxid}
            if change.data is not None:
                write["data"] = change.data.decode(errors="replace")
            if change.owner and change.kind is PastChangeKind.CREATED:
                write["ephemeral"] = True
            writes.append((transaction.session_id, write))


def text(source: str, runs: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Return the content of FILE, with a line for each write."""
    lines = [f'{{"source": {json.dumps(source)}, "runs": [']
    for run in runs:
        lines.append("[")
        for step in run:
            writes = without_repetitions(step["writes"])
            lines.append(f'{{"step": {json.dumps(step["step"])}, "writes": [')
            lines += [f" {json.dumps(write)}{',' if write is not writes[-1] else ''}" for write in writes]
            lines.append("]}" + ("," if step is not run[-1] else ""))
        lines.append("]" + ("," if run is not runs[-1] else ""))
    return "\n".join([*lines, "]}"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kafka-home", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--logs", type=Path)
    asked = parser.parse_args()
    kafka = find_kafka(asked.kafka_home)
    runs = [asyncio.run(record(kafka, asked.logs and asked.logs / f"{n + 1}")) for n in range(asked.runs)]
    source = f"recorded from Apache Kafka {kafka.version}, inter.broker.protocol.version 3.9"
    asked.out.write_text(text(source, runs), encoding="utf-8")


if __name__ == "__main__":
    main()
