"""The simulated world: virtual time, and ZooKeeper's model. The same seed gives the same bytes."""

import random

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.network import SIMULATED_DELAY_MS
from kcsim.scenarios.runs import ADMIN_CONNECT_TIMEOUT_MS, ADMIN_SESSION_TIMEOUT_MS, RunInfo, Script, Subscribers, begin
from kcsim.scenarios.runtimes.simulated import SimulatedRuntime
from kcsim.scenarios.scenario_cluster import ClusterSpec
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.journal import Write

EPOCH_MS = 1_577_836_800_000
"""2020-01-01: when every virtual run begins."""


def run_simulated(
    members: int, spec: ClusterSpec, info: RunInfo, script: Script, subscribers: Subscribers, keep: Write | None = None
) -> EventLog:
    """Run a script on a cluster in virtual time. Raises: what the script raises; DeadlockError.

    Args:
        keep: called with each of ZooKeeper's transactions.
    """
    runtime = SimulatedRuntime()
    log = EventLog(runtime.now_ms)
    began = begin(log, info, subscribers)
    zookeeper = MemoryZooKeeper(
        runtime,
        log.sink("zookeeper"),
        random.Random(info.seed),
        members=members,
        tick_time_ms=spec.tick_time_ms,
        max_session_timeout_ms=spec.max_session_timeout_ms,
        epoch_ms=EPOCH_MS,
        keep=keep,
    )

    async def main() -> None:
        admin = await zookeeper.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS, began)
        await script(Cluster(spec, runtime, log, zookeeper, admin, zookeeper, EPOCH_MS, SIMULATED_DELAY_MS))
        log.append(SCENARIO, EventKind.RUN_ENDED, began, EventFields())

    runtime.run(main())
    return log
