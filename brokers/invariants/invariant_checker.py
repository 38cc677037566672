"""Checks the invariants of a run, at each event and at the end of the run."""

from collections.abc import Callable, Sequence

from kcsim.brokers.invariants.history import InspectableCluster, RunHistory
from kcsim.brokers.invariants.invariant import CheckPhase, Invariant, Violation
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind

MAX_VIOLATIONS_KEPT = 25
"""Violations of one invariant that are kept. A run with a permanent defect could report one for every event."""


class InvariantChecker:
    """Checks each event as it happens. Subscribe `observe` to an event log.

    Args:
        invariants: the invariants to check.
        inside: the cluster, if its brokers are simulated, so that they can be inspected.
        state: a cluster state that is updated with each event before this checker sees the event; None: the checker folds
            all events itself and must observe the run from its first event on.
        on_violation: called with each violation as soon as it is found.

    Attributes:
        violations: in the order in which they were found.
    """

    def __init__(
        self,
        invariants: Sequence[Invariant],
        inside: InspectableCluster | None = None,
        state: ClusterState | None = None,
        on_violation: Callable[[Violation], None] | None = None,
    ) -> None:
        self.violations: list[Violation] = []
        self.history = RunHistory(inside, state)
        self._invariants = tuple(invariants)
        self._on_violation = on_violation
        self._reported: dict[str, set[str]] = {}
        self._of_kind: dict[EventKind, list[Invariant]] = {}
        for invariant in self._invariants:
            if invariant.phase is CheckPhase.SAFETY:
                for kind in invariant.kinds:
                    self._of_kind.setdefault(kind, []).append(invariant)

    def observe(self, event: Event) -> None:
        """Apply the next event, and check the invariants that an event of its kind can break."""
        history = self.history
        history.apply(event)
        for invariant in self._of_kind.get(event.kind, ()):
            for sentence in invariant.check(history):
                self._add(invariant, sentence, event.seq)

    def at_end(self, quiescent: bool, recovered: bool) -> None:
        """Check what must hold at the end of the run.

        Args:
            quiescent: nothing has happened for a while.
            recovered: every fault was undone, and all processes have had time to recover; then it should be quiescent, too.
        """
        self.history.is_quiescent = quiescent
        wanted = {CheckPhase.AT_QUIESCENCE: quiescent or recovered, CheckPhase.AFTER_RECOVERY: recovered}
        for invariant in self._invariants:
            if wanted.get(invariant.phase):
                for sentence in invariant.check(self.history):
                    self._add(invariant, sentence)

    def _add(self, invariant: Invariant, sentence: str, seq: int | None = None) -> None:
        reported = self._reported.setdefault(invariant.name, set())
        if sentence in reported or len(reported) >= MAX_VIOLATIONS_KEPT:
            return
        reported.add(sentence)
        violation = Violation(invariant, sentence, seq)
        self.violations.append(violation)
        if self._on_violation is not None:
            self._on_violation(violation)
