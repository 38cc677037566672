"""The cluster as of a moment: a pure fold over the event log.

Conditions and expectations are judged on it, so that a run is judged by what its log says and by nothing else.
"""

import json
from dataclasses import dataclass, field, replace

from kcsim.scenarios.consumers.consumption import Consumption
from kcsim.scenarios.metrics_state import MetricsState
from kcsim.scenarios.topics_state import TopicsState
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind

BELOW_BROKER_IDS = f"{paths.BROKER_IDS}/"


@dataclass(frozen=True, slots=True)
class Znode:
    """One znode; `data` as in the event log: text, "base64:…", or None for null."""

    data: str | None
    czxid: int  # of its creation
    zxid: int  # of its last change
    zk_version: int
    ephemeral: bool
    session_id: str | None  # the owner's, of an ephemeral one


@dataclass
class ClusterState:
    """Fold events into it with `apply`, in order.

    Attributes:
        znodes: path -> znode; the root is not listed.
        processes: broker-N -> running, paused, stopped or dead.
        sessions: session id -> open or closed, as the server sees it.
        of_topics: topics and partitions, read from their znodes.
        of_consumers: groups, and what their members consume.
        of_metrics: the controller's metrics.
    """

    znodes: dict[str, Znode] = field(default_factory=dict)
    processes: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    of_topics: TopicsState = field(default_factory=TopicsState)
    of_consumers: Consumption = field(default_factory=Consumption)
    of_metrics: MetricsState = field(default_factory=MetricsState)
    _epochs: dict[str, int] = field(default_factory=dict)  # of registered brokers, by the name of their znode

    def apply(self, event: Event) -> None:
        """Take one event in."""
        self.of_consumers.apply(event)
        match event.kind:
            case EventKind.ZNODE_CREATED:
                assert event.path is not None
                self.znodes[event.path] = Znode(
                    event.data, event.zxid or 0, event.zxid or 0, 0, bool(event.ephemeral), event.session_id
                )
                if (name := _name_of_broker(event.path)) is not None:
                    self._epochs[name] = event.zxid or 0
                self.of_topics.apply(event)
            case EventKind.ZNODE_CHANGED:
                assert event.path is not None
                self.znodes[event.path] = replace(
                    self.znodes[event.path], data=event.data, zxid=event.zxid or 0, zk_version=event.zk_version or 0
                )
                self.of_topics.apply(event)
            case EventKind.ZNODE_DELETED:
                assert event.path is not None
                self.znodes.pop(event.path, None)
                if (name := _name_of_broker(event.path)) is not None:
                    self._epochs.pop(name, None)
                self.of_topics.apply(event)
            case EventKind.SESSION_CREATED:
                self.sessions[event.session_id or ""] = "open"
            case EventKind.SESSION_CLOSED:
                self.sessions[event.session_id or ""] = "closed"
            case EventKind.PROCESS_STATE:
                self.processes[event.node] = event.state or ""
                self.of_metrics.apply(event)
            case EventKind.METRICS:
                self.of_metrics.apply(event)
            case _:
                pass

    def children(self, path: str) -> list[str]:
        """Names of the children of a znode, sorted; empty if there is none, or no such znode."""
        prefix = "/" if path == "/" else path + "/"
        return sorted(p[len(prefix) :] for p in self.znodes if p.startswith(prefix) and "/" not in p[len(prefix) :])

    @property
    def controller_id(self) -> int | None:
        """Who is named in /controller; None if nobody, or nothing that can be read."""
        node = self.znodes.get(paths.CONTROLLER)
        try:
            return int(json.loads(node.data or "")["brokerid"]) if node else None
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def controller_epoch(self) -> int | None:
        """The number in /controller_epoch; None if there is none."""
        node = self.znodes.get(paths.CONTROLLER_EPOCH)
        try:
            return int(node.data or "") if node else None
        except ValueError:
            return None

    @property
    def registered(self) -> dict[int, int]:
        """Broker id -> broker epoch (czxid of the registration), for each znode in /brokers/ids."""
        return {int(name): self._epochs[name] for name in sorted(self._epochs)}


def _name_of_broker(path: str) -> str | None:
    """The name of a registration, of the path of one."""
    name = path.removeprefix(BELOW_BROKER_IDS)
    return name if name.isdigit() else None
