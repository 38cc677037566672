"""Runs a script in an environment: virtual time and ZooKeeper's model, or wall-clock time and a real ZooKeeper.

The environment is chosen here only. On the wall clock, brokers can also be processes of their own, or of a real Kafka.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.run_setup import RunInfo, Script, Subscribers
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import EventLog, FailSafeTraceWriter
from kcsim.eventlog.events import Event
from kcsim.zk.files.log_writer import LogWriter

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.brokers.cluster.processes.process_environment import ProcessScript


def run_in_environment(
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: Script,
    on_event: Callable[[Event], None] | None = None,
    trace: Path | None = None,
    zk_log: Path | None = None,
) -> EventLog:
    """Open an environment, run the script on a cluster in it, close everything in any case, and return the event log.

    Args:
        on_event: called with each event as it happens.
        trace: a file to write the event log to; Parquet if the name ends so, else JSONL.
        zk_log: a data directory in which ZooKeeper's transaction log is kept. Only for SIMULATED, and EMBEDDED with one
            member.

    Raises: what the script raises; a ServerError or ZooKeeperUnavailableError when no ZooKeeper is available;
        TraceWriteError, before anything else when the trace cannot be opened, else after everything was closed;
        LogExistsError and OSError of zk_log, the former before anything else;
        KeyboardInterrupt after everything was closed.
    """
    with _kept(trace, on_event) as subscribers:
        if choice.kind is ZooKeeperKind.SIMULATED:
            from kcsim.brokers.cluster.simulated_environment import run_simulated

            with LogWriter(zk_log) if zk_log else nullcontext() as kept:
                return run_simulated(choice.members, spec, info, script, subscribers, kept.write if kept else None)
        from kcsim.brokers.cluster.live_environment import run_live

        return run_live(choice, spec, info, script, subscribers, zk_log=zk_log)


def run_with_kafka(
    kafka: "KafkaInstallation",
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: "ProcessScript",
    on_event: Callable[[Event], None] | None = None,
    trace: Path | None = None,
    zk_log: Path | None = None,
) -> EventLog:
    """Run a script like run_in_environment, with brokers of a real Apache Kafka on a real ZooKeeper that the run starts."""
    from kcsim.brokers.cluster.processes.kafka_environment import run_on_kafka

    with _kept(trace, on_event) as subscribers:
        return run_on_kafka(kafka, choice, spec, info, script, subscribers, zk_log)


def run_with_processes(
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: "ProcessScript",
    on_event: Callable[[Event], None] | None = None,
    trace: Path | None = None,
    zk_log: Path | None = None,
) -> EventLog:
    """Run a script like run_in_environment, with simulated brokers in processes of their own on a real ZooKeeper."""
    from kcsim.brokers.cluster.processes.simulated_process_environment import run_on_simulated_processes

    with _kept(trace, on_event) as subscribers:
        return run_on_simulated_processes(choice, spec, info, script, subscribers, zk_log=zk_log)


@contextmanager
def _kept(trace: Path | None, on_event: Callable[[Event], None] | None) -> Iterator[Subscribers]:
    """Yield the subscribers to all events: the trace, which is closed at the end, and the caller's own."""
    writer = FailSafeTraceWriter(trace) if trace else None
    try:
        yield [s for s in (writer.write if writer else None, on_event) if s is not None]
    finally:
        if writer:
            writer.close()
