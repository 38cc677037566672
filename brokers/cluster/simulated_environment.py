"""The simulated environment: virtual time and ZooKeeper's model. The same seed gives the same bytes."""

import random
from collections.abc import Mapping
from types import MappingProxyType

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.environment import ClusterEnvironment
from kcsim.brokers.cluster.run_setup import (
    ADMIN_CONNECT_TIMEOUT_MS,
    ADMIN_SESSION_TIMEOUT_MS,
    RunInfo,
    Script,
    Subscribers,
    begin_run,
)
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.network.network import SIMULATED_DELAY_MS
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.journal import TransactionWriter
from kcsim.zk.memory.settings import ModelSettings

EPOCH_MS = 1_577_836_800_000
"""2020-01-01: the start of every simulated run."""
NO_DISKS: Mapping[str, Disk] = MappingProxyType({})


def run_simulated(
    members: int,
    spec: ClusterSpec,
    info: RunInfo,
    script: Script,
    subscribers: Subscribers,
    keep: TransactionWriter | None = None,
    runtime: SimulatedRuntime | None = None,
    disks: Mapping[str, Disk] = NO_DISKS,
) -> EventLog:
    """Run a script on a cluster in virtual time. Raises: what the script raises; DeadlockError.

    Args:
        keep: called with each of ZooKeeper's transactions.
        runtime: a runtime that has not been used; None: an ordinary one.
        disks: by broker, those that hold logs before the run; the other brokers have empty ones.
    """
    runtime = runtime or SimulatedRuntime()
    log = EventLog(runtime.now_ms)
    began = begin_run(log, info, spec, subscribers)
    zookeeper = MemoryZooKeeper(
        runtime,
        log.sink("zookeeper"),
        random.Random(info.seed),
        ModelSettings(members, spec.tick_time_ms, max_session_timeout_ms=spec.max_session_timeout_ms, epoch_ms=EPOCH_MS),
        keep=keep,
    )

    async def main() -> None:
        admin = await zookeeper.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS, began)
        environment = ClusterEnvironment(runtime, log, zookeeper, admin, zookeeper, EPOCH_MS, disks=disks)
        await script(Cluster(spec, environment, SIMULATED_DELAY_MS))
        log.append(SCENARIO, EventKind.RUN_ENDED, began, EventFields())

    runtime.run(main())
    return log
