"""Notices when the process of a live run was not scheduled for so long that sessions may have expired for that reason.

A machine that starves or suspends this process causes the same events as a fault: sessions expire, another controller is
elected. Such a run says so (RunStalled), and an expectation that is violated in it is undecided.
"""

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, SCENARIO
from kcsim.runtime.ports import Runtime

WAKE_UPS_PER_SESSION = 20
"""How often the watch wakes up while a session lasts: it measures a stall to a twentieth of the session time-out."""


async def watch_for_stalls(runtime: Runtime, log: EventLog, session_timeout_ms: int, node: str = SCENARIO) -> None:
    """Append RunStalled whenever this task wakes up two thirds of a session time-out late. Never returns.

    ZooKeeper's clients send a heartbeat every third of the time-out: without the next two thirds the session may be over.

    Args:
        node: of the event: the broker, if this process is one broker's.
    """
    pause_ms = max(1, session_timeout_ms // WAKE_UPS_PER_SESSION)
    while True:
        due_ms = runtime.now_ms() + pause_ms
        await runtime.sleep_ms(pause_ms)
        late_ms = runtime.now_ms() - due_ms
        if 3 * late_ms > 2 * session_timeout_ms:
            detail = f"a broker's session lasts {session_timeout_ms} ms without a heartbeat"
            log.append(node, EventKind.RUN_STALLED, RUN_STARTED_SEQ, EventFields(duration_ms=late_ms, detail=detail))


def stall_text(state: ClusterState) -> str | None:
    """Return one clause that says why the machine may have caused a run's events; None if the run never stalled."""
    if not state.longest_stall_ms:
        return None
    return f"this process was not scheduled for {state.longest_stall_ms} ms, so that sessions may have expired"
