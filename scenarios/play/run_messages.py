"""What a played cluster and the processes of its runs say to each other, as MessagePack."""

from typing import Any, ClassVar

import msgspec

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.scenarios.play.acts import Act


class Begin(msgspec.Struct, tag=True):
    """Begin a run, in a process of its own: from the beginning, or from where the run of a snapshot stands.

    Attributes:
        run: the number of the new run.
        scenario: with the snapshot in whose state it begins, or None; pickled. Like the seed, only of interest where
            no run has begun.
        acts: what is done, in the order of the times; without what was done before the snapshot.
        until_ms: how far the run goes.
    """

    run: int
    scenario: bytes
    seed: int
    acts: list[Act]
    until_ms: int


class GoOn(msgspec.Struct, tag=True):
    """Go on up to a time.

    Attributes:
        acts: what is to be done besides what was planned before.
        is_story_wanted: whether Reached is to have the facts about the run.
        are_records_counted: whether Reached is to have the fate of the records.
        expected_of: the topics about which Reached is to have expectations; None: it is to have none.
    """

    until_ms: int
    acts: list[Act] = []
    is_story_wanted: bool = False
    are_records_counted: bool = False
    expected_of: list[str] | None = None


class Happened(msgspec.Struct, tag=True):
    """A part of the run: what has happened since the part before.

    Attributes:
        part: the part of the page's payload, as JSON.
        events: the events as lines of a trace.
        last_ms: the time of the last one.
        count: the number of events.
        first_seq: the number of the first one.
        overview: if this is the last part of its segment, the segment's overview; else empty.
    """

    part: bytes
    events: bytes
    last_ms: int
    count: int
    first_seq: int
    overview: bytes


class Refused(msgspec.Struct, tag=True):
    """An act could not be done. Attributes: act: its index among all acts of the run."""

    act: int
    why: str


class Reached(msgspec.Struct, tag=True):
    """Everything has happened up to the limit.

    Attributes:
        next_ms: when the next thing happens by itself.
        about: the facts about the run so far, as the page has them, as JSON; None if they were not wanted.
        records: the fate of all records that producers have written, if it was wanted.
        expected: expectations that the cluster meets now, as a scenario file has them.
    """

    limit_ms: int
    next_ms: int | None
    about: bytes | None
    records: RecordCounts | None
    expected: list[dict[str, Any]]


class Failed(msgspec.Struct, tag=True):
    """The run has ended with an error."""

    error: str


class Started(msgspec.Struct, tag=True):
    """A process has started; its socket comes with this message.

    Attributes:
        run: the number of the run, or of the run of which the process is a snapshot.
        at_ms: up to where everything has happened in it.
        acts: how many acts were done in it.
        parts: how many parts of the run were sent before it.
        cost_s: how much processor time it takes to run up to it.
    """

    LONGEST: ClassVar[int] = 4096

    is_snapshot: bool
    run: int
    at_ms: int
    acts: int
    parts: int
    cost_s: float


Order = Begin | GoOn
Report = Happened | Refused | Reached | Failed
