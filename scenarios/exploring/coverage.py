"""What of the system a run has come through, out of all that there is: states, controller events, rules, faults, acts.

What there is comes from the tables of the code itself, so that what is added there is missed here until a run reaches it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, get_args

from kcsim.brokers.log_retention import RetentionRule
from kcsim.brokers.log_segments import RollReason
from kcsim.controller.decisions.election import ElectionRule
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import ControllerEvent
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.steps import VERBS, verb_of_step
from kcsim.scenarios.process import ProcessState
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.operations import SessionState

STOPPED = "stopped"
"""How a broker's process is once it has ended in order; no state of a process that there is."""


class Reached(NamedTuple):
    """Something that a run has come through: what kind of thing, and which."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """One kind of thing to be reached.

    Attributes:
        all: every one that there is.
        seen_in: the events that tell of one; empty: told by the timetable.
        read: what such an event says was reached.
    """

    kind: str
    all: tuple[str, ...]
    seen_in: tuple[EventKind, ...]
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


FIELDS: Sequence[Field] = (
    Field("partition state", tuple(PartitionMachineState), (EventKind.PARTITION_STATE_CHANGE,), _state),
    Field("replica state", tuple(ReplicaMachineState), (EventKind.REPLICA_STATE_CHANGE,), _state),
    Field("broker state", (*(state.value for state in ProcessState), STOPPED), (EventKind.PROCESS_STATE,), _state),
    Field("session state", tuple(state.value for state in SessionState), (EventKind.SESSION_STATE,), _state),
    Field(
        "controller event",
        tuple(event.__name__ for event in get_args(ControllerEvent)),
        (EventKind.CONTROLLER_EVENT_BEGUN,),
        _controller_event,
    ),
    Field("election rule", tuple(ElectionRule), (EventKind.LEADER_ELECTION,), _rule),
    Field("reason to roll a segment", tuple(RollReason), (EventKind.SEGMENT_ROLLED,), _rule),
    Field("reason to delete a segment", tuple(RetentionRule), (EventKind.SEGMENT_DELETED,), _rule),
    Field(
        "kind of znode",
        tuple(kind.value for kind in paths.PathKind),
        (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED),
        lambda event: _kind_of_znode(event.path or ""),
    ),
    Field("event", tuple(EventKind), tuple(EventKind), lambda event: (event.kind,)),
    Field("step", VERBS, (), lambda _: ()),
)
"""All kinds of things there are to be reached, in the order in which they are told."""

_READERS: Mapping[EventKind, Sequence[Field]] = {
    kind: [field for field in FIELDS if kind in field.seen_in] for kind in EventKind
}


def reached_by(scenario: Scenario, events: Iterable[Event]) -> frozenset[Reached]:
    """All that one run has come through."""
    return frozenset(_reached(scenario, events))


def _reached(scenario: Scenario, events: Iterable[Event]) -> Iterator[Reached]:
    left = Counter(verb_of_step(step) for step in scenario.timetable)
    seen = set[tuple[EventKind, str | None, str | None, str | None]]()
    for event in events:
        kind = event.kind
        if kind is EventKind.STEP_SKIPPED and event.op is not None:
            left[event.op] -= 1
        # Most events of a run are like one before in all that is read of them here.
        like = (kind, event.state, event.rule, event.event or event.path)
        if like in seen:
            continue
        seen.add(like)
        for each in _READERS[kind]:
            for name in each.read(event):
                yield Reached(each.kind, str(name))
    for verb, done in left.items():
        if done > 0:
            yield Reached("step", verb)


@dataclass
class Coverage:
    """How many runs have reached what.

    Attributes:
        runs: how many there were.
    """

    runs: int = 0
    _counts: Counter[Reached] = field(default_factory=Counter)

    def add(self, reached: Iterable[Reached]) -> None:
        """Take one more run in."""
        self.runs += 1
        self._counts.update(reached)

    def of(self, kind: str) -> dict[str, int]:
        """How many runs have reached each thing of a kind, 0 included."""
        (known,) = (each for each in FIELDS if each.kind == kind)
        return {str(name): self._counts[Reached(kind, str(name))] for name in known.all}

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(each.kind for each in FIELDS)

    def never(self) -> list[Reached]:
        """What no run has reached."""
        return [Reached(kind, name) for kind in self.kinds for name, count in self.of(kind).items() if count == 0]
