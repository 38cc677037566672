"""What an event log says of a cluster's history, to be compared with what another says of the same; and runs to compare."""

import json
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.imported.zookeeper_import import import_zookeeper, survey
from kcsim.scenarios.invariants import TREE_CHANGES, state_writes
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.events import Event, EventKind
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.vocabulary import PartitionState, TopicPartition

BROKERS = (1, 2, 3)
SETTINGS = {
    "zookeeper.session.timeout.ms": 2_000,
    "replica.fetch.backoff.ms": 200,
    "controlled.shutdown.retry.backoff.ms": 200,
}
PLANS = ([1, 2], [2, 3], [3, 1], [1, 2, 3], [3, 2, 1])
BREATHER_MS = 4_000
DEEDS = ("kill", "stop", "pause", "expire", "reassign", "prefer", "delete", "create", "touch")


class Change(NamedTuple):
    """A change of a znode, as every log has to tell it."""

    zxid: int | None
    kind: EventKind
    path: str | None
    data: str | None
    zk_version: int
    is_ephemeral: bool


def changes(events: Iterable[Event]) -> list[Change]:
    """All changes of znodes. What a deleted znode's last version was is told by some only."""
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
        if e.kind in TREE_CHANGES
    ]


def partition_histories(events: Sequence[Event]) -> dict[TopicPartition, list[PartitionState]]:
    """Every state that each partition was in, in order."""
    found: dict[TopicPartition, list[PartitionState]] = {}
    for write in state_writes(events):
        found.setdefault(write.tp, []).append(write.after)
    return found


def sessions_ended(events: Iterable[Event]) -> list[tuple[str | None, str | None]]:
    """Each session with how it ended."""
    return [(e.session_id, e.error) for e in events if e.kind is EventKind.SESSION_CLOSED]


def told(events: Iterable[Event], kind: EventKind, *columns: str) -> list[tuple[object, ...]]:
    """These columns of every event of a kind."""
    return [tuple(getattr(e, column) for column in columns) for e in events if e.kind is kind]


def imported(directory: Path, chroot: str = "") -> list[Event]:
    """The events that a data directory is imported as."""
    files = DataDirectory(directory)
    events: list[Event] = []
    import_zookeeper(files, survey(files, chroot), events.append, chroot)
    return events


def random_run(directory: Path, seed: int, deeds: int = 6) -> EventLog:
    """A simulated run in which things are done to a cluster at random, and its ZooKeeper's log in this directory."""
    rng = random.Random(seed)

    async def script(cluster: Cluster) -> None:
        await cluster.start([f"broker-{b}" for b in BROKERS])
        await _create(cluster, "orders", rng)
        for _ in range(deeds):
            await cluster.runtime.sleep_ms(rng.choice([50, 300, BREATHER_MS]))
            with suppress(ClusterError):  # not everything can be done at any time
                await _do(cluster, rng)
        await cluster.runtime.sleep_ms(BREATHER_MS)

    spec = ClusterSpec(tuple(BrokerSpec(b) for b in BROKERS), SETTINGS, tick_time_ms=100)
    return run_in_world(
        ZooKeeperChoice.parse("simulated"), spec, RunInfo("random", seed, "simulated"), script, zk_log=directory
    )


async def _do(cluster: Cluster, rng: random.Random) -> None:
    name, deed = f"broker-{rng.choice(BROKERS)}", rng.choice(DEEDS)
    state = cluster.state
    match state.processes.get(name), deed:
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
            await cluster.zk_create("/admin/reassign_partitions", json.dumps({"version": 1, "partitions": plan}))
        case _, "prefer" if "/admin/preferred_replica_election" not in state.znodes:
            partitions = [{"topic": "orders", "partition": p} for p in (0, 1)]
            await cluster.zk_create(
                "/admin/preferred_replica_election", json.dumps({"version": 1, "partitions": partitions})
            )
        case _, "delete" if "orders" in state.of_topics.topics and "orders" not in state.of_topics.deleting:
            await cluster.zk_create("/admin/delete_topics/orders", None)
        case _, "create" if "orders" not in state.of_topics.topics:
            await _create(cluster, "orders", rng)
        case _:
            await cluster.zk_set("/consumers", json.dumps({"touched": rng.random()}))


async def _create(cluster: Cluster, topic: str, rng: random.Random) -> None:
    lists = {"0": rng.choice(PLANS), "1": rng.choice(PLANS)}
    content = {"version": 2, "partitions": lists, "adding_replicas": {}, "removing_replicas": {}}
    await cluster.wait_until(
        lambda: None if "/brokers/topics" in cluster.state.znodes else "nobody has made /brokers/topics", 10_000
    )
    await cluster.zk_create(f"/brokers/topics/{topic}", json.dumps(content))
