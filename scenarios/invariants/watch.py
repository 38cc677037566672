"""Holds a run to its invariants: while it goes on, and at its end."""

from collections.abc import Callable, Sequence

from kcsim.scenarios.invariants.history import History, Inside
from kcsim.scenarios.invariants.invariant import Invariant, Violation, When
from kcsim.scenarios.state import ClusterState
from kcsim.zk.events import Event, EventKind

TOLD_AT_MOST = 25
"""Violations of one invariant that are kept; a run in which one thing goes wrong for ever has as many as it has events."""


class Watch:
    """Takes in events one by one, as they happen; subscribe its `see` to an event log.

    Args:
        invariants: those that the run is held to.
        inside: of simulated brokers: the cluster, so that they can be looked into.
        state: of a cluster, which folds each event before this watch sees it; None: the watch folds all events itself, and
            is shown the run from its first event on.
        on_violation: called with each as soon as it is found.

    Attributes:
        violations: in the order in which they were found.
    """

    def __init__(
        self,
        invariants: Sequence[Invariant],
        inside: Inside | None = None,
        state: ClusterState | None = None,
        on_violation: Callable[[Violation], None] | None = None,
    ) -> None:
        self.violations: list[Violation] = []
        self.history = History(inside, state)
        self._invariants = tuple(invariants)
        self._on_violation = on_violation
        self._said: dict[str, set[str]] = {}
        self._of_kind: dict[EventKind, tuple[Invariant, ...]] = {}
        for kind in EventKind:
            concerned = tuple(i for i in self._invariants if i.when is When.SAFETY and kind in i.kinds)
            if concerned:
                self._of_kind[kind] = concerned

    def see(self, event: Event) -> None:
        """Take the next event in, and look whether it breaks something."""
        history = self.history
        history.apply(event)
        for invariant in self._of_kind.get(event.kind, ()):
            for sentence in invariant.check(history):
                self._add(invariant, sentence, event.seq)

    def at_end(self, quiet: bool, whole: bool) -> None:
        """The run is over: look at what has to be so then.

        Args:
            quiet: nothing has happened for a while.
            whole: every fault was undone, and everybody has had time to recover; then it should be quiet, too.
        """
        self.history.is_at_rest = quiet
        wanted = {When.ONCE_QUIET: quiet or whole, When.ONCE_WHOLE: whole}
        for invariant in self._invariants:
            if wanted.get(invariant.when):
                for sentence in invariant.check(self.history):
                    self._add(invariant, sentence)

    def _add(self, invariant: Invariant, sentence: str, seq: int | None = None) -> None:
        said = self._said.setdefault(invariant.name, set())
        if sentence in said or len(said) >= TOLD_AT_MOST:
            return
        said.add(sentence)
        violation = Violation(invariant, sentence, seq)
        self.violations.append(violation)
        if self._on_violation is not None:
            self._on_violation(violation)
