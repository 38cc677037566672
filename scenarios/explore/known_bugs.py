"""Known bugs of Kafka itself, which a faithful controller reproduces, and how to tell them from bugs of this simulator.

A run shows a known bug when its event log matches the bug's signature. The violations that the bug causes are then counted
separately; every other failure of the run stays unknown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from ruamel.yaml import YAML

from kcsim.brokers.invariants import INVARIANTS
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.explore.simulation import CRASHED, ENDLESS, RunFailure
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.value_types import validation_error
from kcsim.text import did_you_mean

KNOWN_BUGS = Path(__file__).parent / "known_bugs.yaml"


def _explained_invariant(name: str) -> str:
    names = (*(invariant.name for invariant in INVARIANTS), ENDLESS)
    if name not in names or name == CRASHED:
        raise validation_error(f"unknown invariant {name!r}{did_you_mean(name, names)}")
    return name


class KnownBug(Model):
    """One known bug.

    The attributes are explained in the file itself.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    what: Annotated[str, Field(min_length=1, description="What goes wrong, and what ends it.")]
    seen_in: Annotated[str, Field(min_length=1, description="Which Kafka.")]
    shown: Literal["recorded", "source", "reported"] = Field(
        description="recorded: seen on a running Kafka. source: read in its source. reported: by others, in this issue."
    )
    issue: str | None = Field(None, description="Where it was reported.")
    explains: Annotated[list[Annotated[str, AfterValidator(_explained_invariant)]], Field(min_length=1)] = Field(
        description="The invariants that do not hold then, or endless."
    )
    signature: Condition | list[Condition] = Field(
        description="What the event log has then, in the words of a scenario's expectations; of a list, any one."
    )
    scenario: str | None = Field(None, description="The scenario of the library that shows it.")

    @property
    def signatures(self) -> list[Condition]:
        """The conditions of which any one is enough."""
        return self.signature if isinstance(self.signature, list) else [self.signature]


@cache
def known_bugs() -> tuple[KnownBug, ...]:
    """Return all known bugs, in the order of the file."""
    read = YAML(typ="safe").load(KNOWN_BUGS.read_text(encoding="utf-8"))
    return tuple(KnownBug.model_validate(entry) for entry in read)


@dataclass(frozen=True)
class ClassifiedFailures:
    """The failures of a run, classified.

    Attributes:
        unknown: failures that no known bug explains.
        known: name of a bug -> the failures that it explains.
    """

    unknown: tuple[RunFailure, ...]
    known: dict[str, tuple[RunFailure, ...]]


def classify_failures(
    failures: Sequence[RunFailure], events: Sequence[Event], bugs: Iterable[KnownBug] | None = None
) -> ClassifiedFailures:
    """Separate failures that known bugs explain from unknown ones.

    Args:
        events: all events of the run.
        bugs: the known bugs; by default those of the file.
    """
    unknown, known = list(failures), dict[str, tuple[RunFailure, ...]]()
    if not failures:
        return ClassifiedFailures((), {})
    context = _context(events)
    for bug in known_bugs() if bugs is None else bugs:
        explained = tuple(one for one in unknown if one.invariant in bug.explains)
        if explained and any(evaluate(signature, context).holds for signature in bug.signatures):
            known[bug.name] = explained
            unknown = [one for one in unknown if one not in explained]
    return ClassifiedFailures(tuple(unknown), known)


def _context(events: Sequence[Event]) -> EvaluationContext:
    state = ClusterState()
    for event in events:
        state.apply(event)
    brokers = tuple(sorted({event.node for event in events if event.node.startswith("broker-")}))
    return EvaluationContext(events, state, brokers, {})
