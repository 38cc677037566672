"""The history that log files show: each write to ZooKeeper, its writer and time, and the line that shows it.

Times are ms of the files' own clock, read as if its zone were UTC, until the zone is known (zone.py). A write that no line
shows, but that must have preceded one that is shown, is an entry too: its `place` is the line that it follows from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kcsim.vocabulary import BrokerId, ControllerEpoch, ReplicaAssignment, TopicPartition


class SourceLine(NamedTuple):
    """A line of a file; line numbers start at 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Visibility(StrEnum):
    """How far a line shows an entry. Only for AT_ONCE is the entry's time that of the write, to within a few ms."""

    AT_ONCE = "at once"
    LATER = "later"  # it had happened by then; when is not shown
    NOT = "not"  # it follows from the line at `place`, before which it must have happened


class WriterRole(StrEnum):
    """The role in which a broker wrote a partition's state."""

    CONTROLLER = "controller"
    LEADER = "leader"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """The fields of all entries."""

    t_ms: int
    place: SourceLine
    shown: Visibility = Visibility.AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWrite(HistoryEntry):
    """A partition's state was written. `leader` -1: no leader. None: not shown.

    `version_is_shown` False: the version was counted, not read. `why` is the reason that the controller logged just before.
    `is_unclean`: the new leader was not in the ISR before. `is_recovering`: the state itself names its leader as elected
    so (protocol version 3.2 and newer). `by_zombie`: written with an epoch that was no longer the highest, by the clocks of
    the files.
    """

    tp: TopicPartition
    leader: int | None
    leader_epoch: int | None
    isr: tuple[BrokerId, ...] | None
    controller_epoch: ControllerEpoch | None
    zk_version: int
    by: BrokerId | None
    role: WriterRole | None
    version_is_shown: bool = True
    is_unclean: bool = False
    is_recovering: bool = False
    by_zombie: bool = False
    why: str | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether the znode's whole content is known."""
        return None not in (self.leader, self.leader_epoch, self.isr, self.controller_epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateGone(HistoryEntry):
    """A partition's state was deleted, with its topic."""

    tp: TopicPartition
    by: BrokerId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentWrite(HistoryEntry):
    """A topic's assignment was written. `by` None: by an administrator, or by a broker that creates topics for its clients.

    `is_whole` False: the topic has partitions whose assignment no line shows.
    """

    topic: str
    assignment: Mapping[int, ReplicaAssignment]
    by: BrokerId | None
    is_new: bool
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicGone(HistoryEntry):
    """A topic was deleted. `by` None: not by a controller."""

    topic: str
    by: BrokerId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRoleChange(HistoryEntry):
    """/controller was created, or deleted (`controller` None). `zk_version` is that of /controller_epoch.

    `with_session`: it was deleted with the session of its holder, as was the holder's registration.
    """

    controller: BrokerId | None
    controller_epoch: ControllerEpoch
    zk_version: int | None = None
    because: str | None = None
    with_session: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationChange(HistoryEntry):
    """A broker registered, or its registration was deleted with its session. `epoch` None: not shown (up to 2.1, never is).

    `was_closed`: the broker closed the session itself, as in a shutdown; otherwise the session expired.
    """

    broker: BrokerId
    is_registered: bool
    epoch: int | None
    endpoints: tuple[str, ...] = ()
    because: str | None = None
    was_closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleTaken(HistoryEntry):
    """A broker acted on a decision: it leads a partition, or follows its leader, from this epoch on."""

    tp: TopicPartition
    broker: BrokerId
    is_leader: bool
    leader_epoch: int
    offset: int
    high_watermark: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFailed(HistoryEntry):
    """The controller could not change a partition's state."""

    tp: TopicPartition
    controller: BrokerId
    controller_epoch: ControllerEpoch
    before: str
    after: str
    error: str


@dataclass(frozen=True, slots=True)
class NotShown:
    """Something that the files do not show, why not, and the line where the gap shows; no place if all files are meant."""

    what: str
    place: SourceLine | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


@dataclass(frozen=True, slots=True)
class LogHistory:
    """All that the files show, in order of time; writes of one znode are in their own order, whatever the clocks say."""

    entries: tuple[HistoryEntry, ...]
    not_shown: tuple[NotShown, ...]
