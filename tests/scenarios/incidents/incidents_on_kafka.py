"""Incidents made with real Kafka brokers, each on a cluster of its own; keeps the log files and ZooKeeper's transaction log.

Three brokers, topic orders with three partitions on all of them. `done.json` has what was done, with its times.

    python -m tests.scenarios.incidents.incidents_on_kafka DIR [NAME …] [--kafka .kafka/2.8.2]
"""

import argparse
import gzip
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.apache_kafka.log_files import CONTROLLER_LOG, SERVER_LOG, STATE_CHANGE_LOG
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec, max_session_timeout_ms
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_with_kafka
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.events import ZNODE_CHANGES
from kcsim.runtime.wallclock import wall_clock_ms
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.files.log_writer import VERSION_2
from kcsim.znodes import paths

SETTINGS: Mapping[str, str | int | bool] = {
    "zookeeper.session.timeout.ms": 6_000,
    "auto.leader.rebalance.enable": False,
    "inter.broker.protocol.version": "2.8",
}
TICK_MS = 200
WITHIN_MS = 300_000
QUIET_MS = 8_000
AWAY_MS = 5_000
"""For how long ZooKeeper stands still: two thirds of the session time-out, after which its clients give up, and more."""
BROKERS = (1, 2, 3)
ASSIGNMENT = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
LOGS = (CONTROLLER_LOG, STATE_CHANGE_LOG, SERVER_LOG)
OF_NO_USE = re.compile(r"^(?:\s|java\.|Caused by|\t)|^\[[^]]*\] (?:TRACE|DEBUG) ")
NOISE = re.compile(
    r"KafkaConfig values|\(kafka\.network\.|ThrottledChannel|ExpirationReaper|DelayedOperation|TransactionCoordinator"
    r"|\(kafka\.server\.KafkaConfig\)|\(org\.apache\.kafka\.common\.metrics|\(kafka\.utils\.Log4jController"
    r"|ProducerId Manager"
    r"|Client environment:|\(org\.apache\.zookeeper\.common\.X509Util|\(kafka\.coordinator\.transaction"
    r"|\(kafka\.log\.LogConfig|jute\.maxbuffer|\(kafka\.server\.epoch|\(kafka\.log\.LogCleaner"
)


class IncidentOnKafka:
    """One incident on a running cluster. Attributes: done: what was done, with its time in ms since 1970."""

    def __init__(self, cluster: ProcessCluster) -> None:
        self.cluster = cluster
        self.done: list[dict[str, object]] = []
        self._changed_ms = 0
        cluster.log.subscribe(lambda event: self._note() if event.kind in ZNODE_CHANGES else None)

    def _note(self) -> None:
        self._changed_ms = self.cluster.runtime.now_ms()

    async def prepare(self) -> None:
        """Start the brokers, broker-1 first so that it is the controller, and create the topic."""
        await self.cluster.start(["broker-1"])
        await self.cluster.start([f"broker-{broker}" for broker in BROKERS[1:]])
        replicas = tuple(tuple(map(BrokerId, one)) for one in ASSIGNMENT)
        await self.cluster.topics.create(NewTopic("orders", assignment=replicas), random.Random(0))
        await self.wait_until_in_sync()
        await self.cluster.runtime.sleep_ms(2_000)

    async def do(self, what: str, act: Awaitable[object]) -> None:
        self.done.append({"t_ms": wall_clock_ms(), "do": what})
        await act

    async def wait_until_in_sync(self) -> None:
        def missing() -> str | None:
            state, topics = self.cluster.state, self.cluster.state.of_topics
            behind = topics.under_replicated() or topics.offline(state.registered)
            return f"behind: {behind}" if behind or len(topics.states) < len(ASSIGNMENT) else None

        await self.cluster.wait_until(missing, WITHIN_MS)

    async def wait_until_gone(self, broker: int) -> None:
        state = self.cluster.state
        await self.cluster.wait_until(lambda: "registered" if broker in state.registered else None, WITHIN_MS)

    async def wait_until_back(self, broker: int) -> None:
        state = self.cluster.state
        await self.cluster.wait_until(lambda: None if broker in state.registered else "not registered", WITHIN_MS)
        await self.wait_until_in_sync()

    async def wait_until_quiet(self) -> None:
        self._note()
        while self.cluster.runtime.now_ms() - self._changed_ms < QUIET_MS:
            await self.cluster.runtime.sleep_ms(200)


Making = Callable[[IncidentOnKafka], Awaitable[None]]


async def _killed(one: IncidentOnKafka) -> None:
    await one.do("kill broker-1", one.cluster.kill("broker-1"))
    await one.wait_until_gone(1)
    await one.wait_until_quiet()
    await one.do("start broker-1", one.cluster.start(["broker-1"]))
    await one.wait_until_back(1)


async def _paused(one: IncidentOnKafka) -> None:
    await one.do("pause broker-1", one.cluster.pause("broker-1"))
    await one.wait_until_gone(1)
    await one.wait_until_quiet()
    await one.do("resume broker-1", one.cluster.resume("broker-1"))
    await one.wait_until_back(1)


async def _stopped(one: IncidentOnKafka) -> None:
    await one.do("stop broker-2", one.cluster.stop("broker-2"))
    await one.wait_until_quiet()
    await one.do("start broker-2", one.cluster.start(["broker-2"]))
    await one.wait_until_back(2)


async def _controller_deleted(one: IncidentOnKafka) -> None:
    await one.do("delete /controller", one.cluster.znodes.delete(paths.CONTROLLER))


async def _log_dir_lost(one: IncidentOnKafka) -> None:
    await one.do("fail-log-dir broker-2", one.cluster.fail_log_dir("broker-2"))
    await one.wait_until_gone(2)


async def _cut_off(one: IncidentOnKafka) -> None:
    await one.do("disconnect broker-2", one.cluster.disconnect("broker-2"))
    await one.wait_until_gone(2)
    await one.wait_until_quiet()
    await one.do("reconnect broker-2", one.cluster.reconnect("broker-2"))
    await one.wait_until_back(2)


async def _zookeeper_away(one: IncidentOnKafka) -> None:
    (server,) = one.cluster.servers.member_names
    await one.do(f"pause {server} of ZooKeeper", one.cluster.servers.pause(server))
    await one.cluster.runtime.sleep_ms(AWAY_MS)
    await one.do(f"resume {server} of ZooKeeper", one.cluster.servers.resume(server))


async def _state_overwritten(one: IncidentOnKafka) -> None:
    data = {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2]}
    path = paths.topic_partition_state(TopicPartition("orders", 0))
    await one.do(f"set {path}", one.cluster.znodes.set(path, json.dumps(data)))


INCIDENTS: Mapping[str, Making] = {
    "broker-killed": _killed,
    "broker-paused": _paused,
    "controlled-shutdown": _stopped,
    "controller-deleted": _controller_deleted,
    "log-dir-lost": _log_dir_lost,
    "broker-cut-off": _cut_off,
    "zookeeper-away": _zookeeper_away,
    "state-overwritten": _state_overwritten,
}


def make_incident(kafka: KafkaInstallation, name: str, directory: Path) -> None:
    """Make an incident and keep its logs in a directory, which must not exist."""
    specs = tuple(BrokerSpec(broker, None) for broker in BROKERS)
    spec = ClusterSpec(specs, SETTINGS, TICK_MS, max_session_timeout_ms=max_session_timeout_ms(SETTINGS, TICK_MS))
    directory.mkdir(parents=True)
    whole = directory / "zookeeper-whole"

    async def script(cluster: ProcessCluster) -> None:
        one = IncidentOnKafka(cluster)
        await one.prepare()
        await INCIDENTS[name](one)
        await one.wait_until_quiet()
        (directory / "done.json").write_text(json.dumps(one.done) + "\n")
        for broker, folder in cluster.log_folders.items():
            _keep_broker_logs(folder, directory / broker)

    choice = ZooKeeperChoice(ZooKeeperKind.EMBEDDED)
    run_with_kafka(kafka, choice, spec, RunInfo(name, 0, choice.kind.value, "Apache Kafka"), script, zk_log=whole)
    _keep_transaction_log(whole, directory / "zookeeper")


def _keep_broker_logs(folder: Path, kept: Path) -> None:
    """Keep the log files at level INFO, gzipped, without stack traces, dumps of settings and directories of this machine."""
    kept.mkdir()
    for name in LOGS:
        text = (folder / name).read_text(errors="replace").replace(str(folder.parent), "/var/lib/kafka")
        with gzip.GzipFile(kept / f"{name}.gz", "wb", mtime=0) as file:
            file.write("".join(_kept_lines(text)).encode())


def _kept_lines(text: str) -> list[str]:
    """Return the lines worth keeping; a message of several lines is kept or left out as a whole."""
    records = re.split(r"^(?=\[\d{4}-)", text, flags=re.MULTILINE)
    kept = []
    for record in records:
        first, _, rest = record.partition("\n")
        if not record or OF_NO_USE.match(record) or NOISE.search(record):
            continue
        is_whole = re.search(r" \([\w.$]+\)$", first)
        kept.append(f"{first}\n" if is_whole else record)
        cause = rest.partition("\n")[0]
        if is_whole and cause and not cause.startswith("\t"):
            kept.append(f"{cause}\n")
    return kept


def _keep_transaction_log(whole: Path, kept: Path) -> None:
    """Keep the transaction log gzipped: a server fills it with zeros up to 64 MB."""
    (kept / VERSION_2).mkdir(parents=True)
    for log in sorted(whole.rglob("log.*")):
        with gzip.GzipFile(kept / VERSION_2 / f"{log.name}.gz", "wb", mtime=0) as file:
            file.write(log.read_bytes().rstrip(b"\0"))
        log.unlink()
    for folder in sorted(whole.rglob("*"), reverse=True):
        folder.rmdir() if folder.is_dir() else folder.unlink()
    whole.rmdir()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", default=list(INCIDENTS), metavar="NAME")
    parser.add_argument("--kafka", type=Path)
    options = parser.parse_args()
    kafka = find_kafka(options.kafka)
    for name in options.names:
        began_s = time.monotonic()
        make_incident(kafka, name, options.directory / name)
        print(f"{name}: {time.monotonic() - began_s:.0f} s", flush=True)


if __name__ == "__main__":
    main()
