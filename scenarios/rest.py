"""Whether a run is at rest: nothing has happened for a while, and nothing that was done to it makes anybody wait.

An observer of the event log. What clients write and read, what is done by operators, and what is looked at by the clock
(metrics, the automatic rebalance that finds nothing to do) disturbs no rest.
"""

from kcsim.scenarios.deeds import RUN_BEGAN
from kcsim.scenarios.network import ANSWER
from kcsim.zk.events import Event, EventKind

REST_MS = 8_000
"""Nothing has happened for so long: more than any pause of brokers and controller between two attempts, and than the 7.5 s
after which a leader tells the controller of an ISR that it has changed."""

_UNREST = frozenset(
    {
        *(EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED),
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
LONGEST_WAIT_MS = 40_000
"""Whoever has waited for an answer for so long has given it up, and the connection with it."""
CLIENTS = ("producer-", "consumer-")
BROKER = "broker-"


class Rest:
    """Feed it every event of one run, in order.

    Attributes:
        last: the latest event that disturbed the rest; None if there was none.
        paused, paused_clients: brokers and clients that are frozen.
        cut_off: brokers that cannot reach ZooKeeper.
        without_disk, slow: brokers that have lost a log directory, and those that were made to replicate slowly.
        away: servers of ZooKeeper that are dead or frozen.
        stalled: since when something that one broker sends to another does not arrive.
        unanswered: by sender and receiver, since when an answer is lost that the receiver waits for, for all it knows.
    """

    def __init__(self) -> None:
        self.last: Event | None = None
        self.paused: set[str] = set()
        self.paused_clients: set[str] = set()
        self.cut_off: set[str] = set()
        self.without_disk: set[str] = set()
        self.slow: set[str] = set()
        self.away: dict[str, str] = {}
        self.stalled: dict[tuple[str, str], int] = {}
        self.unanswered: dict[tuple[str, str], int] = {}

    def apply(self, event: Event) -> None:
        """Take one event in."""
        match event.kind:
            case EventKind.PROCESS_STATE:
                paused = self.paused if event.node.startswith(BROKER) else self.paused_clients
                (paused.add if event.state == "paused" else paused.discard)(event.node)
                if event.state in ("dead", "stopped"):
                    for troubled in (self.cut_off, self.without_disk, self.slow):
                        troubled.discard(event.node)
            case EventKind.LOG_DIR_FAILED:  # before it is confirmed, which waits until the controller has been told
                self.without_disk.add(event.node)
            case EventKind.NETWORK_STALLED:
                self.stalled.setdefault((event.node, event.target or ""), event.t_ms)
            case EventKind.NETWORK_RESUMED:
                self.stalled.pop((event.node, event.target or ""), None)
            case EventKind.NETWORK_CONNECTION_BROKEN:
                self.stalled.pop((event.node, event.target or ""), None)
                if (event.event or "").startswith(ANSWER) and is_between_brokers(event.node, event.target or ""):
                    self.unanswered[event.node, event.target or ""] = event.t_ms
            case EventKind.FAULT_CONFIRMED:
                self._confirmed(event)
            case EventKind.ADMIN_ACT:
                if event.op == "reconnect":
                    self.cut_off.discard(event.target or "")
            case _:
                pass
        if event.kind in _UNREST and not event.node.startswith(CLIENTS):
            self.last = event

    def _confirmed(self, event: Event) -> None:
        target = event.target or ""
        if (troubled := {"disconnect": self.cut_off, "slow-follower": self.slow}.get(event.fault or "")) is not None:
            troubled.add(target)
        elif target.startswith("member-"):
            if event.fault in ("kill", "pause"):
                self.away[target] = event.fault
            else:
                self.away.pop(target, None)

    def quiet_ms(self, now_ms: int) -> int:
        """For how long nothing has happened; not at all while somebody waits for an answer that is lost."""
        if any(now_ms - since < LONGEST_WAIT_MS for since in self.unanswered.values()):
            return 0
        return now_ms - (self.last.t_ms if self.last else RUN_BEGAN)

    def arrives_ms(self, now_ms: int) -> int:
        """When everything that brokers send to each other has arrived at the latest, if the network is well from now on.

        It is sent again after pauses that double, so at the latest when it has been on its way for twice as long as by now.
        """
        between_brokers = (since for ends, since in self.stalled.items() if is_between_brokers(*ends))
        return max((2 * now_ms - since for since in between_brokers if now_ms - since < LONGEST_WAIT_MS), default=now_ms)

    def somebody_waits(self) -> bool:
        """Whether somebody is frozen or cut off: what they wait for, or what waits for them, is still to come."""
        return bool(self.paused or self.cut_off or self.away)


def is_between_brokers(*ends: str) -> bool:
    return all(end.startswith(BROKER) for end in ends)
