"""Faults of Kafka's own, which a faithful controller has too: how each is told from a fault of ours.

A run shows a known fault when its event log has what the signature says. Then those violations that the fault leads to are
counted apart; whatever else is wrong with the run stays unknown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from ruamel.yaml import YAML

from kcsim.scenarios.exploring.playing import CRASHED, ENDLESS, Found
from kcsim.scenarios.invariants import INVARIANTS
from kcsim.scenarios.judging.conditions import judge
from kcsim.scenarios.judging.seen import Seen
from kcsim.scenarios.language.claims import Condition
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.words import did_you_mean, wrong
from kcsim.scenarios.state import ClusterState
from kcsim.zk.events import Event

KNOWN_FAULTS = Path(__file__).parent / "known_faults.yaml"


def _finding(name: str) -> str:
    names = (*(invariant.name for invariant in INVARIANTS), ENDLESS)
    if name not in names or name == CRASHED:
        raise wrong(f"unknown invariant {name!r}{did_you_mean(name, names)}")
    return name


class KnownFault(Model):
    """One fault.

    Attributes are told in the file itself.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    what: Annotated[str, Field(min_length=1, description="What goes wrong, and what ends it.")]
    seen_in: Annotated[str, Field(min_length=1, description="Which Kafka.")]
    shown: Literal["recorded", "source", "reported"] = Field(
        description="recorded: seen on a running Kafka. source: read in its source. reported: by others, in this issue."
    )
    issue: str | None = Field(None, description="Where it was reported.")
    explains: Annotated[list[Annotated[str, AfterValidator(_finding)]], Field(min_length=1)] = Field(
        description="The invariants that do not hold then, or endless."
    )
    signature: Condition = Field(description="What the event log has then, in the words of a scenario's expectations.")
    scenario: str | None = Field(None, description="The scenario of the library that shows it.")


@cache
def known_faults() -> tuple[KnownFault, ...]:
    """All that are known, in the order of the file."""
    read = YAML(typ="safe").load(KNOWN_FAULTS.read_text(encoding="utf-8"))
    return tuple(KnownFault.model_validate(entry) for entry in read)


@dataclass(frozen=True)
class Sorted:
    """What was wrong with a run, sorted.

    Attributes:
        unknown: what no known fault explains.
        known: name of a fault -> what it explains.
    """

    unknown: tuple[Found, ...]
    known: dict[str, tuple[Found, ...]]


def sort_out(found: Sequence[Found], events: Sequence[Event], faults: Iterable[KnownFault] | None = None) -> Sorted:
    """Tell what is known from what is not.

    Args:
        events: all of the run.
        faults: those that are known; the file's if not given.
    """
    unknown, known = list(found), dict[str, tuple[Found, ...]]()
    if not found:
        return Sorted((), {})
    seen = _seen(events)
    for fault in known_faults() if faults is None else faults:
        explained = tuple(one for one in unknown if one.invariant in fault.explains)
        if explained and judge(fault.signature, seen).holds:
            known[fault.name] = explained
            unknown = [one for one in unknown if one not in explained]
    return Sorted(tuple(unknown), known)


def _seen(events: Sequence[Event]) -> Seen:
    state = ClusterState()
    for event in events:
        state.apply(event)
    brokers = tuple(sorted({event.node for event in events if event.node.startswith("broker-")}))
    return Seen(events, state, brokers, {})
