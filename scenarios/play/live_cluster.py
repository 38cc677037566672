"""A cluster in real time, as its pages see it from another thread: what happens is handed over, and acts are handed back.

The cluster never waits for its pages: what it hands over is appended to a queue, and it looks for acts periodically.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.eventlog.events import Event
from kcsim.runtime.ports import Runtime
from kcsim.scenarios.engine.single_steps import SingleSteps
from kcsim.scenarios.play.acts import Act, do_act
from kcsim.vocabulary import TopicPartition

LOOK_EVERY_MS = 20


@dataclass(frozen=True, slots=True)
class RefusedAct:
    """An act could not be done. Attributes: place: its index among all acts."""

    place: int
    why: str


@dataclass(frozen=True, slots=True)
class CountedRecords:
    """The fate of the records that producers have written so far."""

    counts: Mapping[TopicPartition, RecordCounts]


HandedOver = Event | Act | RefusedAct | CountedRecords


class LiveCluster:
    """The two queues between a cluster and its pages. The cluster's thread uses the first part, that of the pages the other.

    Args:
        watched_only: why nothing can be done to the cluster; None: acts are done.

    Attributes:
        gaps: what is not known of the cluster now, and why; set by its thread.
    """

    def __init__(self, watched_only: str | None = None) -> None:
        self.watched_only = watched_only
        self.gaps: Sequence[str] = ()
        self._handed_over: deque[HandedOver] = deque()
        self._asked_for: deque[Callable[[Runtime, SingleSteps], None]] = deque()
        self._acts = 0
        self._now_ms: Callable[[], int] = lambda: 0

    # --- for the cluster

    def see(self, event: Event) -> None:
        self._handed_over.append(event)

    def has_done(self, act: Act) -> None:
        """Take an act that was done without being asked for by a page."""
        self._acts += 1
        self._handed_over.append(act)

    def use_clock(self, runtime: Runtime) -> None:
        self._now_ms = runtime.now_ms

    async def do_acts(self, runtime: Runtime, steps: SingleSteps) -> None:
        """Do what pages ask for, until this task is killed. Acts that take their time do not wait for each other."""
        while True:
            while self._asked_for:
                self._asked_for.popleft()(runtime, steps)
            await runtime.sleep_ms(LOOK_EVERY_MS)

    def _begin(self, act: Act, runtime: Runtime, steps: SingleSteps) -> None:
        place = self._acts
        self.has_done(act)

        async def do() -> None:
            if (why := await do_act(steps, act)) is not None:
                self._handed_over.append(RefusedAct(place, why))

        runtime.spawn(f"act: {act.step}", do())

    # --- for its pages

    @property
    def now_ms(self) -> int:
        return self._now_ms()

    def take(self) -> Iterator[HandedOver]:
        """Yield what was handed over since the last call, in order."""
        while self._handed_over:
            yield self._handed_over.popleft()

    def act(self, step: str, declares: Mapping[str, Any]) -> None:
        """Let a step be done. Args: declares: what it is the first to name."""
        self._asked_for.append(lambda runtime, steps: self._begin(Act(runtime.now_ms(), step, declares), runtime, steps))

    def count_records(self) -> None:
        """Let the fate of the records be handed over."""
        self._asked_for.append(lambda _, steps: self._handed_over.append(CountedRecords(dict(steps.workload.counts()))))
