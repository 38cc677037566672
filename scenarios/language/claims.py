"""What can be said of a cluster: conditions as they stand in a scenario file, to be waited for or expected.

Judging them is done in conditions.py.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.consumer_words import Groups, MovedPartitions, OwnedPartitions, Unconsumed
from kcsim.scenarios.language.event_pattern import EventPattern, Pattern
from kcsim.scenarios.language.metric_words import Metrics
from kcsim.scenarios.language.model import Model, hyphenated
from kcsim.scenarios.language.record_words import Counts
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

COUNTED_AT_THE_END = ("lost", "lost_everywhere", "incomplete", "unacknowledged", "duplicated", "divergent")
"""Fields of Condition about where records are: the logs are looked at once, when the timetable is done."""


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


class TimeBetween(Model):
    """How long it must have been from one event to the next of another kind."""

    from_: Pattern
    to: Pattern = Field(description="The first such event after it.")
    at_least: Duration | None = None
    at_most: Duration | None = None
    each: bool = Field(False, description="Of every such event to the one that follows it, and not of the first only.")

    @model_validator(mode="after")
    def _check(self) -> "TimeBetween":
        if self.at_least is self.at_most is None:
            raise wrong("say how long: at-most, at-least or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise wrong("no time is at least as long as that and at most as long as this", "at-most")
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
    acknowledged: Counts | None = Field(None, description="So many records were acknowledged; told by the second.")
    given_up: Counts | None = Field(None, description="So many records have failed for good, as their producers see it.")
    lost: Counts | None = Field(None, description="So many acknowledged records are not in the log of the leader.")
    lost_everywhere: Counts | None = Field(None, description="So many of these are on no replica at all.")
    incomplete: Counts | None = Field(None, description="So many acknowledged records are not on every replica.")
    unacknowledged: Counts | None = Field(None, description="So many records are in the log and were not acknowledged.")
    duplicated: Counts | None = Field(None, description="So many records are in the log once too often.")
    divergent: Counts | None = Field(
        None, description="At so many offsets below the high watermark replicas have different records."
    )
    groups: Groups | None = Field(None, description="State and generation of consumer groups.")
    assignment: OwnedPartitions | None = Field(
        None, description="What consumers consume, as they see it: these and no others."
    )
    moved: MovedPartitions | None = Field(None, description="Partitions of a group that have gone to another consumer.")
    unconsumed: Unconsumed | None = Field(
        None, description="For how long nobody in a group consumed a partition at a stretch, once somebody had."
    )
    metrics: Metrics | None = Field(
        None, description="The controller's metrics under Kafka's names, summed over all brokers."
    )
    znode: ZnodeIs | None = Field(None, description="A znode's existence, data or number of children.")
    event: Pattern | None = Field(None, description="This has happened.")
    no_event: Pattern | None = Field(None, description="This has not happened.")
    events: EventCount | None = Field(None, description="This has happened so and so often.")
    order: Annotated[list[Pattern], Field(min_length=2)] | None = Field(
        None, description="These have happened, one after the other (with others in between)."
    )
    time_between: TimeBetween | None = Field(None, description="It took so long from one event to another.")

    @model_validator(mode="after")
    def _says_something(self) -> "Condition":
        if not any(True for _ in self.parts()):
            raise wrong(f"nothing to hold; say one of {', '.join(map(hyphenated, Condition.model_fields))}")
        return self

    def patterns(self) -> Iterator[EventPattern]:
        """Yield every event that it speaks of."""
        yield from (pattern for pattern in (self.event, self.no_event) if pattern is not None)
        yield from self.order or ()
        if self.events is not None:
            yield self.events.of
        if self.time_between is not None:
            yield self.time_between.from_
            yield self.time_between.to

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield what is said: (field, value)."""
        for name in Condition.model_fields:
            if (value := getattr(self, name)) is not None:
                yield name, value


def _says_something(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": [hyphenated(name)]} for name in Condition.model_fields]


def _says_something_that_can_be_seen(schema: dict[str, Any]) -> None:
    _says_something(schema)
    unseen = [hyphenated(name) for name in COUNTED_AT_THE_END]
    schema["anyOf"] = [part for part in schema["anyOf"] if part["required"][0] not in unseen]
    for name in unseen:
        del schema["properties"][name]


class WaitFor(Condition):
    """A condition to wait for, bounded."""

    model_config = ConfigDict(json_schema_extra=_says_something_that_can_be_seen)

    within: Duration = DEFAULT_WITHIN_MS

    @model_validator(mode="before")
    @classmethod
    def _is_condition(cls, value: object) -> object:
        if isinstance(value, dict | Model):
            return value
        told = f"{value!r} is no condition; write one as {{controller: any}}"
        raise wrong(f"{told}; to let time pass, write `after: 5s` at the step that comes then")

    @model_validator(mode="after")
    def _can_be_seen(self) -> "WaitFor":
        for name, _ in self.parts():
            if name in COUNTED_AT_THE_END:
                raise wrong(f"{hyphenated(name)} is counted when the timetable is done: expect it", hyphenated(name))
        return self


class Expectation(Condition):
    """A condition judged when the timetable is done, on all that happened."""

    model_config = ConfigDict(json_schema_extra=_says_something)

    claim: Annotated[str, Field(min_length=1)] | None = Field(None, description="The expectation in a sentence.")
    at: Duration | None = Field(
        None, description="Judged at this moment, so long after the timetable began; when it is done, if not given."
    )
    within: Duration | None = Field(None, description="It may still come true so long after that moment.")

    @model_validator(mode="after")
    def _can_be_seen_then(self) -> "Expectation":
        for name, _ in self.parts():
            if name in COUNTED_AT_THE_END and self.at is not None:
                raise wrong(f"{hyphenated(name)} is counted when the timetable is done, and not at a moment", "at")
        return self
