"""The results of many runs, aggregated as they come in, in the order of their seeds."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcsim.scenarios.explore.coverage import Coverage
from kcsim.scenarios.explore.simulation import ENDLESS, RunFailure
from kcsim.scenarios.explore.trial import TrialResult


@dataclass
class Campaign:
    """Aggregates runs. `add` must get them in the order of their seeds: the result then does not depend on who ran them.

    Attributes:
        seeds: the first and the last seed that was run; None if none was.
        failing: runs with unknown failures.
        violations: key of an unknown failure -> number of runs with it.
        known: name of a known bug -> number of runs that show it, and the first of their seeds.
    """

    coverage: Coverage = field(default_factory=Coverage)
    seeds: tuple[int, int] | None = None
    events: int = 0
    virtual_ms: int = 0
    failing: list[TrialResult] = field(default_factory=list)
    violations: Counter[str] = field(default_factory=Counter)
    known: dict[str, tuple[int, int]] = field(default_factory=dict)
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, result: TrialResult) -> None:
        """Add the result of one run."""
        self.seeds = (self.seeds[0] if self.seeds else result.seed, result.seed)
        self.coverage.add(result.reached)
        self.events += result.events
        self.virtual_ms += result.ended_ms
        self._digest.update(f"{result.seed} {result.scenario_digest} {result.trace_digest} {result.exit_status}\n".encode())
        for found in result.violations:
            self.violations[found.key] += 1
        if result.violations:
            self.failing.append(result)
        for name in result.known:
            count, first = self.known.get(name, (0, result.seed))
            self.known[name] = (count + 1, first)

    @property
    def runs(self) -> int:
        return self.coverage.runs

    @property
    def digest(self) -> str:
        """Digest of all scenarios, traces and verdicts: the same seeds give the same digest."""
        return self._digest.hexdigest()

    def first_of_each(self) -> Iterator[tuple[TrialResult, RunFailure]]:
        """Yield, for each unknown failure, a run in which it happened first or, if there is none, the first run with it.

        ENDLESS is skipped if all runs with it have another unknown failure, too: it takes long, and explains less.
        """
        for key in self.violations:
            of_it = [(result, found) for result in self.failing for found in result.violations if found.key == key]
            if key == ENDLESS and all(len(result.violations) > 1 for result, _ in of_it):
                continue
            yield next(((t, f) for t, f in of_it if t.violations[0] is f), of_it[0])
