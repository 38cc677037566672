"""What can be said of a cluster: conditions as they stand in a scenario file, to be waited for or expected.

Judging them is done in conditions.py.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.event_pattern import Pattern
from kcsim.scenarios.language.model import Model, hyphenated
from kcsim.scenarios.language.topic_words import (
    LeaderEpochs,
    Leaders,
    Partitions,
    PartitionsMoving,
    ReplicasOfEach,
    TopicsThere,
)
from kcsim.scenarios.language.words import BrokerNames, Duration, Somebody, wrong
from kcsim.scenarios.language.znode_words import JsonValue, ZnodePath

DEFAULT_WITHIN_MS = 15_000

Count = Annotated[int, Field(ge=0)]


class ZnodeIs(Model):
    """A znode as it should be. `data` is a subset: of a JSON object the given keys, else the text itself."""

    path: ZnodePath
    exists: bool = True
    data: JsonValue = None
    children: Count | None = None

    @model_validator(mode="after")
    def _check(self) -> "ZnodeIs":
        if not self.exists and (self.data is not None or self.children is not None):
            raise wrong("a znode that does not exist has neither data nor children", "exists")
        return self


class EventCount(Model):
    """How often an event must have happened."""

    of: Pattern
    at_least: Count | None = None
    at_most: Count | None = None
    exactly: Count | None = None

    @model_validator(mode="after")
    def _check(self) -> "EventCount":
        if self.at_least is self.at_most is self.exactly is None:
            raise wrong("say how often: exactly, at-least or at-most")
        if self.exactly is not None and (self.at_least is not None or self.at_most is not None):
            raise wrong("exactly leaves nothing for at-least or at-most to say", "exactly")
        return self


class Condition(Model):
    """What can be true of a cluster. Everything said must hold, at the same moment."""

    controller: Somebody | None = Field(None, description="Who holds /controller: a broker, any, none, not NAME.")
    controller_epoch: Count | None = Field(None, description="The number in /controller_epoch.")
    controller_epochs: Annotated[list[int], Field(min_length=1)] | None = Field(
        None, description="The epochs of all elections won so far, in order, and no others."
    )
    registered: BrokerNames | None = Field(None, description="These are in /brokers/ids.")
    unregistered: BrokerNames | None = Field(None, description="These are not in /brokers/ids.")
    re_registered: BrokerNames | None = Field(None, description="Registered, under a higher broker epoch than at first.")
    running: BrokerNames | None = Field(None, description="Their processes run.")
    paused: BrokerNames | None = Field(None, description="Their processes are frozen.")
    stopped: BrokerNames | None = Field(None, description="Their processes have ended in order.")
    dead: BrokerNames | None = Field(None, description="Their processes were killed.")
    session_expired: BrokerNames | None = Field(None, description="ZooKeeper has expired a session of each of these.")
    topics: TopicsThere | None = Field(None, description="These and no others are in /brokers/topics.")
    leader: Leaders | None = Field(None, description="Who leads, by the partitions' state: a broker, any, none, not NAME.")
    leader_epoch: LeaderEpochs | None = Field(None, description="The leader epochs in the partitions' states.")
    isr: ReplicasOfEach | None = Field(None, description="The in-sync replicas in the partitions' states, in any order.")
    replicas: ReplicasOfEach | None = Field(
        None, description="All replicas, those being added or removed included, the preferred leader first."
    )
    in_sync: Partitions | None = Field(None, description="Every replica of these is in the ISR.")
    leaders_preferred: Partitions | None = Field(None, description="The first of their replicas leads these.")
    reassigning: PartitionsMoving | None = Field(None, description="Partitions that are being moved: none, any, these.")
    offline_partitions: Count | None = Field(
        None, description="So many have no leader that is registered. Topics to be deleted do not count here and below."
    )
    under_replicated: Count | None = Field(None, description="So many have fewer replicas in the ISR than they should.")
    znode: ZnodeIs | None = Field(None, description="A znode's existence, data or number of children.")
    event: Pattern | None = Field(None, description="This has happened.")
    no_event: Pattern | None = Field(None, description="This has not happened.")
    events: EventCount | None = Field(None, description="This has happened so and so often.")
    order: Annotated[list[Pattern], Field(min_length=2)] | None = Field(
        None, description="These have happened, one after the other (with others in between)."
    )

    @model_validator(mode="after")
    def _says_something(self) -> "Condition":
        if not any(True for _ in self.parts()):
            raise wrong(f"nothing to hold; say one of {', '.join(map(hyphenated, Condition.model_fields))}")
        return self

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield what is said: (field, value)."""
        for name in Condition.model_fields:
            if (value := getattr(self, name)) is not None:
                yield name, value


def _says_something(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": [hyphenated(name)]} for name in Condition.model_fields]


class WaitFor(Condition):
    """A condition to wait for, bounded."""

    model_config = ConfigDict(json_schema_extra=_says_something)

    within: Duration = DEFAULT_WITHIN_MS


class Expectation(Condition):
    """A condition judged when the timetable is done, on all that happened."""

    model_config = ConfigDict(json_schema_extra=_says_something)

    claim: Annotated[str, Field(min_length=1)] | None = Field(None, description="The expectation in a sentence.")
    within: Duration | None = Field(None, description="It may still come true so long after the timetable is done.")
