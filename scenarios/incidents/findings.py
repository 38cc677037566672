"""The findings of an incident: what departed from normal, with the faults that may explain it and the evidence for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """What may have happened first, as a predicate of its subject, with what would tell it for certain."""

    decided_by: str

    def __new__(cls, value: str, decided_by: str = "") -> "FaultKind":
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.decided_by = decided_by
        return kind

    KILLED = (
        "was killed or crashed",
        "dmesg (out of memory), hs_err_pid*.log of the JVM, the machine's uptime: Kafka does not log who ended a process",
    )
    FROZEN = (
        "was frozen: alive, but not running",
        "the JVM's log of garbage collections, the machine's steal time, signals such as SIGSTOP: Kafka logs none of them",
    )
    CUT_OFF = (
        "ran, but was cut off from ZooKeeper",
        "the logs of ZooKeeper's servers and of the network between",
    )
    ZOOKEEPER_AWAY = (
        "had no quorum, stood still, or could not be reached by most brokers",
        "the logs of ZooKeeper's servers",
    )
    EXPIRED = (
        "had its session ended by somebody else, sooner than it could expire",
        "the audit log of ZooKeeper names the client that closed it",
    )
    STOPPED = ("was shut down in order", "")
    DISK_LOST = ("lost a log directory", "the machine's log of disk errors")
    UNREGISTERED = ("had its registration deleted by hand", "the audit log of ZooKeeper names the client")
    CONTROLLER_DELETED = ("was deleted while its holder was alive", "the audit log of ZooKeeper names the client")
    BEHIND = (
        "ran, but did not keep up with its leaders: slow, or cut off from them",
        "its load, its disks and the network to the leaders at that time",
    )
    WRITTEN = ("was written by hand", "the audit log of ZooKeeper names the client")
    REASSIGNED = ("was reassigned", "")
    TOPIC_DELETED = ("was deleted on request", "")


ORDINARY = (FaultKind.STOPPED, FaultKind.REASSIGNED, FaultKind.TOPIC_DELETED)
"""What operators do on purpose."""


@dataclass(frozen=True, slots=True)
class FaultEvidence:
    """An observation. Attributes: is_strong: it decides. place: the line, or the number of the event; None: of no line."""

    text: str
    is_strong: bool = False
    place: str | None = None

    def __str__(self) -> str:
        return self.text if self.place is None else f"{self.text} ({self.place})"


@dataclass(frozen=True, slots=True)
class FaultCandidate:
    """One fault that may explain a finding, with what speaks for it and against it."""

    kind: FaultKind
    speaks_for: Sequence[FaultEvidence]
    against: Sequence[FaultEvidence] = ()

    @property
    def is_refuted(self) -> bool:
        return any(evidence.is_strong for evidence in self.against)

    @property
    def is_shown(self) -> bool:
        return not self.is_refuted and any(evidence.is_strong for evidence in self.speaks_for)

    @property
    def is_possible(self) -> bool:
        return not self.is_refuted and bool(self.speaks_for)


@dataclass(frozen=True, slots=True)
class IncidentFinding:
    """Something that departed from normal. Times are ms after the first event.

    Attributes:
        subject: broker-N, a topic or partition, or the path of a znode.
        seen: what the logs show of it, as a predicate of the subject.
        began_ms: when the fault happened, as far as the logs bound it.
        began_text: how that time is known.
        seen_ms: when it had an effect in ZooKeeper.
        ended_ms: when it was over; None: not in these logs.
        candidates: the likeliest first.
        brokers: those that it happened to.
        was_controller: whether one of them was the controller.
        is_expired: whether a session of a broker expired.
        back_ms: when the broker had registered again; None: not in these logs, or no registration was lost.
    """

    subject: str
    seen: str
    began_ms: int
    began_text: str
    seen_ms: int
    ended_ms: int | None
    candidates: tuple[FaultCandidate, ...]
    brokers: tuple[int, ...] = ()
    was_controller: bool = False
    back_ms: int | None = None
    is_expired: bool = False

    @property
    def possible(self) -> tuple[FaultCandidate, ...]:
        """The candidates that the logs leave: those that evidence decides for, else all that nothing refutes."""
        shown = tuple(one for one in self.candidates if one.is_shown)
        return shown or tuple(one for one in self.candidates if one.is_possible)

    @property
    def fault(self) -> FaultKind | None:
        """The fault, if the logs leave one only."""
        return self.possible[0].kind if len(self.possible) == 1 else None

    @property
    def is_ordinary(self) -> bool:
        return self.fault in ORDINARY


def by_likelihood(candidates: Sequence[FaultCandidate]) -> tuple[FaultCandidate, ...]:
    """Return candidates by likelihood: shown, possible, refuted; among equals, those with more evidence first."""

    def rank(one: FaultCandidate) -> tuple[bool, bool, int]:
        return not one.is_shown, not one.is_possible, len(one.against) - len(one.speaks_for)

    return tuple(sorted(candidates, key=rank))
