"""A cluster's history as an event log has it, for comparison with other logs of the same cluster; and runs to compare."""

import json
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.invariants import state_writes
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import PartitionState, TopicPartition
from kcsim.zk.capture.zookeeper_import import import_zookeeper, scan_transaction_logs
from kcsim.zk.files.data_directory import DataDirectory

BROKERS = (1, 2, 3)
SETTINGS = {
    "zookeeper.session.timeout.ms": 2_000,
    "replica.fetch.backoff.ms": 200,
    "controlled.shutdown.retry.backoff.ms": 200,
}
PLANS = ([1, 2], [2, 3], [3, 1], [1, 2, 3], [3, 2, 1])
BREATHER_MS = 4_000
ACTIONS = ("kill", "stop", "pause", "expire", "reassign", "prefer", "delete", "create", "touch")


class Change(NamedTuple):
    """A change of a znode, in the columns that every log must have."""

    zxid: int | None
    kind: EventKind
    path: str | None
    data: str | None
    zk_version: int
    is_ephemeral: bool


def changes(events: Iterable[Event]) -> list[Change]:
    """Return all changes of znodes. Only some logs have the last version of a deleted znode."""
    return [
        Change(
            e.zxid,
            e.kind,
            e.path,
            e.data,
            0 if e.kind is EventKind.ZNODE_DELETED else e.zk_version or 0,
            bool(e.ephemeral) and e.kind is EventKind.ZNODE_CREATED,
        )
        for e in events
        if e.kind in ZNODE_CHANGES
    ]


def partition_histories(events: Sequence[Event]) -> dict[TopicPartition, list[PartitionState]]:
    """Return the states of each partition, in order."""
    found: dict[TopicPartition, list[PartitionState]] = {}
    for write in state_writes(events):
        found.setdefault(write.tp, []).append(write.after)
    return found


def sessions_ended(events: Iterable[Event]) -> list[tuple[str | None, str | None]]:
    """Return each session with the way it ended."""
    return [(e.session_id, e.error) for e in events if e.kind is EventKind.SESSION_CLOSED]


def columns_of(events: Iterable[Event], kind: EventKind, *columns: str) -> list[tuple[object, ...]]:
    """Return these columns of every event of a kind."""
    return [tuple(getattr(e, column) for column in columns) for e in events if e.kind is kind]


def imported(directory: Path, chroot: str = "") -> list[Event]:
    """Return the events that the import of a data directory yields."""
    files = DataDirectory(directory)
    events: list[Event] = []
    import_zookeeper(files, scan_transaction_logs(files, chroot), events.append, chroot)
    return events


def random_run(directory: Path, seed: int, actions: int = 6) -> EventLog:
    """Run random actions on a simulated cluster, and write its ZooKeeper's log to this directory."""
    rng = random.Random(seed)

    async def script(cluster: Cluster) -> None:
        await cluster.start([f"broker-{b}" for b in BROKERS])
        await _create(cluster, "orders", rng)
        for _ in range(actions):
            await cluster.runtime.sleep_ms(rng.choice([50, 300, BREATHER_MS]))
            with suppress(ClusterError):  # some actions are refused in some states
                await _do(cluster, rng)
        await cluster.runtime.sleep_ms(BREATHER_MS)

    spec = ClusterSpec(tuple(BrokerSpec(b) for b in BROKERS), SETTINGS, tick_time_ms=100)
    return run_in_environment(
        ZooKeeperChoice.parse("simulated"), spec, RunInfo("random", seed, "simulated"), script, zk_log=directory
    )


async def _do(cluster: Cluster, rng: random.Random) -> None:
    name, action = f"broker-{rng.choice(BROKERS)}", rng.choice(ACTIONS)
    state = cluster.state
    match state.processes.get(name), action:
        case "dead" | "stopped", _:
            await cluster.runtime.sleep_ms(BREATHER_MS)  # its registration has to be gone
            await cluster.start([name])
        case "paused", _:
            await cluster.resume(name)
        case "running", "kill":
            await cluster.kill(name)
        case "running", "stop":
            await cluster.stop(name)
        case "running", "pause":
            await cluster.pause(name)
        case "running", "expire":
            await cluster.expire(name)
        case _, "reassign" if "/admin/reassign_partitions" not in state.znodes:
            plan = [{"topic": "orders", "partition": p, "replicas": rng.choice(PLANS)} for p in (0, 1)]
            await cluster.znodes.create("/admin/reassign_partitions", json.dumps({"version": 1, "partitions": plan}))
        case _, "prefer" if "/admin/preferred_replica_election" not in state.znodes:
            partitions = [{"topic": "orders", "partition": p} for p in (0, 1)]
            await cluster.znodes.create(
                "/admin/preferred_replica_election", json.dumps({"version": 1, "partitions": partitions})
            )
        case _, "delete" if "orders" in state.of_topics.topics and "orders" not in state.of_topics.deleting:
            await cluster.znodes.create("/admin/delete_topics/orders", None)
        case _, "create" if "orders" not in state.of_topics.topics:
            await _create(cluster, "orders", rng)
        case _:
            await cluster.znodes.set("/consumers", json.dumps({"touched": rng.random()}))


async def _create(cluster: Cluster, topic: str, rng: random.Random) -> None:
    lists = {"0": rng.choice(PLANS), "1": rng.choice(PLANS)}
    content = {"version": 2, "partitions": lists, "adding_replicas": {}, "removing_replicas": {}}
    await cluster.wait_until(
        lambda: None if "/brokers/topics" in cluster.state.znodes else "nobody has made /brokers/topics", 10_000
    )
    await cluster.znodes.create(f"/brokers/topics/{topic}", json.dumps(content))
