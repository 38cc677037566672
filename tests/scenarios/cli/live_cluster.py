"""The znodes of a cluster on the suite's real ZooKeeper, for the admin commands: lasting brokers, topics, recordings."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from kcsim import znodes
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.cli.app import app
from kcsim.vocabulary import (
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicState,
    ZkVersion,
)
from kcsim.zk.capture.live_dump import dump
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Create, Created, Request
from kcsim.znodes import paths

TRACES = Path(__file__).parents[2] / "conformance" / "traces"
PATIENCE_MS = 300_000
SESSION_MS = 30_000
Znodes = Mapping[str, str | None]
"""Path -> data of a znode."""

_chroots = count(1)


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@dataclass(frozen=True)
class LiveCluster:
    """A chroot of its own with the znodes of a cluster below it."""

    connect: str

    def znodes(self) -> dict[str, str | None]:
        return {path: node.data for path, node in dump(self.connect, "/").items()}

    def run(self, command: str, *arguments: str) -> Result:
        """Run a command of kcsim on this cluster."""
        return kcsim(command, "--zookeeper", self.connect, *arguments)


def live_cluster(servers: str, has: Znodes) -> LiveCluster:
    """Create a cluster from these znodes and those that every broker creates."""
    wanted: dict[str, str | None] = dict.fromkeys(path for top in paths.TOP_LEVEL_PATHS for path in paths.lineage(top))
    for path, data in has.items():
        wanted |= {above: None for above in paths.lineage(path)[:-1] if above not in wanted and above not in has}
        wanted[path] = data
    return LiveCluster(_created(servers, wanted))


def new_chroot(servers: str, *below: str) -> str:
    """Create a new chroot with these znodes below it, each after its parent; return its connect string."""
    return _created(servers, dict.fromkeys(below))


def _created(servers: str, wanted: Znodes) -> str:
    chroot = f"/admin-{next(_chroots)}"
    creates: list[Request] = [Create(chroot)]
    creates += [Create(chroot + path, None if data is None else data.encode()) for path, data in sorted(wanted.items())]

    async def write() -> None:
        session = await LiveZooKeeper(servers).open_session(SESSION_MS, lambda _: None, PATIENCE_MS)
        replies = await session.call(creates)
        await session.close()
        assert all(isinstance(reply, Created) for reply in replies), replies

    WallClockRuntime().run(write())
    return servers + chroot


def brokers(*ids: int, racks: Mapping[int, str] | None = None) -> dict[str, str | None]:
    """Return broker registrations, to be created without an owning session, so that they stay."""
    found: dict[str, str | None] = {}
    for broker in map(BrokerId, ids):
        info = BrokerInfo(broker, (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),), (racks or {}).get(broker))
        found[paths.broker_id(broker)] = znodes.encode_broker(info).decode()
    return found


def topic(name: str, assignment: Mapping[int, ReplicaAssignment], config: Mapping[str, str] | None = None) -> Znodes:
    return {
        paths.topic(name): znodes.encode_topic(TopicState(assignment)).decode(),
        paths.topic_config(name): znodes.encode_config(config or {}).decode(),
    }


def led(name: str, partition: int, leader: int | None, isr: Iterable[int]) -> Znodes:
    """Return the state znode of a partition."""
    by = None if leader is None else BrokerId(leader)
    state = LeaderAndIsr(by, LeaderEpoch(0), tuple(map(BrokerId, isr)), ZkVersion(0))
    data = znodes.encode_partition_state(PartitionState(state, ControllerEpoch(1))).decode()
    return {f"{paths.topic_partitions(name)}/{partition}/state": data}


def on(*replicas: int, adding: Iterable[int] = (), removing: Iterable[int] = ()) -> ReplicaAssignment:
    return ReplicaAssignment(*(tuple(map(BrokerId, ids)) for ids in (replicas, adding, removing)))


# --- recordings of Apache Kafka 2.8.2 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """A step of a recording, and the znodes before it, including the registrations of live brokers."""

    step: Mapping[str, Any]
    before: Znodes

    @property
    def printed(self) -> list[str]:
        lines: list[str] = self.step["outcome"]["out"]
        return lines

    @property
    def exit_status(self) -> int:
        status: int = self.step["outcome"]["rc"]
        return status

    @property
    def admin_writes(self) -> dict[str, Any]:
        return {w["path"]: parsed(w["data"]) for w in self.step["writes"] if w["by"] == "admin"}


def recorded(file: str, index: int) -> Recorded:
    trace = json.loads((TRACES / file).read_text(encoding="utf-8"))
    alive = set(trace["brokers"])
    before: dict[str, str | None] = {}
    for step in trace["steps"][:index]:
        alive -= {int(name.rpartition("-")[2]) for name in step.get("sessions_closed", ())}
        for write in step["writes"]:
            if write["op"] == "register":
                alive.add(int(paths.name(write["path"])))
            elif write["op"] == "delete":
                before.pop(write["path"])
            else:
                before[write["path"]] = write["data"]
    return Recorded(trace["steps"][index], {**before, **brokers(*alive)})


def parsed(data: str | None) -> Any:
    return None if data is None else json.loads(data)
