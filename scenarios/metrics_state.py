"""The controller's metrics of a whole cluster, as monitoring adds them up: a fold over the event log.

A broker that is not controller has 0 in each gauge, and so has one that is gone. A former controller that does not know of
its successor still counts: that is how one sees two.
"""

import json
from dataclasses import dataclass, field

from kcsim.zk.events import Event, EventKind


@dataclass
class MetricsState:
    """Fold events into it with `apply`, in order.

    Attributes:
        now: metric -> the sum over all brokers; what is not there is 0.
        highest: the highest that each sum has been, and the event that made it so.
        changed: the event that changed each of them last.
    """

    now: dict[str, int] = field(default_factory=dict)
    highest: dict[str, tuple[int, Event]] = field(default_factory=dict)
    changed: dict[str, Event] = field(default_factory=dict)
    _of_node: dict[str, dict[str, int]] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take a Metrics or a ProcessState in."""
        if event.kind is EventKind.METRICS:
            self._set(event, json.loads(event.data or "{}"))
        elif event.state in ("dead", "stopped") and event.node in self._of_node:
            self._set(event, dict.fromkeys(self._of_node[event.node], 0))
            del self._of_node[event.node]

    def _set(self, event: Event, values: dict[str, int]) -> None:
        mine = self._of_node.setdefault(event.node, {})
        for name, value in values.items():
            total = self.now[name] = self.now.get(name, 0) - mine.get(name, 0) + value
            mine[name] = value
            self.changed[name] = event
            if total > self.highest.get(name, (0, event))[0]:
                self.highest[name] = total, event
