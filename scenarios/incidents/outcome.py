"""What happened after the first fault, in the logs and in a simulated run, and how the two differ.

Both are event logs, so one fold makes both outcomes. Compared are registrations, controllers with their epochs, and for each
partition its leaders and ISRs in order; times are shown, and differ because machines do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.eventlog.cluster_state import BELOW_BROKER_IDS, ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.outage_view import OutageView
from kcsim.eventlog.outages import OutageTracker
from kcsim.eventlog.state_changes import PartitionChanged
from kcsim.scenarios.engine.python_running import run
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.vocabulary import TopicPartition

Led = tuple[int | None, tuple[int, ...]]
"""A partition's leader, None if it has none, and its ISR as stored."""
SEEDS = 12
"""Runs that are tried: which of several brokers becomes the controller is a race, which the seed decides."""


@dataclass(frozen=True, slots=True)
class Milestone:
    """One step of an outcome. Attributes: what: for people, and the same in both outcomes. after_ms: the first fault."""

    what: str
    after_ms: int


@dataclass(frozen=True, slots=True)
class IncidentOutcome:
    """What happened from the first fault on.

    Attributes:
        milestones: registrations that ended and began, and controllers, in order.
        elections: how far the controller epoch was raised.
        before: each partition with its leader and ISR at the first fault.
        partitions: each partition with what its leader and ISR became, one after another.
        outages_ms: partitions that clients could not use for a time -> for how long altogether, as far as is shown.
    """

    milestones: tuple[Milestone, ...]
    elections: int
    before: Mapping[TopicPartition, Led]
    partitions: Mapping[TopicPartition, tuple[Led, ...]]
    outages_ms: Mapping[TopicPartition, int]

    @property
    def failovers(self) -> tuple[Milestone, ...]:
        return tuple(one for one in self.milestones if one.what.endswith(" becomes the controller"))

    @property
    def losses(self) -> tuple[Milestone, ...]:
        return tuple(one for one in self.milestones if one.what.endswith(" loses its registration"))


def outcome_of(events: Iterable[Event], first_ms: int) -> IncidentOutcome:
    """Return the outcome of the events from a time on, ms after the first event."""
    fold = _OutcomeFold(first_ms)
    for event in events:
        if event.kind is EventKind.RUN_ENDED:
            break
        fold.take(event)
    return fold.outcome()


@dataclass
class _OutcomeFold:
    first_ms: int
    state: ClusterState = field(default_factory=ClusterState)
    milestones: list[Milestone] = field(default_factory=list)
    before: dict[TopicPartition, Led] = field(default_factory=dict)
    partitions: dict[TopicPartition, list[Led]] = field(default_factory=dict)
    elections: int = 0

    def __post_init__(self) -> None:
        self._outages = OutageTracker(self.state)

    def take(self, event: Event) -> None:
        self._outages.advance_to(event.t_ms)
        self.state.apply(event)
        self._outages.follow_changes()
        for change in self.state.changes:
            if isinstance(change, PartitionChanged):
                self._change(event, change)
        if event.t_ms < self.first_ms:
            return
        path = event.path or ""
        if event.kind is EventKind.ZNODE_DELETED and path.startswith(BELOW_BROKER_IDS):
            self._add(event, f"broker-{path.removeprefix(BELOW_BROKER_IDS)} loses its registration")
        elif event.kind is EventKind.BROKER_REGISTERED:
            self._add(event, f"broker-{event.broker_id} registers")
        elif event.kind is EventKind.ELECTION_WON:
            self.elections += 1
            self._add(event, f"broker-{event.controller_id} becomes the controller")

    def _add(self, event: Event, what: str) -> None:
        self.milestones.append(Milestone(what, event.t_ms - self.first_ms))

    def _change(self, event: Event, change: PartitionChanged) -> None:
        if change.after is None:
            if event.t_ms >= self.first_ms:
                self.partitions.setdefault(change.partition, []).append((None, ()))
            else:
                self.before.pop(change.partition, None)
            return
        led = (change.after.leader_and_isr.leader, tuple(map(int, change.after.leader_and_isr.isr)))
        if event.t_ms < self.first_ms:
            self.before[change.partition] = led
        else:
            self.partitions.setdefault(change.partition, []).append(led)

    def outcome(self) -> IncidentOutcome:
        changed = {tp: tuple(states) for tp, states in self.partitions.items()}
        return IncidentOutcome(tuple(self.milestones), self.elections, self.before, changed, self._outages_ms())

    def _outages_ms(self) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for outage in self._outages.so_far().outages:
            if outage.view == OutageView.CLIENTS and outage.until_ms > self.first_ms:
                tp = TopicPartition(outage.topic, outage.partition)
                found[tp] = found.get(tp, 0) + outage.until_ms - max(outage.from_ms, self.first_ms)
        return found


# --- differences


IN_LOGS_AND_SIMULATED = ("in the logs", "simulated")
Names = tuple[str, str]
"""How the two outcomes are called in the text of a difference."""


def differences(one: IncidentOutcome, other: IncidentOutcome, names: Names = IN_LOGS_AND_SIMULATED) -> list[str]:
    """Return in which points two outcomes differ, one line for each; times are not compared."""
    parts = (_before, _order, _epochs, _partitions)
    return [line for part in parts for line in part(one, other, names)]


def _before(one: IncidentOutcome, other: IncidentOutcome, names: Names) -> Iterator[str]:
    for tp in sorted({*one.before} | {*other.before}):
        first, second = one.before.get(tp), other.before.get(tp)
        if first != second:
            yield f"{tp}, before the first fault: {_led(first)} {names[0]}, {_led(second)} {names[1]}"


def _order(one: IncidentOutcome, other: IncidentOutcome, names: Names) -> Iterator[str]:
    first, second = ([milestone.what for milestone in outcome.milestones] for outcome in (one, other))
    if first == second:
        return
    if sorted(first) == sorted(second):
        yield f"order: {'; '.join(first)} {names[0]}; {'; '.join(second)} {names[1]}"
        return
    for what in dict.fromkeys([*first, *second]):
        if first.count(what) != second.count(what):
            yield f"{what}: {_times(first.count(what))} {names[0]}, {_times(second.count(what))} {names[1]}"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _epochs(one: IncidentOutcome, other: IncidentOutcome, names: Names) -> Iterator[str]:
    if one.elections != other.elections:
        yield f"controller epoch: raised by {one.elections} {names[0]}, by {other.elections} {names[1]}"


def _partitions(one: IncidentOutcome, other: IncidentOutcome, names: Names) -> Iterator[str]:
    for tp in sorted({*one.partitions} | {*other.partitions}):
        first, second = one.partitions.get(tp, ()), other.partitions.get(tp, ())
        if first != second:
            end = ", with the same end" if first[-1:] == second[-1:] else ""
            yield f"{tp}: {_path(first)} {names[0]}, {_path(second)} {names[1]}{end}"


def _path(states: Sequence[Led]) -> str:
    return " → ".join(map(_led, states)) if states else "unchanged"


def _led(state: Led | None) -> str:
    if state is None or state == (None, ()):
        return "none"
    leader, isr = state
    return f"{'no leader' if leader is None else leader} {list(isr)}"


# --- runs


@dataclass(frozen=True, slots=True)
class SimulatedOutcome:
    """The run of a scenario.

    Attributes:
        differences: from the outcome with which it was compared.
        held: whether the scenario's expectations and the invariants held.
        failure: why the run ended before the end of its timetable; None: it did not.
    """

    outcome: IncidentOutcome
    differences: tuple[str, ...]
    seed: int
    held: bool
    failure: str | None


def nearest_run(loaded: LoadedScenario, logs: IncidentOutcome, first_ms: int) -> SimulatedOutcome:
    """Run a scenario with several seeds in virtual time, and return the run that differs least from the logs."""
    best: SimulatedOutcome | None = None
    for seed in range(1, SEEDS + 1):
        found = simulated_outcome(loaded, logs, first_ms, seed)
        if best is None or len(found.differences) < len(best.differences):
            best = found
        if not best.differences:
            break
    assert best is not None
    return best


def simulated_outcome(
    loaded: LoadedScenario, other: IncidentOutcome, first_ms: int, seed: int, names: Names = IN_LOGS_AND_SIMULATED
) -> SimulatedOutcome:
    """Run a scenario in virtual time, and compare its outcome with another one."""
    ran = run(loaded.scenario, seed=seed)
    outcome = outcome_of(ran.events, first_ms)
    failure = None if ran.verdict.failure is None else str(ran.verdict.failure)
    return SimulatedOutcome(outcome, tuple(differences(other, outcome, names)), seed, ran.held, failure)
