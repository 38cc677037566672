"""A small cluster to play with, and runs of it."""

import atexit
from collections.abc import Iterator, Sequence
from functools import cache

from kcsim.eventlog.events import Event
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.paced_run import PacedRun
from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.run_processes import RunProcesses

SCENARIO = Scenario.model_validate(
    {
        "name": "three",
        "description": "Three brokers and a topic.",
        "cluster": {"brokers": 3, "topics": {"orders": {"partitions": 2, "replication-factor": 3}}},
        "timetable": [{"start": "all"}],
    }
)
FIRST = (Act(0, "start: all"), Act(1_000, "create-topic: orders"))
PATIENCE_S = 300.0


@cache
def run_processes() -> RunProcesses:
    """Return processes for the runs of all tests: to start the first one takes longer than most tests."""
    processes = RunProcesses()
    atexit.register(processes.close)
    return processes


def played_cluster() -> PlayedCluster:
    """Return a cluster of three brokers with one topic."""
    return PlayedCluster(SCENARIO, 1, FIRST, run_processes())


class Watched:
    """A paced run up to a time; then it ends.

    Args:
        acts: what is done, each when the run has reached its time and waits there.
        planned: what is planned from the beginning.

    Attributes:
        reached: for each of `acts`, how many events there were before it, and the time of the next thing to happen.
    """

    def __init__(self, until_ms: int, acts: Sequence[Act] = (), planned: Sequence[Act] = FIRST) -> None:
        self.events: list[Event] = []
        self.refused: list[tuple[Act, str]] = []
        self.reached: list[tuple[int, int | None]] = []
        self._going = self._go(until_ms, acts)
        self.run = PacedRun(SCENARIO, 1, self)
        self.run.plan(planned)
        self.run.run()

    def _go(self, until_ms: int, acts: Sequence[Act]) -> Iterator[None]:
        for act in acts:
            self.run.limit_ms = act.at_ms
            yield
            self.reached.append((len(self.events), self.run.next_ms))
            self.run.plan([act])
        self.run.limit_ms = until_ms
        yield
        self.run.end()
        yield

    def see(self, event: Event) -> None:
        self.events.append(event)

    def see_snapshot_reached(self) -> None:
        pass

    def see_refusal(self, act: Act, why: str) -> None:
        self.refused.append((act, why))

    def before_time_passes(self, run: PacedRun) -> None:
        pass

    def at_limit(self, run: PacedRun) -> None:
        next(self._going)
