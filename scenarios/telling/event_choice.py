"""Which event of a trace a person means: its number, or a kind and what it is about."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.scenarios.language.words import did_you_mean, listed
from kcsim.zk.events import Event, EventKind
from kcsim.zk.wording import named

FIRST, LAST = "first", "last"
NUMBER = re.compile(r"#?([0-9]+)")
NAMED_AT_MOST = 8


class EventChoiceError(Exception):
    """No event is meant, or more than one. Says what there is."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the event must be about; None: anything. `node` is the one in whose name it stands."""

    topic: str | None = None
    partition: int | None = None
    node: str | None = None

    def is_met_by(self, event: Event) -> bool:
        pairs = ((self.topic, event.topic), (self.partition, event.partition), (self.node, event.node))
        return all(wanted in (None, found) for wanted, found in pairs)

    def __str__(self) -> str:
        told = [("topic", self.topic), ("partition", self.partition), ("node", self.node)]
        return listed(f"{what} {value}" for what, value in told if value is not None)


def choose(events: Sequence[Event], text: str, wanted: Wanted) -> int:
    """Return the seq of the event meant.

    Args:
        text: 12, #12, a kind (LeaderElection, if there is only one), first:LeaderElection or last:LeaderElection.
        wanted: narrows a kind down.

    Raises: EventChoiceError. That a number stands for no event is found by who looks it up.
    """
    if number := NUMBER.fullmatch(text):
        return int(number[1])
    which, colon, name = text.rpartition(":")
    if colon and which not in (FIRST, LAST):
        raise EventChoiceError(f"{text!r}: write {FIRST}:{name} or {LAST}:{name}")
    kinds = {kind.value: kind for kind in EventKind}
    if name not in kinds:
        hint = did_you_mean(name, kinds) or "; write its number, or a kind of event as last:LeaderElection"
        raise EventChoiceError(f"{name!r} is no number and no kind of event{hint}")
    found = [event.seq for event in events if event.kind is kinds[name] and wanted.is_met_by(event)]
    about = f" with {wanted}" if str(wanted) else ""
    if not found:
        raise EventChoiceError(f"the trace has no {name}{about}")
    if which:
        return found[0 if which == FIRST else -1]
    if len(found) > 1:
        seqs = named([f"#{seq}" for seq in found], NAMED_AT_MOST)
        raise EventChoiceError(
            f"the trace has {len(found)} {name}{about}: {seqs}; name one, or {FIRST}:{name}, or {LAST}:{name}"
        )
    return found[0]
