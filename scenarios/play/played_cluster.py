"""A simulated cluster that is watched on pages: its clock, what was done to it, and all its futures.

To go back to a moment begins another run, with the acts until that moment: the same seed and acts give the same bytes, so
its past is the past that was seen. The former future is kept as it is: it is another fork of the same run, and can be gone
on with.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcsim.eventlog.events import Event
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act, acts_until, as_tree
from kcsim.scenarios.play.run_messages import Happened
from kcsim.scenarios.play.run_processes import PlayedRun, RunProcesses, events_of
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot

SPEEDS = (0.001, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 10.0, 100.0, 1000.0)
"""How much faster than real time the run may go."""
MOST_FORKS = 26
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class TooManyForksError(Exception):
    """There are as many futures of a run as are kept."""

    def __init__(self) -> None:
        super().__init__(f"no more than {MOST_FORKS} futures are kept: forget one first")


@dataclass(slots=True)
class Fork:
    """One future of the run.

    Attributes:
        number: unique among those that ever were.
        origin: the number of the fork from whose past it was begun; None for the first one.
        from_ms: until when its past is that of its origin.
        past_acts: how many of its acts it has from its origin.
        at_ms: the time on its clock: in the beginning, from_ms.
        taken, refusals_taken: how many parts and refusals were taken.
    """

    number: int
    name: str
    origin: int | None
    from_ms: int
    past_acts: int
    run: PlayedRun
    at_ms: float = field(init=False)
    taken: int = 0
    refusals_taken: int = 0

    def __post_init__(self) -> None:
        self.at_ms = float(self.from_ms)

    @property
    def now_ms(self) -> int:
        return int(self.at_ms)

    @property
    def acts_with_refusals(self) -> list[tuple[Act, str | None]]:
        """Each act, and why it could not be done; None for those that were done and those that are to be done."""
        return [(act, self.run.refused.get(place)) for place, act in enumerate(self.run.acts)]

    @property
    def own_acts(self) -> list[Act]:
        """The acts since it was begun."""
        return self.run.acts[self.past_acts :]

    @property
    def is_untouched(self) -> bool:
        """Whether neither time has passed since it was begun nor anything was done."""
        return self.origin is not None and self.now_ms == self.from_ms and not self.own_acts


class PlayedCluster:
    """One cluster. Not for several threads; each run has a process of its own.

    Args:
        first: what is done from the beginning.
        processes: those of the runs; they may be those of other clusters, too.
        state: what the cluster is brought into before anything is done; None: it begins with nothing.

    Attributes:
        forks: all futures, by their numbers.
        fork: the one that goes on.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        first: Sequence[Act],
        processes: RunProcesses,
        state: ControlPlaneSnapshot | None = None,
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.speed = 1.0
        self.is_paused = False
        self._processes = processes
        self._state = state
        self._count = 1
        self.fork = Fork(0, NAMES[0], None, 0, 0, self._begin(first, 0))
        self.forks = {0: self.fork}
        self.finish_passing()
        self.take()

    def _begin(self, acts: Sequence[Act], until_ms: int) -> PlayedRun:
        return self._processes.begin(self.scenario, self.seed, acts, until_ms, self._state)

    @property
    def now_ms(self) -> int:
        return self.fork.now_ms

    @property
    def acts(self) -> Sequence[Act]:
        return self.fork.run.acts

    @property
    def acts_with_refusals(self) -> list[tuple[Act, str | None]]:
        """Each act, and why it could not be done; None for those that were done and those that are to be done."""
        return self.fork.acts_with_refusals

    @property
    def parts(self) -> Sequence[Happened]:
        """What has happened and was taken."""
        return self.fork.run.parts[: self.fork.taken]

    @property
    def events(self) -> list[Event]:
        """The events that have happened and were taken."""
        return events_of(self.parts)

    # --- time

    def pass_time(self, real_ms: float) -> None:
        """Let so much real time pass, at the speed of the clock. The clock waits for a run that is not as fast.

        Raises: RunFailedError.
        """
        run = self.fork.run
        run.take()
        if not self.is_paused and run.has_reached_limit:
            self.fork.at_ms += real_ms * self.speed
            if self.now_ms > run.limit_ms:
                run.allow_until(self.now_ms)

    def finish_passing(self) -> None:
        """Wait until everything has happened up to the present time of the clock. Raises: RunFailedError."""
        self._processes.wait_until_reached(self.fork.run)

    def next_event(self) -> None:
        """Pause, and let time pass to the next thing that happens. Raises: RunFailedError."""
        self.is_paused = True
        run = self.fork.run
        self._processes.wait_until_reached(run)
        before = len(run.parts)
        while len(run.parts) == before and run.next_ms is not None:
            self.fork.at_ms = float(max(run.next_ms, self.now_ms))
            run.allow_until(self.now_ms)
            self._processes.wait_until_reached(run)

    def go_on_to(self, until_ms: int) -> None:
        """Pause, and let time pass at once to a moment in the future."""
        self.is_paused = True
        self.fork.at_ms = float(max(until_ms, self.now_ms))
        self.fork.run.allow_until(self.now_ms)

    def ask_for_story(self) -> None:
        """Let the run report the facts about it; `fork.run.about` has them a little later."""
        self.fork.run.ask_for_story()

    def act(self, step: str, declares: Mapping[str, Any] | None = None) -> Act:
        return self.fork.run.act(step, declares)

    # --- futures

    def go_back(self, to_ms: int) -> None:
        """Begin another future, which has the same past until this moment, and pause there. The former one is kept.

        Raises: TooManyForksError; RunFailedError.
        """
        left = self.fork
        is_dropped = left.is_untouched
        if len(self.forks) - is_dropped >= MOST_FORKS:
            raise TooManyForksError
        self.is_paused = True
        acts = acts_until(left.run.acts, to_ms)
        run = self._begin(acts, to_ms)
        origin = left.origin if is_dropped else left.number
        used = {fork.name for fork in self.forks.values() if not (is_dropped and fork is left)}
        name = next(name for name in NAMES if name not in used)
        self.fork = Fork(self._count, name, origin, to_ms, len(acts), run)
        self.fork.refusals_taken = len(run.refused)
        self.forks[self._count] = self.fork
        self._count += 1
        if is_dropped:
            self.forget(left.number)

    def switch(self, number: int) -> None:
        """Show another future, and pause. A future in which nothing was done yet is left and forgotten. Raises: KeyError."""
        left, self.fork = self.fork, self.forks[number]
        self.is_paused = True
        if left is not self.fork and left.is_untouched:
            self.forget(left.number)

    def forget(self, number: int) -> None:
        """End a future that is not shown. Raises: KeyError; ValueError, if it is shown."""
        if number == self.fork.number:
            raise ValueError("the future that is shown is not forgotten")
        self._processes.end(self.forks.pop(number).run)

    # --- what came of it

    def take(self) -> tuple[list[Happened], list[tuple[Act, str]]]:
        """Return what has happened since the last call, and the acts that could not be done, each with why.

        Raises: RunFailedError.
        """
        fork, run = self.fork, self.fork.run
        self._processes.take_started()
        run.take()
        new, refusals = run.parts[fork.taken :], list(run.refused.items())[fork.refusals_taken :]
        fork.taken, fork.refusals_taken = len(run.parts), len(run.refused)
        return new, [(run.acts[place], why) for place, why in refusals]

    @property
    def begins_with_nothing(self) -> bool:
        """Whether a scenario file can say how it has begun."""
        return self._state is None

    def as_tree(self, fork: Fork | None = None) -> dict[str, Any]:
        """Return the cluster and all that was done to it as a scenario: run with the same seed, it is the same run.

        Args:
            fork: the future; the one that is shown if none is given.
        """
        done = [act for act, why in (fork or self.fork).acts_with_refusals if why is None]
        return as_tree(self.scenario, done)

    def count_records(self, forks: Iterable[Fork]) -> None:
        """Let `run.records` of some futures be the fate of the records at their present moments. Raises: RunFailedError."""
        for fork in forks:
            self._processes.wait_until_reached(fork.run)
            fork.run.ask_for_records()
            self._processes.wait_until_reached(fork.run)

    def proposals(self) -> list[dict[str, Any]]:
        """Return expectations that the cluster meets now, as a scenario file has them. Raises: RunFailedError."""
        self.finish_passing()
        self.fork.run.ask_for_expectations(list(self.as_tree()["cluster"].get("topics", {})))
        self.finish_passing()
        return self.fork.run.expected

    def close(self) -> None:
        """End the runs of all futures. The processes from which others can begin stay."""
        for fork in self.forks.values():
            self._processes.end(fork.run)
