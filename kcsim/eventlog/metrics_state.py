"""The controller metrics of a whole cluster, summed over all brokers as a monitoring system does: a fold over the event log.

Each gauge is 0 on a broker that is not controller, and on a broker that is not running. A former controller that has not
learned of its successor still counts, so ActiveControllerCount can be 2.
"""

import json
from dataclasses import dataclass, field

from kcsim.eventlog.events import Event, EventKind


@dataclass
class MetricsState:
    """The sums of the metrics at one point of the event log. `apply` folds events into them, in order.

    Attributes:
        now: metric -> the sum over all brokers; a metric that is absent is 0.
        highest: metric -> the highest value that the sum has had, and the event that set it.
        changed: metric -> the last event that changed it.
    """

    now: dict[str, int] = field(default_factory=dict)
    highest: dict[str, tuple[int, Event]] = field(default_factory=dict)
    changed: dict[str, Event] = field(default_factory=dict)
    _of_node: dict[str, dict[str, int]] = field(default_factory=dict)

    def apply(self, event: Event) -> dict[str, int]:
        """Apply a Metrics or a ProcessState event, and return the sums that are new or have another value."""
        if event.kind is EventKind.METRICS:
            return self._set(event, json.loads(event.data or "{}"))
        if event.state in ("dead", "stopped") and event.node in self._of_node:
            changed = self._set(event, dict.fromkeys(self._of_node[event.node], 0))
            del self._of_node[event.node]
            return changed
        return {}

    def by_node(self, name: str) -> dict[str, int]:
        """Return node -> the value of a metric, for each node where it is not 0."""
        return {node: values[name] for node, values in sorted(self._of_node.items()) if values.get(name)}

    def _set(self, event: Event, values: dict[str, int]) -> dict[str, int]:
        mine = self._of_node.setdefault(event.node, {})
        others = {}
        for name, value in values.items():
            before = self.now.get(name)
            total = self.now[name] = (before or 0) - mine.get(name, 0) + value
            if total != before:
                others[name] = total
            mine[name] = value
            self.changed[name] = event
            if total > self.highest.get(name, (0, event))[0]:
                self.highest[name] = total, event
        return others
