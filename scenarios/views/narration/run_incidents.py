"""The incidents of a run: what failed in it and what was done to it, each with its end if it had one.

A fault counts from the moment at which it took effect. What every run begins with (starting brokers, creating topics,
writing records) is no incident; a run in which nothing else happens is described by its preparations.
"""

from dataclasses import dataclass, field, replace

from kcsim.eventlog.cluster_state import BELOW_BROKER_IDS, ENDED, SERVER_PREFIX, ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.node_names import consumer_node
from kcsim.vocabulary import TopicPartition

BROKER_PREFIX = "broker-"
CONSUMER_PREFIX = consumer_node("")
PRODUCER_PREFIX = "producer-"
EVERYTHING = "everything else"

INJECT_ERROR = "inject-error"
NETWORK_FAULTS = ("partition", "slow-link", "lossy-link")
"""Faults of links that last until they are healed."""
ACTIONS_OF_NOTE = frozenset(
    {
        *("delete-topic", "add-partitions", "reassign", "alter-partition-reassignments", "elect-preferred", "elect-leaders"),
        *("set-config", "create-topic"),
    }
)
"""Actions that are incidents; the creation of a topic only after consumers have started or something else has happened."""
NOTIFICATIONS = ("/isr_change_notification/", "/log_dir_event_notification/")
"""Znodes that brokers create to notify the controller; created by hand, they only make it act."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident.

    Attributes:
        what: froze, killed, stopped, unregistered, expired, disconnected, the name of another fault or of an action, or the
            operation on a znode by hand.
        subjects: the nodes that it happened to, a topic, a partition, or the path of a znode.
        seq, t_ms: the event that was its effect.
        others: of a network fault, the nodes at the other end of the links.
        both_ways: of a network fault, whether messages in both directions are concerned.
        was_controller: whether the node was the controller at that moment.
        led: the partitions that the node led.
        count: of an action, the number of partitions.
        until_ms: when the process was started again or resumed, the connection restored, or the link healed; None: never.
    """

    what: str
    subjects: tuple[str, ...]
    seq: int
    t_ms: int
    others: tuple[str, ...] = ()
    both_ways: bool = False
    was_controller: bool = False
    led: tuple[str, ...] = ()
    count: int = 0
    until_ms: int | None = None


@dataclass
class Incidents:
    """The incidents of a run, in order. Call `see` before the state has applied an event.

    Attributes:
        found: the incidents.
        preparations: topics, producers and consumers of the run in words of the actions that made them.
        faults: how many faults were injected or armed, whether or not they had an effect.
    """

    state: ClusterState
    found: list[Incident] = field(default_factory=list)
    preparations: list[Incident] = field(default_factory=list)
    faults: int = 0
    _open_on_links: list[int] = field(default_factory=list)  # indices of the network faults since the last heal
    _lasting: dict[str, int] = field(default_factory=dict)  # what ends together -> the incident's index
    _answered: set[int | None] = field(default_factory=set)  # the injected errors that an answer has carried

    def see(self, event: Event) -> None:
        """Add the event if it is an incident, or note that it ends one."""
        self.faults += event.kind is EventKind.FAULT
        match event.kind:
            case EventKind.PROCESS_STATE:
                self._see_process(event)
            case EventKind.FAULT if event.breakpoint is None:
                self._see_fault(event)
            case EventKind.FAULT_CONFIRMED if event.fault == INJECT_ERROR and event.cause not in self._answered:
                self._answered.add(event.cause)
                self._add(event, INJECT_ERROR, (event.target or "",))
            case EventKind.NETWORK_CONNECTION_BROKEN if event.rule == "armed":
                self._add(event, "break-connections", (event.node,), others=(event.target or "",))
            case EventKind.LOG_DIR_FAILED if event.path is not None:
                self._add(event, "fail-log-dir", (event.node,))
            case EventKind.ADMIN_ACT:
                self._see_action(event)
            case EventKind.ZNODE_CREATED | EventKind.ZNODE_DELETED if not self.state.processes:
                self._see_registration(event)
            case _:
                pass

    def _see_process(self, event: Event) -> None:
        node, before = event.node, self.state.processes.get(event.node)
        match event.state:
            case "running":
                self._end(node, event)
            case "paused":
                self._add(event, "froze", (node,), lasts_as=node)
            case "dead":
                self._end(node, event)
                self._add(event, "killed", (node,), lasts_as=node)
            case "stopped" if before not in (None, *ENDED) and node not in self._lasting:
                self._add(event, "stopped", (node,), lasts_as=node)
            case _:
                pass

    def _see_registration(self, event: Event) -> None:
        """Follow the registrations of brokers in a log that does not have their processes, such as an import."""
        name = (event.path or "").removeprefix(BELOW_BROKER_IDS)
        if not name.isdigit():
            return
        node = f"{BROKER_PREFIX}{name}"
        if event.kind is EventKind.ZNODE_CREATED:
            self._end(node, event)
        else:
            self._add(event, "unregistered", (node,), lasts_as=node)

    def _see_fault(self, event: Event) -> None:
        fault, targets = event.fault or "", tuple((event.target or "").split(", "))
        if targets[0].startswith(SERVER_PREFIX):
            if fault in ("start", "resume"):
                self._end(targets[0], event)
            else:
                what = {"kill": "killed", "stop": "stopped", "pause": "froze"}.get(fault, fault)
                self._add(event, what, targets, lasts_as=targets[0])
        elif fault in NETWORK_FAULTS:
            ends = tuple(event.sources or (EVERYTHING,)), tuple(event.targets or (EVERYTHING,))
            self._open_on_links.append(len(self.found))
            self._add(event, fault, ends[0], others=ends[1], both_ways=bool(event.both_ways))
        elif fault == "disconnect":
            self._add(event, "disconnected", targets, lasts_as=f"{targets[0]} disconnected")
        elif fault == "expire":
            self._add(event, "expired", targets)
        elif fault == "break-connections":
            ends = tuple(event.sources or (EVERYTHING,)), tuple(event.targets or (EVERYTHING,))
            self._add(event, fault, ends[0], others=ends[1])
        elif fault in ("stall", "slow-follower"):
            self._add(event, fault, targets)

    def _see_action(self, event: Event) -> None:
        op, target = event.op or "", event.target or ""
        if event.path is not None:
            if not event.path.startswith(NOTIFICATIONS):
                self._add(event, f"{op} by hand", (event.path,))
        elif op == "stop" and target.startswith(BROKER_PREFIX):
            self._add(event, "stopped", (target,), lasts_as=target)
        elif op == "reconnect":
            self._end(f"{target} disconnected", event)
        elif op == "heal":
            if len(self._open_on_links) == 1:  # of several, the event does not say which it ends
                self._set_end(self._open_on_links[0], event)
            self._open_on_links.clear()
        elif op == "slow-follower":
            self._add(event, op, tuple(target.split(", ")))
        elif op in ACTIONS_OF_NOTE:
            is_early = op == "create-topic" and not self.found and not self.state.of_consumers.groups
            named = event.topic if event.partition is None else str(TopicPartition(event.topic or "", event.partition))
            made = Incident(op, (named or "",), event.seq, event.t_ms, count=event.count or 0)
            (self.preparations if is_early else self.found).append(made)
        elif op in ("produce", "start-workload", "start-consumers"):
            self.preparations.append(Incident(op, tuple(target.split(", ")), event.seq, event.t_ms))

    def _add(
        self,
        event: Event,
        what: str,
        subjects: tuple[str, ...],
        *,
        lasts_as: str | None = None,
        others: tuple[str, ...] = (),
        both_ways: bool = False,
    ) -> None:
        made = Incident(what, subjects, event.seq, event.t_ms, others, both_ways)
        if len(subjects) == 1 and subjects[0].startswith(BROKER_PREFIX):
            made = self._with_roles(made, subjects[0])
        if lasts_as is not None:
            self._lasting[lasts_as] = len(self.found)
        self.found.append(made)

    def _with_roles(self, made: Incident, node: str) -> Incident:
        broker = int(node.removeprefix(BROKER_PREFIX))
        topics = self.state.of_topics
        led = tuple(str(partition) for partition in topics.partitions() if topics.leader(partition) == broker)
        return replace(made, was_controller=self.state.controller_id == broker, led=led)

    def _end(self, lasting: str, event: Event) -> None:
        index = self._lasting.pop(lasting, None)
        if index is not None:
            self._set_end(index, event)

    def _set_end(self, index: int, event: Event) -> None:
        self.found[index] = replace(self.found[index], until_ms=event.t_ms)
