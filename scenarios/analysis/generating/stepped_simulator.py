"""A partition simulator whose caller takes it from one action of the cluster to the next."""

from typing import NamedTuple

from kcsim.scenarios.analysis.folding.partition_simulator import WITHOUT_LEADER, PartitionSimulator
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.generating.cluster_history import ClusterHistory

Ids = tuple[int, ...]


class Serving(NamedTuple):
    """The partition's brokers that its controller knows to be alive: those not shutting down, and those shutting down."""

    alive: Ids
    shutting_down: Ids


class SteppedSimulator(PartitionSimulator):
    """A partition simulator whose caller must step through all earlier actions before it calls another method."""

    def __init__(self, key: PartitionKey, timeline: Timeline, history: ClusterHistory) -> None:
        super().__init__(key, timeline)
        self._history = history
        self._actions = timeline.actions
        self._is_stepped = False
        self._next = 0
        self._ahead: list[int] = []  # places of the actions that concern its replicas, the next one last
        self._of_replicas: tuple[int, ...] = ()

    def begin_steps(self) -> None:
        """Leave all further actions to the caller; all actions so far have been applied."""
        self._is_stepped = True
        self._next = self._timeline.place_of(self._at[0])

    def next_place(self) -> int:
        """Return the place of the next action that can concern the partition; the number of actions if there is none."""
        if self.machine in WITHOUT_LEADER:
            return self._next
        replicas = self.assignment.replicas
        if replicas is not self._of_replicas:
            self._of_replicas, self._ahead = replicas, self._history.concerning(replicas)[::-1]
        ahead = self._ahead
        while ahead and ahead[-1] < self._next:
            ahead.pop()
        return ahead[-1] if ahead else len(self._actions)

    def step(self, place: int) -> None:
        """Apply only the action at next_place()."""
        self._next = place + 1
        self.apply(self._actions[place])

    def advance(self, seq: int | None = None) -> None:
        if not self._is_stepped:
            super().advance(seq)

    def reassigned(self, target: tuple[int, ...], seq: int, t_ms: int) -> None:
        # Earlier actions on the new replicas did not concern the partition, and must not be applied now.
        place = self._timeline.place_of(seq)
        if place > self._next:
            self._next, self._view = place, self._actions[place - 1].view
        super().reassigned(target, seq, t_ms)

    def serving(self) -> Serving:
        """Return the brokers that serve, as the controller knows them now."""
        stored, view, brokers = self.stored, self.view, self._timeline.brokers
        concerned = (*self.assignment.replicas, *(() if stored is None else stored.isr))
        alive = brokers.among(concerned, view.live & ~view.shutting_down)
        return Serving(alive, brokers.among(concerned, view.live & view.shutting_down))
