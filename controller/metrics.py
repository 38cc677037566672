"""The controller's metrics, under Kafka's names.

Gauges are computed after each event, and an event log entry records those that have changed. Meters and timers are updated
when they are marked. Source: Kafka 2.8, KafkaController, ControllerStats, ControllerEventManager; docs/kafka/controller.md
2.1.
"""

import json
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from kcsim.controller.context import ControllerContext
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import ControllerState

REMEMBERED = 1000
"""The number of latest durations that a histogram keeps."""
CONTROLLER = "kafka.controller:type=KafkaController,name="
STATS = "kafka.controller:type=ControllerStats,name="
EVENT_MANAGER = "kafka.controller:type=ControllerEventManager,name="
CHANNEL_MANAGER = "kafka.controller:type=ControllerChannelManager,name="
UNCLEAN = "UncleanLeaderElectionsPerSec"


Reading = Mapping[str, float]
"""A metric as JMX shows it: Value of a gauge; Count of a meter; Count, Mean, Max and 99thPercentile of a histogram."""


@dataclass
class Histogram:
    """A count of occurrences with their latest durations in ms."""

    count: int = 0
    latest_ms: deque[int] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def update(self, duration_ms: int) -> None:
        self.count += 1
        self.latest_ms.append(duration_ms)

    def read(self) -> Reading:
        return reading_of(self.latest_ms, self.count)


def reading_of(latest_ms: Collection[int], count: int | None = None) -> Reading:
    """Summarize durations in ms. Args: count: the number of all durations, if latest_ms holds only the latest of them."""
    latest = sorted(latest_ms)
    if not latest:
        return {"Count": count or 0}
    return {
        "Count": len(latest) if count is None else count,
        "Mean": sum(latest) / len(latest),
        "Max": latest[-1],
        "99thPercentile": latest[min(len(latest) - 1, len(latest) * 99 // 100)],
    }


class ControllerMetrics:
    """The metrics of one controller module; all gauges but ControllerState are 0 while it is not active.

    Attributes:
        unclean_leader_elections: unclean elections decided, whether or not their result was written.
        timers: the histogram of each timer, by name, for example LeaderElectionRateAndTimeMs.
        event_queue_time: EventQueueTimeMs.
    """

    def __init__(self) -> None:
        self.unclean_leader_elections = 0
        self.timers = {state.timer: Histogram() for state in ControllerState if state.timer is not None}
        self.event_queue_time = Histogram()
        self._gauges: dict[str, int] = dict.fromkeys((*_GAUGES, UNCLEAN), 0)

    def gauges(self) -> Mapping[str, int]:
        """Return the gauges of type=KafkaController after the last event, and the count of unclean elections."""
        return self._gauges

    def mark_event(self, state: ControllerState, queued_ms: int, duration_ms: int) -> None:
        """Record how long an event waited in the queue, and how long it took (in the timer of its state)."""
        self.event_queue_time.update(queued_ms)
        if state.timer is not None:
            self.timers[state.timer].update(duration_ms)

    def refresh(self, context: ControllerContext, is_active: bool) -> dict[str, int]:
        """Compute the gauges; return those that have changed."""
        now = {name: gauge(context) if is_active else 0 for name, gauge in _GAUGES.items()}
        now[UNCLEAN] = self.unclean_leader_elections
        changed = {name: value for name, value in now.items() if value != self._gauges[name]}
        self._gauges = now
        return changed

    def read(self) -> dict[str, Reading]:
        """Return every metric kept here, by its full name."""
        gauges = {f"{CONTROLLER}{name}": {"Value": value} for name, value in self._gauges.items() if name != UNCLEAN}
        timers = {f"{STATS}{name}": timer.read() for name, timer in sorted(self.timers.items())}
        return {
            **gauges,
            f"{STATS}{UNCLEAN}": {"Count": self.unclean_leader_elections},
            **timers,
            f"{EVENT_MANAGER}EventQueueTimeMs": self.event_queue_time.read(),
        }


def as_json(values: Mapping[str, int]) -> str:
    return json.dumps(values, separators=(",", ":"))


def _replicas_to_delete(context: ControllerContext) -> int:
    """Count the replicas of topics queued for deletion that are not deleted yet."""
    return sum(
        state is not ReplicaMachineState.DELETION_SUCCESSFUL
        for topic in context.topics_to_be_deleted
        for state in context.replica_states_of(topic).values()
    )


def _replicas_ineligible(context: ControllerContext) -> int:
    return sum(
        state is ReplicaMachineState.DELETION_INELIGIBLE
        for topic in context.topics_to_be_deleted
        for state in context.replica_states_of(topic).values()
    )


_GAUGES: Mapping[str, Callable[[ControllerContext], int]] = {
    "ActiveControllerCount": lambda context: 1,
    "OfflinePartitionsCount": lambda context: context.offline_partition_count,
    "PreferredReplicaImbalanceCount": lambda context: context.preferred_replica_imbalance_count,
    "GlobalTopicCount": lambda context: len(context.topics),
    "GlobalPartitionCount": lambda context: len(context.leadership),
    "TopicsToDeleteCount": lambda context: len(context.topics_to_be_deleted),
    "ReplicasToDeleteCount": _replicas_to_delete,
    "TopicsIneligibleToDeleteCount": lambda context: len(context.topics_ineligible_for_deletion),
    "ReplicasIneligibleToDeleteCount": _replicas_ineligible,
}
