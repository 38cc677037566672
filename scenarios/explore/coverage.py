"""Measure what of the system a run has reached, out of all that exists: states, controller events, rules, faults, actions.

What exists is taken from the tables of the code itself, so that an addition to them is unreached until a run reaches it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, get_args

from kcsim.brokers.log.log_retention import RetentionRule
from kcsim.brokers.log.log_segments import RollReason
from kcsim.brokers.network.process_states import ProcessState
from kcsim.controller.decisions.election import ElectionRule
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import ControllerEvent
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.steps import VERBS
from kcsim.zk.operations import SessionState
from kcsim.znodes import paths

STOPPED = "stopped"
"""The state of a broker's process after an orderly end; it is not a ProcessState."""


class CoveragePoint(NamedTuple):
    """Something that a run has reached: its kind and its name."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class CoverageCategory:
    """One kind of thing that can be reached.

    Attributes:
        all: the names of all things of this kind.
        seen_in: the kinds of events that show one; empty if the timetable shows it.
        read: returns the names that such an event shows as reached.
    """

    kind: str
    all: tuple[str, ...]
    seen_in: Collection[EventKind]
    read: Callable[[Event], Iterable[str]]


def _state(event: Event) -> Iterable[str]:
    return (event.state,) if event.state else ()


def _rule(event: Event) -> Iterable[str]:
    return event.rule.split(", ") if event.rule else ()


def _controller_event(event: Event) -> Iterable[str]:
    return ((event.event or "").partition("(")[0],)


@cache
def _kind_of_znode(path: str) -> tuple[str, ...]:
    known = paths.parse(path)
    return (known.kind.value,) if known else ()


CATEGORIES: Sequence[CoverageCategory] = (
    CoverageCategory("partition state", tuple(PartitionMachineState), (EventKind.PARTITION_STATE_CHANGE,), _state),
    CoverageCategory("replica state", tuple(ReplicaMachineState), (EventKind.REPLICA_STATE_CHANGE,), _state),
    CoverageCategory(
        "broker state", (*(state.value for state in ProcessState), STOPPED), (EventKind.PROCESS_STATE,), _state
    ),
    CoverageCategory("session state", tuple(state.value for state in SessionState), (EventKind.SESSION_STATE,), _state),
    CoverageCategory(
        "controller event",
        tuple(event.__name__ for event in get_args(ControllerEvent)),
        (EventKind.CONTROLLER_EVENT_BEGUN,),
        _controller_event,
    ),
    CoverageCategory("election rule", tuple(ElectionRule), (EventKind.LEADER_ELECTION,), _rule),
    CoverageCategory("reason to roll a segment", tuple(RollReason), (EventKind.SEGMENT_ROLLED,), _rule),
    CoverageCategory("reason to delete a segment", tuple(RetentionRule), (EventKind.SEGMENT_DELETED,), _rule),
    CoverageCategory(
        "kind of znode",
        tuple(kind.value for kind in paths.PathKind),
        ZNODE_CHANGES,
        lambda event: _kind_of_znode(event.path or ""),
    ),
    CoverageCategory("event", tuple(EventKind), tuple(EventKind), lambda event: (event.kind,)),
    CoverageCategory("step", VERBS, (), lambda _: ()),
)
"""All kinds of things that can be reached, in the order in which they are reported."""

_READERS: Mapping[EventKind, Sequence[CoverageCategory]] = {
    kind: [field for field in CATEGORIES if kind in field.seen_in] for kind in EventKind
}


def reached_by(scenario: Scenario, events: Iterable[Event]) -> frozenset[CoveragePoint]:
    """Return everything that one run has reached."""
    return frozenset(_reached(scenario, events))


def _reached(scenario: Scenario, events: Iterable[Event]) -> Iterator[CoveragePoint]:
    left = Counter(step.verb() for step in scenario.timetable)
    seen = set[tuple[EventKind, str | None, str | None, str | None]]()
    skipped = EventKind.STEP_SKIPPED
    for event in events:
        kind = event.kind
        if kind is skipped and event.op is not None:
            left[event.op] -= 1
        # Most events repeat an earlier event in all columns that are read here.
        like = (kind, event.state, event.rule, event.event or event.path)
        if like in seen:
            continue
        seen.add(like)
        for each in _READERS[kind]:
            for name in each.read(event):
                yield CoveragePoint(each.kind, str(name))
    for verb, done in left.items():
        if done > 0:
            yield CoveragePoint("step", verb)


@dataclass
class Coverage:
    """Counts the runs that reached each thing.

    Attributes:
        runs: number of runs that were added.
    """

    runs: int = 0
    _counts: Counter[CoveragePoint] = field(default_factory=Counter)

    def add(self, reached: Iterable[CoveragePoint]) -> None:
        """Add what one run has reached."""
        self.runs += 1
        self._counts.update(reached)

    def of(self, kind: str) -> dict[str, int]:
        """Return, for each thing of a kind, the number of runs that reached it, 0 included."""
        (known,) = (each for each in CATEGORIES if each.kind == kind)
        return {str(name): self._counts[CoveragePoint(kind, str(name))] for name in known.all}

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(each.kind for each in CATEGORIES)

    def never(self) -> list[CoveragePoint]:
        """Return what no run has reached."""
        return [CoveragePoint(kind, name) for kind in self.kinds for name, count in self.of(kind).items() if count == 0]
