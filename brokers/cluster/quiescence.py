"""Detects that a run is quiescent: nothing has happened for a while, and no fault keeps a process waiting.

An observer of the event log. What clients write and read, operators' actions, and periodic activity (metrics, an automatic
rebalance that finds nothing to do) do not end quiescence.
"""

from collections.abc import Iterator, Mapping

from kcsim.brokers.network.client_link import ANSWER
from kcsim.eventlog.cluster_state import ENDED, ClusterState
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind

QUIET_PERIOD_MS = 8_000
"""How long nothing must have happened: longer than any pause of brokers and controller between two attempts, and than the
7.5 s after which a leader notifies the controller of a changed ISR."""

_ACTIVITY = frozenset(
    {
        *ZNODE_CHANGES,
        *(EventKind.SESSION_CREATED, EventKind.SESSION_CLOSED, EventKind.SESSION_STATE, EventKind.ZK_WRITE),
        *(EventKind.PROCESS_STATE, EventKind.BROKER_START_FAILED, EventKind.BROKER_REGISTERED),
        *(EventKind.ELECTION_STARTED, EventKind.ELECTION_WON, EventKind.ELECTION_LOST),
        *(EventKind.CONTROLLER_EVENT_FAILED, EventKind.CONTROLLER_FAILOVER, EventKind.CONTROLLER_RESIGNED),
        *(EventKind.PARTITION_STATE_CHANGE, EventKind.REPLICA_STATE_CHANGE, EventKind.STATE_CHANGE_FAILED),
        *(EventKind.REQUEST_SENT, EventKind.REQUEST_FAILED, EventKind.RESPONSE_RECEIVED, EventKind.REQUEST_REFUSED),
        *(EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER, EventKind.REPLICA_STOPPED, EventKind.RECORDS_TRUNCATED),
        *(EventKind.ISR_EXPANDED, EventKind.ISR_SHRUNK, EventKind.ISR_CHANGE_FAILED),
    }
)
_ON_FAULTS = frozenset(
    {
        *(EventKind.PROCESS_STATE, EventKind.LOG_DIR_FAILED, EventKind.FAULT_CONFIRMED, EventKind.ADMIN_ACT),
        *(EventKind.NETWORK_STALLED, EventKind.NETWORK_RESUMED, EventKind.NETWORK_CONNECTION_BROKEN),
    }
)
LONGEST_WAIT_MS = 40_000
"""After this time a process that waits for a response has given up, and has closed the connection."""
CLIENTS = ("producer-", "consumer-")
BROKER = "broker-"
PAUSED = "paused"
AWAY = ("dead", PAUSED)
"""The states of a ZooKeeper server that does not serve, and has to be started or resumed."""


class QuiescenceDetector:
    """Detects quiescence. It must see every event of one run, in order.

    Args:
        state: the state of the run's cluster; it has to apply each event before the detector sees the event.

    Attributes:
        last: the latest event that ended quiescence; None if there was none.
        cut_off: brokers that cannot reach ZooKeeper.
        without_disk, slow: brokers that have lost a log directory, and those that were made to replicate slowly.
        stalled: (sender, receiver) -> since when a message between them has not arrived.
        unanswered: (sender, receiver) -> since when a response is lost that the receiver may still wait for.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.last: Event | None = None
        self.cut_off: set[str] = set()
        self.without_disk: set[str] = set()
        self.slow: set[str] = set()
        self.stalled: dict[tuple[str, str], int] = {}
        self.unanswered: dict[tuple[str, str], int] = {}

    @property
    def paused(self) -> set[str]:
        """The brokers that are frozen."""
        return {name for name in _frozen(self._state.processes) if name.startswith(BROKER)}

    @property
    def paused_clients(self) -> set[str]:
        """The clients that are frozen."""
        return {name for name in _frozen(self._state.processes) if not name.startswith(BROKER)}

    def apply(self, event: Event) -> None:
        """Apply one event."""
        if event.kind in _ON_FAULTS:
            self._apply_to_faults(event)
        if event.kind in _ACTIVITY and not event.node.startswith(CLIENTS):
            self.last = event

    def _apply_to_faults(self, event: Event) -> None:
        match event.kind:
            case EventKind.PROCESS_STATE if event.state in ENDED:
                for troubled in (self.cut_off, self.without_disk, self.slow):
                    troubled.discard(event.node)
            case EventKind.LOG_DIR_FAILED:  # before FaultConfirmed, which waits until the controller was notified
                self.without_disk.add(event.node)
            case EventKind.NETWORK_STALLED:
                self.stalled.setdefault((event.node, event.target or ""), event.t_ms)
            case EventKind.NETWORK_RESUMED:
                self.stalled.pop((event.node, event.target or ""), None)
            case EventKind.NETWORK_CONNECTION_BROKEN:
                self.stalled.pop((event.node, event.target or ""), None)
                if (event.event or "").startswith(ANSWER) and is_between_brokers(event.node, event.target or ""):
                    self.unanswered[event.node, event.target or ""] = event.t_ms
            case EventKind.FAULT_CONFIRMED if event.fault == "disconnect":
                self.cut_off.add(event.target or "")
            case EventKind.FAULT_CONFIRMED if event.fault == "slow-follower":
                self.slow.add(event.target or "")
            case EventKind.ADMIN_ACT if event.op == "reconnect":
                self.cut_off.discard(event.target or "")
            case _:
                pass

    def quiet_ms(self, now_ms: int) -> int:
        """Return for how long nothing has happened; 0 while a broker may wait for a response that is lost."""
        if any(now_ms - since < LONGEST_WAIT_MS for since in self.unanswered.values()):
            return 0
        return now_ms - (self.last.t_ms if self.last else 0)

    def arrives_ms(self, now_ms: int) -> int:
        """Return the latest arrival time of all messages between brokers, if the network has no faults from now on.

        The pauses between retransmissions double, so a message arrives at the latest after twice the time it has taken so
        far.
        """
        between_brokers = (since for ends, since in self.stalled.items() if is_between_brokers(*ends))
        return max((2 * now_ms - since for since in between_brokers if now_ms - since < LONGEST_WAIT_MS), default=now_ms)

    def has_pending_waits(self) -> bool:
        """Return True if a process is frozen or cut off: it, or others that wait for it, have to continue later."""
        away = any(state in AWAY for state in self._state.servers.values())
        return bool(away or self.cut_off or self.paused)


def _frozen(processes: Mapping[str, str]) -> Iterator[str]:
    return (name for name, state in processes.items() if state == PAUSED)


def is_between_brokers(*ends: str) -> bool:
    return all(end.startswith(BROKER) for end in ends)
