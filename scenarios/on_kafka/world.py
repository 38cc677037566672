"""The world with real brokers: the wall clock, a real ZooKeeper of ours, and processes of a real Apache Kafka."""

import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.live_world import BlamedServers, keep_log, observe, servers_of
from kcsim.scenarios.on_kafka.admin_tools import KafkaAdminTools
from kcsim.scenarios.on_kafka.cluster import KafkaCluster, Place, session_owners
from kcsim.scenarios.on_kafka.feed import KafkaFeed
from kcsim.scenarios.on_kafka.log_tail import LogTail
from kcsim.scenarios.runs import ADMIN_CONNECT_TIMEOUT_MS, ADMIN_SESSION_TIMEOUT_MS, RunInfo, Subscribers, begin
from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
from kcsim.scenarios.scenario_cluster import ClusterSpec
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.files.ensemble_log import EnsembleLogTail
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.proxy import ZooKeeperProxy
from kcsim.zk.servers.guarded import Guarded
from kcsim.zk.servers.ports import ZooKeeperServers

LOG_DIRS = "log.dirs"
Script = Callable[[KafkaCluster], Coroutine[Any, Any, None]]


def run_on_kafka(
    kafka: KafkaInstallation,
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: Script,
    subscribers: Subscribers,
    zk_log: Path | None = None,
) -> EventLog:
    """Start a ZooKeeper and run a script on a cluster of real brokers on it; leave nothing behind.

    Args:
        choice: EMBEDDED or ENSEMBLE: it is ZooKeeper's transaction log that tells what the brokers do.
        zk_log: a data directory to keep that log in; only with one server.

    Raises: what the script raises; ServerError.
    """
    runtime = WallClockRuntime()
    log = EventLog(runtime.now_ms)

    async def main() -> None:
        servers = servers_of(choice, spec)
        try:
            await servers.start()
            runtime.restart_clock()
            began = begin(log, info, subscribers)
            await _run_on(servers, kafka, spec, runtime, log, script, began)
        finally:
            if zk_log is not None:
                keep_log(servers, zk_log)
            await servers.stop()

    runtime.run(main())
    return log


async def _run_on(
    servers: ZooKeeperServers,
    kafka: KafkaInstallation,
    spec: ClusterSpec,
    runtime: WallClockRuntime,
    log: EventLog,
    script: Script,
    began: int,
) -> None:
    guarded = Guarded(what="kafka")  # one for all brokers; what they write goes with it
    places = await _places(servers.connect_string, kafka, spec, guarded)
    directories = [d for d in map(servers.transaction_log_dir, servers.member_names) if d is not None]
    logs = LogTail((place.process.broker_id, place.process.logs) for place in places)
    feed = KafkaFeed(log, EnsembleLogTail(directories), logs, lambda: session_owners(places), wall_ms, began)
    log.follow_transactions(feed.catch_up)
    live = LiveZooKeeper(servers.connect_string, ledger=feed)
    admin = await live.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS, began)
    members = BlamedServers(servers, live)
    tools = KafkaAdminTools(kafka)
    settle = partial(feed.settle, admin)
    cluster = KafkaCluster(
        places, tools, feed.blame, settle, runtime, log, live, admin, members, wall_ms(), servers.connect_string
    )
    observer = runtime.spawn("observer", observe(runtime, admin, feed.look))
    try:
        await script(cluster)
    finally:
        observer.kill()
        await observer.join()
        log.append(SCENARIO, EventKind.RUN_ENDED, began, EventFields())
        await cluster.close()
        await admin.close()
        guarded.close()


def wall_ms() -> int:
    return int(time.time() * 1000)


async def _places(connect_string: str, kafka: KafkaInstallation, spec: ClusterSpec, guarded: Guarded) -> list[Place]:
    """A proxy and a process that is not started yet for each broker.

    Of the log directories in the settings only the number counts: where they are is each broker's own matter.
    """
    log_dirs = len(str(spec.settings.get(LOG_DIRS, "")).split(","))
    settings = {name: value for name, value in spec.settings.items() if name != LOG_DIRS}
    places = []
    for broker in spec.brokers:
        proxy = ZooKeeperProxy(connect_string)
        await proxy.start()
        directory = guarded.directory / broker.name
        process = KafkaBroker(
            kafka,
            broker.broker_id,
            broker.rack,
            settings,
            proxy.connect_string,
            directory,
            log_dirs=log_dirs,
            guarded=guarded,
        )
        places.append(Place(process, proxy))
    return places
