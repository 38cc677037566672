"""Which world a run lives in: virtual time and the model, or the wall clock and a real ZooKeeper. Chosen here only.

On the wall clock, brokers can be those of a real Apache Kafka too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.scenarios.history import EventLog, KeptTrace
from kcsim.scenarios.runs import RunInfo, Script, Subscribers
from kcsim.scenarios.scenario_cluster import ClusterSpec
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk.events import Event
from kcsim.zk.files.log_writer import LogWriter

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.scenarios.on_kafka.world import Script as KafkaScript


def run_in_world(
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: Script,
    on_event: Callable[[Event], None] | None = None,
    trace: Path | None = None,
    zk_log: Path | None = None,
) -> EventLog:
    """Open a world, run the script on a cluster in it, close everything whatever happens, and return the event log.

    Args:
        on_event: called with each event as it happens.
        trace: where to keep the event log; Parquet if the name ends so, else JSONL.
        zk_log: a data directory in which ZooKeeper's transaction log is kept. Only for SIMULATED, and EMBEDDED with one
            member.

    Raises: what the script raises; a ServerError or ZooKeeperUnavailableError when there is no ZooKeeper to be had;
        TraceError, before anything else when the trace cannot be opened, else after everything was closed;
        LogExistsError and OSError of zk_log, the former before anything else;
        KeyboardInterrupt after everything was closed.
    """
    with _kept(trace, on_event) as subscribers:
        if choice.kind is ZooKeeperKind.SIMULATED:
            from kcsim.scenarios.simulated_world import run_simulated

            with LogWriter(zk_log) if zk_log else nullcontext() as kept:
                return run_simulated(choice.members, spec, info, script, subscribers, kept.write if kept else None)
        from kcsim.scenarios.live_world import run_live

        return run_live(choice, spec, info, script, subscribers, zk_log=zk_log)


def run_with_kafka(
    kafka: "KafkaInstallation",
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: "KafkaScript",
    on_event: Callable[[Event], None] | None = None,
    trace: Path | None = None,
    zk_log: Path | None = None,
) -> EventLog:
    """As run_in_world, with brokers of a real Apache Kafka on a real ZooKeeper of ours."""
    from kcsim.scenarios.on_kafka.world import run_on_kafka

    with _kept(trace, on_event) as subscribers:
        return run_on_kafka(kafka, choice, spec, info, script, subscribers, zk_log)


@contextmanager
def _kept(trace: Path | None, on_event: Callable[[Event], None] | None) -> Iterator[Subscribers]:
    """Those who are told of every event: the caller's own, and the trace, which is closed at the end."""
    writer = KeptTrace(trace) if trace else None
    try:
        yield [s for s in (writer.write if writer else None, on_event) if s is not None]
    finally:
        if writer:
            writer.close()
