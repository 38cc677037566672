"""The state of the cluster at one point of the event log: a pure fold over the events.

This is the only fold of its kind: conditions and expectations are evaluated on it, invariants, views, lessons and outages
follow its changes. So only the event log decides the verdict of a run.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from kcsim.eventlog.consumption import Consumption
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.eventlog.metrics_state import MetricsState
from kcsim.eventlog.state_changes import (
    ControllerChanged,
    ControllerEpochChanged,
    GroupChanged,
    LinkChanged,
    MetricChanged,
    OwnershipChanged,
    ProcessChanged,
    RegistrationChanged,
    RoleChanged,
    SessionChanged,
    StateChange,
    Znode,
    ZnodeChanged,
)
from kcsim.eventlog.step_names import ControllerFailoverStep
from kcsim.eventlog.topics_state import TopicsState
from kcsim.znodes import paths

BELOW_BROKER_IDS = f"{paths.BROKER_IDS}/"
ENDED = ("dead", "stopped")
"""States of a process that has ended."""
RUNNING = "running"
NOT_RUNNING: Mapping[str, str] = MappingProxyType({"dead": "dead", "stopped": "stopped", "paused": "frozen"})
"""State of a process that does not run -> the adjective for it."""
READY_STEP = ControllerFailoverStep.READY.value
"""The step of a failover after which the controller has sent its brokers what they need, and begins to process events."""
SERVER_PREFIX = "member-"
"""How the name of a ZooKeeper server begins."""
SERVER_STATES = {"kill": "dead", "stop": "stopped", "start": "running", "pause": "paused", "resume": "running"}
"""Confirmed fault -> the state of a ZooKeeper server after it."""


class SessionLink(NamedTuple):
    """A node's session, and the state of that session as the node sees it."""

    session_id: str
    state: str


@dataclass
class ClusterState:
    """The cluster at one point of the event log. `apply` folds events into it, in order.

    Attributes:
        znodes: path -> znode; the root is not listed.
        processes: broker-N and consumers -> running, paused, stopped or dead.
        servers: servers of ZooKeeper that were subject to a fault -> running, paused, stopped or dead.
        producers: producer -> running, or stopped once its workload has ended.
        sessions: session id -> open or closed, as the server sees it.
        links: node -> its latest session, as the node sees it.
        session_owners: session id -> node, as far as the node has reported the session.
        controller_id: the broker id in /controller; None if the znode does not exist or cannot be read.
        controller_epoch: the number in /controller_epoch; None if the znode does not exist or holds no number.
        roles: node -> the controller epoch under which it believes to be the controller.
        fences: node in `roles` -> the version of /controller_epoch that its writes check; None if the trace does not say.
        ready: the nodes in `roles` that have completed the essential part of their failover.
        quarantined: node and path of each znode that a hardened controller does not use -> what is wrong with it.
        of_topics: topics and partitions, read from their znodes.
        of_consumers: groups, and what their members consume.
        of_metrics: the controller's metrics.
        longest_stall_ms: the longest time for which the process of a live run was not scheduled; 0 if no such time was long
            enough to let a session expire.
        changes: what the latest event has changed, in order.
    """

    znodes: dict[str, Znode] = field(default_factory=dict)
    processes: dict[str, str] = field(default_factory=dict)
    servers: dict[str, str] = field(default_factory=dict)
    producers: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    links: dict[str, SessionLink] = field(default_factory=dict)
    session_owners: dict[str, str] = field(default_factory=dict)
    controller_id: int | None = None
    controller_epoch: int | None = None
    roles: dict[str, int] = field(default_factory=dict)
    fences: dict[str, int | None] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    quarantined: dict[tuple[str, str], str] = field(default_factory=dict)
    of_topics: TopicsState = field(default_factory=TopicsState)
    of_consumers: Consumption = field(default_factory=Consumption)
    of_metrics: MetricsState = field(default_factory=MetricsState)
    longest_stall_ms: int = 0
    changes: list[StateChange] = field(default_factory=list)
    _epochs: dict[str, int] = field(default_factory=dict)  # name of a registration znode -> broker epoch

    def apply(self, event: Event) -> None:
        """Apply one event, and list what it changes in `changes`."""
        self.changes = []
        apply = _APPLY.get(event.kind)
        if apply is not None:
            apply(self, event)

    # --- znodes

    def _apply_to_znode(self, event: Event) -> None:
        path = event.path or ""
        before = self.znodes.get(path)
        after = _znode_after(event, before)
        if after is None:
            self.znodes.pop(path, None)
        else:
            self.znodes[path] = after
        self.changes.append(ZnodeChanged(path, before, after))
        if path == paths.CONTROLLER:
            holder, self.controller_id = self.controller_id, _controller_id(after)
            self.changes.append(ControllerChanged(holder, self.controller_id))
            if after is None:
                self._forget_roles_without_process()
        elif path == paths.CONTROLLER_EPOCH:
            epoch, self.controller_epoch = self.controller_epoch, _number(after)
            self.changes.append(ControllerEpochChanged(epoch, self.controller_epoch))
        elif path.startswith(BELOW_BROKER_IDS):
            self._apply_to_registration(event, path.removeprefix(BELOW_BROKER_IDS))
        else:
            self.changes.extend(self.of_topics.apply(event))

    def _apply_to_registration(self, event: Event, name: str) -> None:
        if not name.isdigit():
            return
        before = self._epochs.get(name)
        if event.kind is EventKind.ZNODE_CREATED:
            self._epochs[name] = event.zxid or 0
        elif event.kind is EventKind.ZNODE_DELETED:
            self._epochs.pop(name, None)
        self.changes.append(RegistrationChanged(int(name), before, self._epochs.get(name)))

    def _forget_roles_without_process(self) -> None:
        """Forget the roles of nodes without a process.

        An imported trace may have no process events; what its former controllers believe is then unknown.
        """
        for node in [node for node in self.roles if node not in self.processes]:
            self._lose_role(node)

    # --- sessions

    def _apply_to_session(self, event: Event) -> None:
        session_id = event.session_id or ""
        self.sessions[session_id] = "open" if event.kind is EventKind.SESSION_CREATED else "closed"
        self.changes.append(SessionChanged(session_id))

    def _apply_to_link(self, event: Event) -> None:
        self.links[event.node] = SessionLink(event.session_id or "", event.state or "")
        self.session_owners[event.session_id or ""] = event.node
        self.changes.append(LinkChanged(event.node))

    # --- processes

    def _apply_to_process(self, event: Event) -> None:
        node = event.node
        self._set_process(self.processes, node, event.state or "")
        owned = node in self.of_consumers.owned
        self.of_consumers.apply(event)
        if owned:
            self.changes.append(OwnershipChanged(node))
        if event.state in ENDED and node in self.roles:
            self._lose_role(node)
        if event.state in ENDED:
            self._release_all(node)
        self._apply_to_metrics(event)

    def _apply_to_server(self, event: Event) -> None:
        target = event.target or ""
        if target.startswith(SERVER_PREFIX):
            self._set_process(self.servers, target, SERVER_STATES.get(event.fault or "", "running"))

    def _apply_to_producer(self, event: Event) -> None:
        is_started = event.kind is EventKind.WORKLOAD_STARTED
        self._set_process(self.producers, event.node, "running" if is_started else "stopped")

    def _set_process(self, states: dict[str, str], node: str, state: str) -> None:
        self.changes.append(ProcessChanged(node, states.get(node), state))
        states[node] = state

    def _apply_stall(self, event: Event) -> None:
        self.longest_stall_ms = max(self.longest_stall_ms, event.duration_ms or 0)

    # --- controllers

    def _apply_election(self, event: Event) -> None:
        self.roles[event.node] = event.controller_epoch or 0
        self.fences[event.node] = event.controller_epoch_zk_version
        self.ready.discard(event.node)
        self.changes.append(RoleChanged(event.node))

    def _apply_failover(self, event: Event) -> None:
        if event.step == READY_STEP and event.node in self.roles:
            self.ready.add(event.node)

    def _apply_resignation(self, event: Event) -> None:
        self._lose_role(event.node)
        self._release_all(event.node)

    def _apply_quarantine(self, event: Event) -> None:
        self.quarantined[event.node, event.path or ""] = event.rule or ""

    def _apply_release(self, event: Event) -> None:
        self.quarantined.pop((event.node, event.path or ""), None)

    def _release_all(self, node: str) -> None:
        """Forget what a controller had in quarantine: the next one reads all znodes again."""
        for key in [key for key in self.quarantined if key[0] == node]:
            del self.quarantined[key]

    def _lose_role(self, node: str) -> None:
        self.roles.pop(node, None)
        self.fences.pop(node, None)
        self.ready.discard(node)
        self.changes.append(RoleChanged(node))

    def _apply_to_metrics(self, event: Event) -> None:
        self.changes.extend(MetricChanged(name, value) for name, value in self.of_metrics.apply(event).items())

    # --- consumers

    def _apply_to_ownership(self, event: Event) -> None:
        self.of_consumers.apply(event)
        self.changes.append(OwnershipChanged(event.node))

    def _apply_to_group(self, event: Event) -> None:
        self.of_consumers.apply(event)
        self.changes.append(GroupChanged(event.group or ""))

    # --- queries

    def not_running(self, node: str) -> str | None:
        """Return why a node cannot act: dead, stopped, frozen or not running; None if it runs, or if no process is known.

        An imported trace may have no process events at all.
        """
        process = self.processes.get(node)
        if process is None:
            return "not running" if self.processes else None
        return None if process == RUNNING else NOT_RUNNING.get(process, process)

    def has_lost_session(self, node: str) -> bool:
        """Return whether ZooKeeper has ended the latest session of a node, and the node has not closed it itself."""
        link = self.links.get(node)
        if link is None or link.state == "closed":
            return False
        return link.state == "expired" or self.sessions.get(link.session_id) == "closed"

    def children(self, path: str) -> list[str]:
        """Return the names of a znode's children, sorted; empty if the znode has no children or does not exist."""
        prefix = "/" if path == "/" else path + "/"
        return sorted(p[len(prefix) :] for p in self.znodes if p.startswith(prefix) and "/" not in p[len(prefix) :])

    @property
    def working_controller(self) -> int | None:
        """Return the broker that works as the controller; None if no broker does.

        /controller names it, it has completed its failover up to "Ready to serve as the new controller", its process runs,
        it sees its connection to ZooKeeper as up, and its fence is valid: /controller_epoch has the version that its writes
        check. A broker that dies, freezes, loses its connection or resigns ceases to be a working controller at that
        moment, although /controller still names it until its session ends.
        """
        node = f"broker-{self.controller_id}"
        if node not in self.ready or self.processes.get(node, "running") != "running":
            return None
        link, fence = self.links.get(node), self.fences.get(node)
        if link is not None and link.state != "connected":
            return None
        epoch = self.znodes.get(paths.CONTROLLER_EPOCH)
        return None if fence is not None and epoch is not None and epoch.zk_version != fence else self.controller_id

    @property
    def registered(self) -> dict[int, int]:
        """Broker id -> broker epoch (czxid of the registration), for each znode in /brokers/ids."""
        return {int(name): self._epochs[name] for name in sorted(self._epochs)}

    def is_registered(self, broker: int | None) -> bool:
        """Return whether a broker is in /brokers/ids; faster than `registered` for many questions about many brokers."""
        return str(broker) in self._epochs


_APPLY: Mapping[EventKind, Callable[[ClusterState, Event], None]] = {
    **dict.fromkeys(ZNODE_CHANGES, ClusterState._apply_to_znode),
    EventKind.SESSION_CREATED: ClusterState._apply_to_session,
    EventKind.SESSION_CLOSED: ClusterState._apply_to_session,
    EventKind.SESSION_STATE: ClusterState._apply_to_link,
    EventKind.PROCESS_STATE: ClusterState._apply_to_process,
    EventKind.FAULT_CONFIRMED: ClusterState._apply_to_server,
    EventKind.WORKLOAD_STARTED: ClusterState._apply_to_producer,
    EventKind.WORKLOAD_STOPPED: ClusterState._apply_to_producer,
    EventKind.RUN_STALLED: ClusterState._apply_stall,
    EventKind.ELECTION_WON: ClusterState._apply_election,
    EventKind.CONTROLLER_FAILOVER: ClusterState._apply_failover,
    EventKind.CONTROLLER_RESIGNED: ClusterState._apply_resignation,
    EventKind.ZNODE_QUARANTINED: ClusterState._apply_quarantine,
    EventKind.ZNODE_RELEASED: ClusterState._apply_release,
    EventKind.METRICS: ClusterState._apply_to_metrics,
    EventKind.PARTITIONS_ASSIGNED: ClusterState._apply_to_ownership,
    EventKind.PARTITIONS_REVOKED: ClusterState._apply_to_ownership,
    EventKind.PARTITIONS_LOST: ClusterState._apply_to_ownership,
    EventKind.GROUP_REBALANCE: ClusterState._apply_to_group,
    EventKind.GROUP_GENERATION: ClusterState._apply_to_group,
    EventKind.GROUP_STABLE: ClusterState._apply_to_group,
}
"""What applies an event of a kind to the state; most kinds change nothing in it."""


def _znode_after(event: Event, before: Znode | None) -> Znode | None:
    match event.kind:
        case EventKind.ZNODE_CREATED:
            # The version is not 0 if the znode was first read after its creation, on a ZooKeeper whose log cannot be read.
            version = event.zk_version or 0
            return Znode(event.data, event.zxid or 0, event.zxid or 0, version, bool(event.ephemeral), event.session_id)
        case EventKind.ZNODE_CHANGED:
            # Without a znode before, the trace began late: the znode was created before the first event.
            known = before or Znode(None, 0, 0, 0, bool(event.ephemeral), event.session_id)
            return replace(known, data=event.data, zxid=event.zxid or 0, zk_version=event.zk_version or 0)
        case _:
            return None


def _controller_id(node: Znode | None) -> int | None:
    try:
        return int(json.loads(node.data or "")["brokerid"]) if node else None
    except (ValueError, KeyError, TypeError):
        return None


def _number(node: Znode | None) -> int | None:
    try:
        return int(node.data or "") if node else None
    except ValueError:
        return None
