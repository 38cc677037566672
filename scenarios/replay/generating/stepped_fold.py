"""A derived fold that goes from one moment of the cluster to the next at the word of whoever drives it."""

from typing import NamedTuple

from kcsim.scenarios.replay.folding.derived_fold import WITHOUT_LEADER, DerivedFold
from kcsim.scenarios.replay.folding.partition_story import PartitionKey
from kcsim.scenarios.replay.folding.timeline import Timeline
from kcsim.scenarios.replay.generating.moments import ClusterHistory

Ids = tuple[int, ...]


class Serving(NamedTuple):
    """Those of a partition's brokers that its controller knows to be alive and not about to stop, and those about to."""

    alive: Ids
    shutting_down: Ids


class SteppedFold(DerivedFold):
    """Once the partition is created, its driver sees to it that no moment is left behind when something else happens."""

    def __init__(self, key: PartitionKey, timeline: Timeline, history: ClusterHistory) -> None:
        super().__init__(key, timeline)
        self._history = history
        self._moments = timeline.moments
        self._is_stepped = False
        self._next = 0
        self._ahead: list[int] = []  # places of the moments that concern its replicas, the next one last
        self._of_replicas: tuple[int, ...] = ()

    def begin_steps(self) -> None:
        """All that came before has been gone through; from here on the driver does it."""
        self._is_stepped = True
        self._next = self._timeline.place_of(self._at[0])

    def next_place(self) -> int:
        """The place of the next moment that can concern the partition; the number of moments if there is none."""
        if self.machine in WITHOUT_LEADER:
            return self._next
        replicas = self.assignment.replicas
        if replicas is not self._of_replicas:
            self._of_replicas, self._ahead = replicas, self._history.concerning(replicas)[::-1]
        ahead = self._ahead
        while ahead and ahead[-1] < self._next:
            ahead.pop()
        return ahead[-1] if ahead else len(self._moments)

    def step(self, place: int) -> None:
        """Let the moment at next_place() happen, and none beside it."""
        self._next = place + 1
        self.apply(self._moments[place])

    def advance(self, seq: int | None = None) -> None:
        if not self._is_stepped:
            super().advance(seq)

    def reassigned(self, target: tuple[int, ...], seq: int, t_ms: int) -> None:
        # What has befallen the new replicas so far is past, and was none of the partition's business then.
        place = self._timeline.place_of(seq)
        if place > self._next:
            self._next, self._view = place, self._moments[place - 1].view
        super().reassigned(target, seq, t_ms)

    def serving(self) -> Serving:
        """As the controller knows it now."""
        stored, view, brokers = self.stored, self.view, self._timeline.brokers
        concerned = (*self.assignment.replicas, *(() if stored is None else stored.isr))
        alive = brokers.among(concerned, view.live & ~view.shutting_down)
        return Serving(alive, brokers.among(concerned, view.live & view.shutting_down))
