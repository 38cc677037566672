"""What each event changed in the cluster, as new values of named things: what a page makes any moment's state of.

The state itself is ClusterState's. Here is only which things an event may have touched, so that nothing is compared that
did not move. A thing is named by its family and its name in it; None stands for what is no more.

Families, and the values in them:

    process    broker-1, consumer-c, member-2,  running, paused, stopped, dead; a producer runs as long as its workload does
               producer-p
    role       broker-1                         the controller epoch under which it holds itself for the controller
    link       broker-1                         [session id, state as it sees it, open or closed as the server sees it]
    registered broker-1                         [broker epoch, rack or None], as its znode in /brokers/ids has it
    controller (no name)                        the broker that /controller names
    epoch      (no name)                        the number in /controller_epoch
    owned      consumer-c                       [[partitions that it consumes], its group]
    znode      /path                            [data, version, zxid of its creation, of its last change, ephemeral, owner]
    session    session id                       open, closed
    partition  orders-0                         [replicas, leader, leader epoch, ISR, flags, adding, removing]
    group      group id                         [state, generation]
    metric     name                             its sum over all brokers

Flags of a partition: o offline, u under-replicated, d its topic is to be deleted. Nobody leads: -1.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kcsim.scenarios.state import BELOW_BROKER_IDS, ClusterState, Znode
from kcsim.scenarios.topics_state import BELOW_DELETIONS, BELOW_TOPICS
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import BrokerId, TopicPartition

FAMILIES_OF_LANES = ("process", "role", "link", "registered", "controller", "epoch", "owned", "group")
FAMILIES_OF_STATE = ("znode", "session", "partition", "metric")
FAMILIES = (*FAMILIES_OF_LANES, *FAMILIES_OF_STATE)

MEMBER, BROKER = "member-", "broker-"
MEMBER_STATES = {"kill": "dead", "stop": "stopped", "start": "running", "pause": "paused", "resume": "running"}
"""What a confirmed fault makes of a server of ZooKeeper."""


class Change(NamedTuple):
    """A thing has a new value. JSON as it is."""

    family: str
    name: str
    value: Any


class StateChanges:
    """Feed it every event of one run, in order, and take the changes out whenever they are wanted."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self._touched: dict[tuple[str, str], None] = {}
        self._others: dict[str, str] = {}  # servers of ZooKeeper and producers -> what they are
        self._roles: dict[str, int] = {}
        self._links: dict[str, tuple[str, str]] = {}  # node -> its session, and the session's state as it sees it
        self._owners: dict[str, str] = {}  # session id -> node
        self._groups: dict[str, str] = {}  # consumer -> its group
        self._led: dict[BrokerId | None, set[TopicPartition]] = {}
        self._leaders: dict[TopicPartition, BrokerId | None] = {}
        self._metrics: dict[str, int] = {}

    def apply(self, event: Event) -> None:
        """Take one event in."""
        match event.kind:
            case EventKind.ZNODE_CREATED | EventKind.ZNODE_CHANGED | EventKind.ZNODE_DELETED:
                self._apply_to_tree(event)
                return
            case EventKind.SESSION_CREATED | EventKind.SESSION_CLOSED:
                self._touch("session", event.session_id or "")
                if (node := self._owners.get(event.session_id or "")) is not None:
                    self._touch("link", node)
            case EventKind.SESSION_STATE:
                self._links[event.node] = event.session_id or "", event.state or ""
                self._owners[event.session_id or ""] = event.node
                self._touch("link", event.node)
            case EventKind.PROCESS_STATE:
                self._process_changed(event)
            case EventKind.FAULT_CONFIRMED if (event.target or "").startswith(MEMBER):
                self._others[event.target or ""] = MEMBER_STATES.get(event.fault or "", "running")
                self._touch("process", event.target or "")
            case EventKind.WORKLOAD_STARTED | EventKind.WORKLOAD_STOPPED:
                self._others[event.node] = "running" if event.kind is EventKind.WORKLOAD_STARTED else "stopped"
                self._touch("process", event.node)
            case EventKind.ELECTION_WON:
                self._roles[event.node] = event.controller_epoch or 0
                self._touch("role", event.node)
            case EventKind.CONTROLLER_RESIGNED:
                self._roles.pop(event.node, None)
                self._touch("role", event.node)
            case EventKind.PARTITIONS_ASSIGNED | EventKind.PARTITIONS_REVOKED | EventKind.PARTITIONS_LOST:
                self._groups.setdefault(event.node, event.group or "")
                self._touch("owned", event.node)
            case EventKind.GROUP_REBALANCE | EventKind.GROUP_GENERATION | EventKind.GROUP_STABLE:
                self._touch("group", event.group or "")
            case _:
                pass
        self.state.apply(event)
        if event.kind in (EventKind.METRICS, EventKind.PROCESS_STATE):
            for name, value in self.state.of_metrics.now.items():
                if self._metrics.get(name) != value:
                    self._metrics[name] = value
                    self._touch("metric", name)

    def take(self, families: Iterable[str] = FAMILIES) -> Iterator[Change]:
        """Yield each thing of these families that may have changed since it was last taken, with its value now."""
        wanted = frozenset(families)
        taken = [(family, name) for family, name in self._touched if family in wanted]
        for family, name in taken:
            del self._touched[family, name]
            yield Change(family, name, self._value(family, name))

    # --- what is touched

    def _touch(self, family: str, name: str) -> None:
        self._touched[family, name] = None

    def _process_changed(self, event: Event) -> None:
        self._touch("process", event.node)
        if event.node in self.state.of_consumers.owned:
            self._touch("owned", event.node)
        if event.state in ("stopped", "dead") and self._roles.pop(event.node, None) is not None:
            self._touch("role", event.node)

    def _apply_to_tree(self, event: Event) -> None:
        path = event.path or ""
        if event.kind is EventKind.ZNODE_CHANGED and path not in self.state.znodes:
            # A trace that began late: the znode was there before.
            self.state.znodes[path] = Znode(None, 0, 0, 0, bool(event.ephemeral), event.session_id)
        before = self._partitions_below(path)
        self.state.apply(event)
        self._touch("znode", path)
        for partition in {*before, *self._partitions_below(path)}:
            self._lead(partition)
            self._touch("partition", str(partition))
        if path == paths.CONTROLLER:
            self._touch("controller", "")
            if event.kind is EventKind.ZNODE_DELETED:
                self._forget_roles_of_the_unseen()
        elif path == paths.CONTROLLER_EPOCH:
            self._touch("epoch", "")
        elif path.startswith(BELOW_BROKER_IDS) and (name := path.removeprefix(BELOW_BROKER_IDS)).isdigit():
            self._touch("registered", f"{BROKER}{name}")
            for partition in self._led.get(BrokerId(int(name)), ()):
                self._touch("partition", str(partition))

    def _forget_roles_of_the_unseen(self) -> None:
        """An imported trace may not tell of processes: then nobody can say what one thinks that was the controller."""
        for node in [node for node in self._roles if node not in self.state.processes]:
            del self._roles[node]
            self._touch("role", node)

    def _partitions_below(self, path: str) -> list[TopicPartition]:
        """The partitions that are judged by a znode, as far as they are known now."""
        match path.removeprefix(BELOW_TOPICS).split("/"):
            case [topic, "partitions", number, "state"] if path.startswith(BELOW_TOPICS) and number.isdecimal():
                return [TopicPartition(topic, int(number))]
            case [topic] if path.startswith(BELOW_TOPICS):
                return self._partitions_of(topic)
            case _ if path.startswith(BELOW_DELETIONS):
                return self._partitions_of(path.removeprefix(BELOW_DELETIONS))
            case _:
                return []

    def _partitions_of(self, topic: str) -> list[TopicPartition]:
        state = self.state.of_topics.topics.get(topic)
        return [TopicPartition(topic, number) for number in state.assignments] if state else []

    def _lead(self, partition: TopicPartition) -> None:
        """Remember who leads it, to find it when that broker comes or goes."""
        leader, before = self.state.of_topics.leader(partition), self._leaders.get(partition)
        if leader != before:
            self._led.get(before, set()).discard(partition)
        self._leaders[partition] = leader
        self._led.setdefault(leader, set()).add(partition)

    # --- what it is now

    def _value(self, family: str, name: str) -> Any:
        state = self.state
        match family:
            case "process":
                return self._others.get(name) or state.processes.get(name)
            case "role":
                return self._roles.get(name)
            case "link":
                session, seen = self._links[name]
                return [session, seen, state.sessions.get(session)]
            case "registered":
                return self._registration(name.removeprefix(BROKER))
            case "controller":
                return state.controller_id
            case "epoch":
                return state.controller_epoch
            case "owned":
                return [list(state.of_consumers.owned.get(name, ())), self._groups.get(name)]
            case "znode":
                return self._znode(name)
            case "session":
                return state.sessions.get(name)
            case "partition":
                return self._partition(name)
            case "group":
                group = state.of_consumers.groups[name]
                return [group.state, group.generation]
            case _:
                return state.of_metrics.now.get(name)

    def _znode(self, path: str) -> Any:
        znode = self.state.znodes.get(path)
        if znode is None:
            return None
        return [znode.data, znode.zk_version, znode.czxid, znode.zxid, int(znode.ephemeral), znode.session_id]

    def _registration(self, number: str) -> Any:
        znode = self.state.znodes.get(f"{BELOW_BROKER_IDS}{number}")
        if znode is None:
            return None
        try:
            content = json.loads(znode.data or "")
        except ValueError:
            content = None
        return [znode.czxid, content.get("rack") if isinstance(content, dict) else None]

    def _partition(self, name: str) -> Any:
        topic, _, number = name.rpartition("-")
        partition, topics = TopicPartition(topic, int(number)), self.state.of_topics
        assignment, state = topics.assignment(partition), topics.states.get(partition)
        if assignment is None:
            return None
        leader = topics.leader(partition)
        isr = topics.isr(partition)
        is_offline = leader is None or paths.broker_id(leader) not in self.state.znodes
        is_behind = len(isr) < len(assignment.origin_replicas)
        flags = "d" if topic in topics.deleting else "o" * is_offline + "u" * is_behind
        epoch = state.leader_and_isr.leader_epoch if state else None
        return [
            list(assignment.replicas),
            -1 if leader is None else leader,
            epoch,
            list(isr),
            flags,
            list(assignment.adding_replicas),
            list(assignment.removing_replicas),
        ]
