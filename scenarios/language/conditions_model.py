"""Conditions on a cluster, as a scenario file contains them, for steps to wait for or for expectations to judge.

They are evaluated in engine/expectations/conditions.py.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.consumer_types import Groups, MovedPartitions, OwnedPartitions, Unconsumed
from kcsim.scenarios.language.event_pattern import EventPattern, Pattern
from kcsim.scenarios.language.metric_types import Metrics
from kcsim.scenarios.language.model import Model, hyphenated
from kcsim.scenarios.language.record_types import Counts
from kcsim.scenarios.language.topic_types import (
    LeaderEpochs,
    Leaders,
    Partitions,
    PartitionsMoving,
    ReplicasOfEach,
    TopicsThere,
)
from kcsim.scenarios.language.value_types import BrokerNames, Duration, RoleHolder, validation_error
from kcsim.scenarios.language.znode_types import JsonValue, ZnodePath
from kcsim.text import comma_separated

DEFAULT_WITHIN_MS = 15_000

Count = Annotated[int, Field(ge=0)]

COUNTED_AT_THE_END = ("lost", "lost_everywhere", "incomplete", "unacknowledged", "duplicated", "divergent")
"""Fields of Condition about where records are: the logs are read once, at the end of the timetable."""


class ZnodeCondition(Model):
    """A znode as it should be."""

    path: ZnodePath = Field(description="The znode.")
    exists: bool = Field(True, description="Whether it exists.")
    data: JsonValue = Field(None, description="Its data: of a JSON object the given keys only, otherwise the whole text.")
    children: Count | None = Field(None, description="The number of its children.")

    @model_validator(mode="after")
    def _check(self) -> "ZnodeCondition":
        if not self.exists and (self.data is not None or self.children is not None):
            raise validation_error("a znode that does not exist has neither data nor children", "exists")
        return self


class EventCount(Model):
    """How often an event must have happened."""

    of: Pattern = Field(description="The events that are counted.")
    at_least: Count | None = Field(None, description="The least number of them.")
    at_most: Count | None = Field(None, description="The greatest number of them.")
    exactly: Count | None = Field(None, description="Their exact number, instead of at-least and at-most.")

    @model_validator(mode="after")
    def _check(self) -> "EventCount":
        if self.at_least is self.at_most is self.exactly is None:
            raise validation_error("write how often: exactly, at-least or at-most")
        if self.exactly is not None and (self.at_least is not None or self.at_most is not None):
            raise validation_error("exactly cannot be combined with at-least or at-most", "exactly")
        return self


class TimeBetween(Model):
    """How long it must have been from one event to the next of another kind."""

    from_: Pattern = Field(description="The first such event.")
    to: Pattern = Field(description="The first such event after it.")
    at_least: Duration | None = Field(None, description="The shortest time between the two.")
    at_most: Duration | None = Field(None, description="The longest time between the two.")
    each: bool = Field(
        False, description="true: measure from every event of `from` to the next of `to`, not from the first only."
    )

    @model_validator(mode="after")
    def _check(self) -> "TimeBetween":
        if self.at_least is self.at_most is None:
            raise validation_error("write how long: at-most, at-least or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise validation_error("no time is at least as long as that and at most as long as this", "at-most")
        return self


class Condition(Model):
    """What can be true of a cluster. All keys that are given must hold at the same moment.

    What ZooKeeper has on record about brokers, and a coordinator about consumers, holds only if the processes that it names
    run: a dead broker leaves its znodes behind. A broker whose session has expired holds no role. as-recorded takes the
    records as they are.
    """

    controller: RoleHolder | None = Field(None, description="The broker that holds /controller, and runs.")
    controller_epoch: Count | None = Field(None, description="The number in /controller_epoch.")
    controller_epochs: Annotated[list[int], Field(min_length=1)] | None = Field(
        None, description="The epochs of all elections won so far, in order, and no others."
    )
    registered: BrokerNames | None = Field(None, description="These brokers are in /brokers/ids, and run.")
    unregistered: BrokerNames | None = Field(None, description="These brokers are not in /brokers/ids.")
    re_registered: BrokerNames | None = Field(
        None, description="These are in /brokers/ids, each with a higher broker epoch than at first, and run."
    )
    running: BrokerNames | None = Field(None, description="The processes of these brokers run.")
    paused: BrokerNames | None = Field(None, description="The processes of these brokers are frozen.")
    stopped: BrokerNames | None = Field(None, description="The processes of these brokers were stopped in order.")
    dead: BrokerNames | None = Field(None, description="The processes of these brokers were killed.")
    session_expired: BrokerNames | None = Field(
        None, description="ZooKeeper has expired a session of each of these brokers."
    )
    topics: TopicsThere | None = Field(None, description="Exactly these topics are in /brokers/topics.")
    leader: Leaders | None = Field(None, description="The leaders in the partitions' states; each of them runs.")
    leader_epoch: LeaderEpochs | None = Field(None, description="The leader epochs in the partitions' states.")
    isr: ReplicasOfEach | None = Field(
        None, description="The in-sync replicas in the partitions' states, in any order; all of them run."
    )
    replicas: ReplicasOfEach | None = Field(
        None, description="All replicas, those being added or removed included, the preferred leader first."
    )
    in_sync: Partitions | None = Field(None, description="Every replica of these partitions is in the ISR, and runs.")
    leaders_preferred: Partitions | None = Field(
        None, description="The preferred replica leads each of these partitions, and runs."
    )
    reassigning: PartitionsMoving | None = Field(
        None, description="The partitions that are being reassigned, or named in /admin/reassign_partitions."
    )
    offline_partitions: Count | None = Field(
        None,
        description="Number of partitions without a registered leader; topics being deleted do not count, here and below. No"
        " other partition may be led by a broker that does not run, and there must be a topic.",
    )
    under_replicated: Count | None = Field(
        None,
        description="Number of partitions whose ISR is smaller than their assignment. No other ISR may name a broker that"
        " does not run, and there must be a topic.",
    )
    acknowledged: Counts | None = Field(None, description="Number of records that were acknowledged; counted every second.")
    given_up: Counts | None = Field(None, description="Number of records that producers have given up.")
    lost: Counts | None = Field(None, description="Number of acknowledged records that are not in the leader's log.")
    lost_everywhere: Counts | None = Field(None, description="Number of acknowledged records that are on no replica.")
    incomplete: Counts | None = Field(None, description="Number of acknowledged records that are missing on a replica.")
    unacknowledged: Counts | None = Field(
        None, description="Number of records in the leader's log that were not acknowledged."
    )
    duplicated: Counts | None = Field(None, description="Number of superfluous copies of records in the leader's log.")
    divergent: Counts | None = Field(
        None, description="Number of offsets below the high watermark at which replicas have different records."
    )
    groups: Groups | None = Field(
        None, description="State and generation of consumer groups, as reported by a coordinator that runs."
    )
    assignment: OwnedPartitions | None = Field(
        None, description="Exactly the partitions that consumers consume, as the consumers see it; the consumers run."
    )
    moved: MovedPartitions | None = Field(
        None, description="Exactly the partitions of a group that have changed their consumer."
    )
    unconsumed: Unconsumed | None = Field(
        None, description="The longest time in which no consumer of a group consumed a partition, after one had."
    )
    metrics: Metrics | None = Field(
        None,
        description="The controller's metrics under Kafka's names, summed over all brokers; frozen ones may not contribute.",
    )
    znode: ZnodeCondition | None = Field(None, description="A znode's existence, data or number of children.")
    event: Pattern | None = Field(None, description="Such an event has happened.")
    no_event: Pattern | None = Field(None, description="No such event has happened.")
    events: EventCount | None = Field(None, description="How often such events have happened.")
    order: Annotated[list[Pattern], Field(min_length=2)] | None = Field(
        None, description="These events have happened in this order; others may be in between."
    )
    time_between: TimeBetween | None = Field(None, description="The time from one event to another.")
    as_recorded: Literal[True] | None = Field(
        None,
        description="true: take what ZooKeeper has on record, and what coordinators, consumers and metrics reported last,"
        " even if the processes that it is about do not run.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> "Condition":
        given = [name for name, _ in self.parts()]
        if not given:
            raise validation_error(f"the condition is empty; write one of {', '.join(map(hyphenated, PARTS))}")
        if self.as_recorded and not RECORDED.intersection(given):
            raise validation_error(
                f"as-recorded changes the meaning of {comma_separated(sorted(map(hyphenated, RECORDED)))} only",
                "as-recorded",
            )
        return self

    def patterns(self) -> Iterator[EventPattern]:
        """Yield every event pattern of the condition."""
        yield from (pattern for pattern in (self.event, self.no_event) if pattern is not None)
        yield from self.order or ()
        if self.events is not None:
            yield self.events.of
        if self.time_between is not None:
            yield self.time_between.from_
            yield self.time_between.to

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the parts of the condition that are given: (field, value)."""
        for name in PARTS:
            if (value := getattr(self, name)) is not None:
                yield name, value


PARTS = tuple(name for name in Condition.model_fields if name != "as_recorded")
"""Fields of Condition that can be true or false of a cluster."""
RECORDED = frozenset(
    {
        *("controller", "registered", "re_registered", "leader", "isr", "in_sync", "leaders_preferred"),
        *("offline_partitions", "under_replicated", "groups", "assignment", "metrics"),
    }
)
"""Fields of Condition about records that a process leaves behind when it dies or freezes."""


def _says_something(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": [hyphenated(name)]} for name in PARTS]


def _says_something_that_can_be_seen(schema: dict[str, Any]) -> None:
    _says_something(schema)
    unseen = [hyphenated(name) for name in COUNTED_AT_THE_END]
    schema["anyOf"] = [part for part in schema["anyOf"] if part["required"][0] not in unseen]
    for name in unseen:
        del schema["properties"][name]


class WaitFor(Condition):
    """A condition to wait for, bounded."""

    model_config = ConfigDict(json_schema_extra=_says_something_that_can_be_seen)

    within: Duration = Field(DEFAULT_WITHIN_MS, description="The time in which it must come true.")

    @model_validator(mode="before")
    @classmethod
    def _is_condition(cls, value: object) -> object:
        if isinstance(value, dict | Model):
            return value
        problem = f"{value!r} is no condition; write one as {{controller: any}}"
        raise validation_error(f"{problem}; to let time pass, write `after: 5s` at the step that comes then")

    @model_validator(mode="after")
    def _can_be_seen(self) -> "WaitFor":
        for name, _ in self.parts():
            if name in COUNTED_AT_THE_END:
                raise validation_error(
                    f"{hyphenated(name)} is counted when the timetable is done: expect it", hyphenated(name)
                )
        return self


class Expectation(Condition):
    """A condition judged when the timetable is done, on all that happened."""

    model_config = ConfigDict(json_schema_extra=_says_something)

    claim: Annotated[str, Field(min_length=1)] | None = Field(None, description="The expectation in a sentence.")
    at: Duration | None = Field(
        None, description="The time of the judgement, after the timetable began; the timetable's end if not given."
    )
    within: Duration | None = Field(None, description="How long after that time it may still come true.")

    @model_validator(mode="after")
    def _can_be_seen_then(self) -> "Expectation":
        for name, _ in self.parts():
            if name in COUNTED_AT_THE_END and self.at is not None:
                raise validation_error(
                    f"{hyphenated(name)} is counted when the timetable is done, and not at a moment", "at"
                )
        return self
