"""The event of a trace that a person refers to: by its number, or by its kind and subject."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.eventlog.events import Event, EventKind
from kcsim.text import comma_separated, did_you_mean, summarize

FIRST, LAST = "first", "last"
LAST_ERROR_OF_A_CLIENT = f"{LAST}:{EventKind.CLIENT_ERROR}"
NUMBER = re.compile(r"#?([0-9]+)")
NAMED_AT_MOST = 8


class EventChoiceError(Exception):
    """The text matches no event, or more than one. The message says which events there are."""


@dataclass(frozen=True, slots=True)
class EventCriteria:
    """The required subject of the event; None: any.

    Attributes:
        node: of the event itself.
        client: the client id of a Kafka client from outside the run.
        error: ZooKeeper's or Kafka's name of the error.
    """

    topic: str | None = None
    partition: int | None = None
    node: str | None = None
    client: str | None = None
    error: str | None = None

    def is_met_by(self, event: Event) -> bool:
        pairs = (
            *((self.topic, event.topic), (self.partition, event.partition), (self.node, event.node)),
            *((self.client, event.client_id), (self.error, event.error)),
        )
        return all(wanted in (None, found) for wanted, found in pairs)

    def __str__(self) -> str:
        parts = [
            *(("topic", self.topic), ("partition", self.partition), ("node", self.node)),
            *(("client", self.client), ("error", self.error)),
        ]
        return comma_separated(f"{what} {value}" for what, value in parts if value is not None)


def choose(events: Sequence[Event], text: str, criteria: EventCriteria) -> int:
    """Return the seq of the event that a text denotes.

    Args:
        text: 12, #12, a kind (LeaderElection, if there is only one), first:LeaderElection or last:LeaderElection.
        criteria: restrict the events of a kind.

    Raises: EventChoiceError. A number is not checked here: the caller finds out whether there is such an event.
    """
    if number := NUMBER.fullmatch(text):
        return int(number[1])
    which, colon, name = text.rpartition(":")
    if colon and which not in (FIRST, LAST):
        raise EventChoiceError(f"{text!r}: write {FIRST}:{name} or {LAST}:{name}")
    kinds = {kind.value: kind for kind in EventKind}
    if name not in kinds:
        hint = did_you_mean(name, kinds) or "; write its number, or a kind that `kcsim events` lists, as last:LeaderElection"
        raise EventChoiceError(f"{name!r} is no number and no kind of event{hint}")
    found = [event.seq for event in events if event.kind is kinds[name] and criteria.is_met_by(event)]
    about = f" with {criteria}" if str(criteria) else ""
    if not found:
        raise EventChoiceError(f"the trace has no {name}{about}")
    if which:
        return found[0 if which == FIRST else -1]
    if len(found) > 1:
        seqs = summarize([f"#{seq}" for seq in found], NAMED_AT_MOST)
        raise EventChoiceError(
            f"the trace has {len(found)} {name}{about}: {seqs}; name one, or {FIRST}:{name}, or {LAST}:{name}"
        )
    return found[0]
