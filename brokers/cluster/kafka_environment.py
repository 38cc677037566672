"""The environment with real brokers: wall-clock time, a real ZooKeeper that the run starts, and Apache Kafka processes."""

import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.apache_kafka.log_feed.log_tail import LogTail
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec
from kcsim.brokers.cluster.admin_tools import KafkaAdminTools
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.environment import ClusterEnvironment
from kcsim.brokers.cluster.kafka_feed import KafkaFeed
from kcsim.brokers.cluster.live_environment import FaultAttributingServers, keep_log, observed, servers_of
from kcsim.brokers.cluster.process_cluster import ProcessCluster, ProcessObserver, ProcessSlot, session_owners
from kcsim.brokers.cluster.proxied_network import ProxiedNetwork
from kcsim.brokers.cluster.run_setup import (
    ADMIN_CONNECT_TIMEOUT_MS,
    ADMIN_SESSION_TIMEOUT_MS,
    RunInfo,
    Subscribers,
    begin_run,
)
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.zk.files.ensemble_log import EnsembleLogTail
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.proxy import ZooKeeperProxy
from kcsim.zk.servers.free_ports import free_ports
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.zk.servers.ports import ZooKeeperServers

LOG_DIRS = "log.dirs"
Script = Callable[[ProcessCluster], Coroutine[Any, Any, None]]


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
        choice: EMBEDDED or ENSEMBLE: the brokers' actions are read from ZooKeeper's transaction log.
        zk_log: a data directory to copy that log to; only with one server.

    Raises: what the script raises; ServerError.
    """
    runtime = WallClockRuntime()
    log = EventLog(runtime.now_ms)

    async def main() -> None:
        servers = servers_of(choice, spec)
        try:
            await servers.start()
            runtime.restart_clock()
            began = begin_run(log, info, spec, subscribers)
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
    guarded = GuardedProcesses(what="kafka")  # one for all brokers; their files are deleted with it
    network = ProxiedNetwork() if spec.listener_proxies else None
    slots = await _slots(servers.connect_string, kafka, spec, guarded, network)
    directories = [d for d in map(servers.transaction_log_dir, servers.member_names) if d is not None]
    logs = LogTail((slot.process.broker_id, slot.process.logs) for slot in slots)
    feed = KafkaFeed(log, EnsembleLogTail(directories), logs, lambda: session_owners(slots), wall_ms, began)
    log.follow_transactions(feed.catch_up)
    live = LiveZooKeeper(servers.connect_string, ledger=feed.ledger)
    admin = await live.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS, began)
    members = FaultAttributingServers(servers, live)
    tools = KafkaAdminTools(kafka)
    environment = ClusterEnvironment(runtime, log, live, admin, members, wall_ms())
    settle = partial(feed.settle, admin)
    observer = ProcessObserver(feed.attribute_session_end, settle)
    cluster = ProcessCluster(environment, slots, tools, observer, servers.connect_string)
    if network is not None:
        cluster.inject_faults_into(network)
    try:
        async with observed(runtime, log, spec, partial(feed.look, admin)):
            await script(cluster)
    finally:
        await cluster.close()
        if network is not None:
            await network.stop()
        await admin.close()
        guarded.close()


def wall_ms() -> int:
    return int(time.time() * 1000)


async def _slots(
    connect_string: str,
    kafka: KafkaInstallation,
    spec: ClusterSpec,
    guarded: GuardedProcesses,
    network: ProxiedNetwork | None,
) -> list[ProcessSlot]:
    """Return a slot for each broker, with a started proxy to ZooKeeper, one in front of its listener if there is a network,
    and a process that is not started yet.

    Of the setting log.dirs only the number of directories counts: each broker has directories of its own.
    """
    log_dirs = len(str(spec.settings.get(LOG_DIRS, "")).split(","))
    slots = []
    for broker in spec.brokers:
        proxy = ZooKeeperProxy(connect_string)
        await proxy.start()
        directory = guarded.directory / broker.name
        own = {name: value for name, value in spec.settings_of(broker).items() if name != LOG_DIRS}
        port = free_ports(1)[0]
        advertised = None if network is None else (await network.open_proxy(broker.name, port)).port
        broker_spec = KafkaBrokerSpec(broker.broker_id, proxy.connect_string, own, broker.rack, log_dirs, advertised)
        process = KafkaBroker(kafka, broker_spec, directory, port, guarded)
        slots.append(ProcessSlot(process, proxy))
    return slots
