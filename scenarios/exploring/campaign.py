"""What came of many runs, summed up as they come in, in the order of their seeds."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcsim.scenarios.exploring.coverage import Coverage
from kcsim.scenarios.exploring.playing import ENDLESS, Found
from kcsim.scenarios.exploring.trying import Tried


@dataclass
class Campaign:
    """Take each run in with `add`, in the order of their seeds: then the sum does not depend on who ran them.

    Attributes:
        seeds: the first and the last that were run; None if none was.
        failing: runs in which something unknown is wrong.
        violations: what is wrong -> in how many runs.
        known: name of a known fault -> in how many runs it was seen, and the first seed of these.
    """

    coverage: Coverage = field(default_factory=Coverage)
    seeds: tuple[int, int] | None = None
    events: int = 0
    virtual_ms: int = 0
    failing: list[Tried] = field(default_factory=list)
    violations: Counter[str] = field(default_factory=Counter)
    known: dict[str, tuple[int, int]] = field(default_factory=dict)
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, tried: Tried) -> None:
        """Take one more run in."""
        self.seeds = (self.seeds[0] if self.seeds else tried.seed, tried.seed)
        self.coverage.add(tried.reached)
        self.events += tried.events
        self.virtual_ms += tried.ended_ms
        self._digest.update(f"{tried.seed} {tried.scenario_digest} {tried.trace_digest} {tried.exit_status}\n".encode())
        for found in tried.unknown:
            self.violations[found.key] += 1
        if tried.unknown:
            self.failing.append(tried)
        for name in tried.known:
            count, first = self.known.get(name, (0, tried.seed))
            self.known[name] = (count + 1, first)

    @property
    def runs(self) -> int:
        return self.coverage.runs

    @property
    def digest(self) -> str:
        """Of all scenarios, traces and verdicts: the same seeds give the same."""
        return self._digest.hexdigest()

    def first_of_each(self) -> Iterator[tuple[Tried, Found]]:
        """For each thing that is wrong, a run in which it was the first to go wrong if there is one, else the first run.

        That a run does not end is passed over where something else is wrong with it, too: it takes long, and tells less.
        """
        for key in self.violations:
            of_it = [(tried, found) for tried in self.failing for found in tried.unknown if found.key == key]
            if key == ENDLESS and all(len(tried.unknown) > 1 for tried, _ in of_it):
                continue
            yield next(((t, f) for t, f in of_it if t.unknown[0] is f), of_it[0])
