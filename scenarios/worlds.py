"""Which world a run lives in: virtual time and the model, or the wall clock and a real ZooKeeper. Chosen here only."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from kcsim.scenarios.cluster import ClusterSpec
from kcsim.scenarios.history import EventLog, KeptTrace
from kcsim.scenarios.runs import RunInfo, Script
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk.events import Event
from kcsim.zk.files.log_writer import LogWriter


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
        zk_log: a data directory in which the model of ZooKeeper keeps its transaction log, as a real one does. Only for
            SIMULATED: the others write their own.

    Raises: what the script raises; a ServerError or ZooKeeperUnavailableError when there is no ZooKeeper to be had;
        TraceError, before anything else when the trace cannot be opened, else after everything was closed;
        LogExistsError and OSError of zk_log, the former before anything else;
        KeyboardInterrupt after everything was closed.
    """
    writer = KeptTrace(trace) if trace else None
    subscribers = [s for s in (writer.write if writer else None, on_event) if s is not None]
    try:
        if choice.kind is ZooKeeperKind.SIMULATED:
            from kcsim.scenarios.simulated_world import run_simulated

            with LogWriter(zk_log) if zk_log else nullcontext() as kept:
                return run_simulated(choice.members, spec, info, script, subscribers, kept.write if kept else None)
        from kcsim.scenarios.live_world import run_live

        return run_live(choice, spec, info, script, subscribers)
    finally:
        if writer:
            writer.close()
