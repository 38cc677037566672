"""The cluster at one point of a trace, and for what it says the events that made it so.

The state itself is the event log's one fold; this adds which event each part of it comes from.
"""

from dataclasses import dataclass, field

from kcsim import znodes
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.state_changes import (
    ControllerChanged,
    PartitionChanged,
    ProcessChanged,
    RegistrationChanged,
    TopicChanged,
)
from kcsim.scenarios.views.state_questions.pending_records import PendingRecords
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import BadZnodeError, paths

HEAL = "heal"


def since(event: Event | None) -> str:
    """Return " since #12, 3.456 s", or nothing if no event shows it."""
    return "" if event is None else f" since #{event.seq}, {event.t_ms / 1000:.3f} s"


def _ignore(path: str, reason: str) -> None:
    """Ignore a malformed setting, as the fold of the cluster's state does."""


@dataclass
class ClusterEvidence:
    """The state, and per subject the latest event about it. `see` takes the events in order.

    Attributes:
        processes, registrations: the event of the latest change, per node and per broker.
        controller: the latest change of /controller.
        partitions: the latest change of each partition's state znode.
        isr_exits: (partition, broker) -> the change by which the broker left the ISR.
        exit_troubles: (partition, broker) -> the network fault between the leader and the broker when it left the ISR.
        elections, deletions, reassignments: the latest event about each partition or topic.
        cuts: network faults in force.
        stalls: (sender, receiver) -> the event since which its messages do not arrive.
        unclean_default: the controller's unclean.leader.election.enable; None if the trace does not say.
        partitions_ever, topics_ever: all that have existed, for hints.
        brokers_ever: the brokers that an assignment or ISR has named.
    """

    state: ClusterState = field(default_factory=ClusterState)
    records: PendingRecords = field(default_factory=PendingRecords)
    processes: dict[str, Event] = field(default_factory=dict)
    registrations: dict[int, Event] = field(default_factory=dict)
    controller: Event | None = None
    partitions: dict[TopicPartition, Event] = field(default_factory=dict)
    isr_exits: dict[tuple[TopicPartition, int], Event] = field(default_factory=dict)
    exit_troubles: dict[tuple[TopicPartition, int], tuple[str, Event]] = field(default_factory=dict)
    elections: dict[TopicPartition, Event] = field(default_factory=dict)
    deletions: dict[str, Event] = field(default_factory=dict)
    reassignments: dict[TopicPartition, Event] = field(default_factory=dict)
    cuts: list[Event] = field(default_factory=list)
    stalls: dict[tuple[str, str], Event] = field(default_factory=dict)
    unclean_default: bool | None = None
    partitions_ever: set[TopicPartition] = field(default_factory=set)
    topics_ever: set[str] = field(default_factory=set)
    brokers_ever: set[int] = field(default_factory=set)

    def see(self, event: Event) -> None:
        """Apply one event."""
        self.state.apply(event)
        self.records.see(event)
        self._follow_changes(event)
        match event.kind:
            case EventKind.LEADER_ELECTION | EventKind.PARTITION_REASSIGNMENT:
                partition = TopicPartition(event.topic or "", event.partition or 0)
                is_election = event.kind is EventKind.LEADER_ELECTION
                (self.elections if is_election else self.reassignments)[partition] = event
            case EventKind.TOPIC_DELETION:
                self.deletions[event.topic or ""] = event
            case EventKind.CONTROLLER_FAILOVER if event.unclean_leader_election_enable is not None:
                self.unclean_default = event.unclean_leader_election_enable
            case EventKind.NETWORK_STALLED:
                self.stalls.setdefault((event.node, event.target or ""), event)
            case EventKind.NETWORK_RESUMED:
                self.stalls.pop((event.node, event.target or ""), None)
            case EventKind.FAULT | EventKind.ADMIN_ACT if HEAL in (event.fault, event.op):
                self.cuts.clear()
            case EventKind.FAULT if event.sources is not None or event.targets is not None:
                self.cuts.append(event)
            case _:
                pass

    def _follow_changes(self, event: Event) -> None:
        for change in self.state.changes:
            match change:
                case ProcessChanged(node):
                    self.processes[node] = event
                case RegistrationChanged(broker):
                    self.registrations[broker] = event
                case ControllerChanged():
                    self.controller = event
                case TopicChanged(topic, _, after):
                    self.topics_ever.add(topic)
                    for assignment in after.assignments.values() if after else ():
                        self.brokers_ever.update(assignment.replicas)
                    self.partitions_ever.update(TopicPartition(topic, n) for n in (after.assignments if after else ()))
                case PartitionChanged(partition, before, after):
                    self.partitions[partition] = event
                    self.partitions_ever.add(partition)
                    isr = after.leader_and_isr.isr if after else ()
                    self.brokers_ever.update(isr)
                    for broker in before.leader_and_isr.isr if before else ():
                        if broker not in isr:
                            self._note_isr_exit(partition, broker, event)
                case _:
                    pass

    def _note_isr_exit(self, partition: TopicPartition, broker: int, event: Event) -> None:
        self.isr_exits[partition, broker] = event
        trouble = self.link_trouble(self.state.of_topics.leader(partition), broker)
        if trouble is None:
            self.exit_troubles.pop((partition, broker), None)
        else:
            self.exit_troubles[partition, broker] = trouble

    def link_trouble(self, leader: int | None, follower: int) -> tuple[str, Event] | None:
        """Return the network fault between two brokers in words, and its event; None if the trace shows none."""
        ends = (f"broker-{leader}", f"broker-{follower}")
        for sender, receiver in (ends, ends[::-1]):
            stall = self.stalls.get((sender, receiver))
            if stall is not None:
                return f"messages from {sender} to {receiver} do not arrive{since(stall)}", stall
        for fault in self.cuts:
            if _concerns(fault, *ends) or _concerns(fault, *ends[::-1]):
                return f"the fault {fault.fault} is in force{since(fault)}", fault
        return None

    def is_running(self, broker: int) -> bool:
        """Return whether a broker runs, as far as the trace says."""
        return self.state.not_running(f"broker-{broker}") is None

    def serves(self, broker: int | None) -> bool:
        """Return whether a broker runs and is registered, so that it can serve the partitions that it leads."""
        return broker is not None and broker in self.state.registered and self.is_running(broker)

    def topic_setting(self, topic: str, name: str) -> str | None:
        """Return a setting of the topic's own; None if the topic has none of this name."""
        path = paths.topic_config(topic)
        znode = self.state.znodes.get(path)
        if znode is None or znode.data is None:
            return None
        try:
            return znodes.decode_config(path, znode.data.encode(), _ignore).get(name)
        except BadZnodeError:
            return None


def _concerns(fault: Event, sender: str, receiver: str) -> bool:
    """Return whether a network fault concerns the link from one node to another."""
    links = [(fault.sources, fault.targets), *([(fault.targets, fault.sources)] if fault.both_ways else [])]
    return any(sender in (sources or (sender,)) and receiver in (targets or (receiver,)) for sources, targets in links)
