"""The history that log files show: what was written to ZooKeeper, by whom and when, and the line that shows it.

Times are ms of the files' own clock, as if its zone were UTC, until the zone is known (zone.py). What no line shows, but
what must have been since something else was, is an entry too: its `place` is the line that it follows from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kcsim.zk.vocabulary import BrokerId, ControllerEpoch, ReplicaAssignment, TopicPartition


class Place(NamedTuple):
    """A line of a file, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Shown(StrEnum):
    """How far a line shows an entry. Only of the first kind is the time that of the writing, to a few ms."""

    AT_ONCE = "at once"
    LATER = "later"  # it was so by then, and since when is not shown
    NOT = "not"  # it follows from the line at `place`, before which it must have been


class Role(StrEnum):
    """As what a broker wrote a partition's state."""

    CONTROLLER = "controller"
    LEADER = "leader"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What all entries have."""

    t_ms: int
    place: Place
    shown: Shown = Shown.AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWrite(Entry):
    """A partition's state was written. `leader` -1: nobody. None: not shown; `version_is_shown` False: counted, not read.

    `why` is the reason that the controller gave just before, `is_unclean`: the new leader was not in the ISR before.
    `by_zombie`: written with an epoch that was no longer the highest, by the clocks of the files.
    """

    tp: TopicPartition
    leader: int | None
    leader_epoch: int | None
    isr: tuple[BrokerId, ...] | None
    controller_epoch: ControllerEpoch | None
    zk_version: int
    by: BrokerId | None
    role: Role | None
    version_is_shown: bool = True
    is_unclean: bool = False
    by_zombie: bool = False
    why: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all that stands in the znode is known."""
        return None not in (self.leader, self.leader_epoch, self.isr, self.controller_epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateGone(Entry):
    """A partition's state was deleted, with its topic."""

    tp: TopicPartition
    by: BrokerId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentWrite(Entry):
    """A topic's assignment was written. `by` None: by an administrator, or a broker that makes topics for its clients.

    `is_whole` False: the topic has partitions whose assignment no line shows.
    """

    topic: str
    assignment: Mapping[int, ReplicaAssignment]
    by: BrokerId | None
    is_new: bool
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicGone(Entry):
    """A topic was deleted. `by` None: by somebody who is no controller."""

    topic: str
    by: BrokerId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerChange(Entry):
    """/controller was created, or went (`controller` None). `zk_version` is that of /controller_epoch.

    `with_session`: it went with the session of its holder, as the registration did.
    """

    controller: BrokerId | None
    controller_epoch: ControllerEpoch
    zk_version: int | None = None
    because: str | None = None
    with_session: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationChange(Entry):
    """A broker registered, or its registration went with its session. `epoch` None: not shown (up to 2.1, never is).

    `was_closed`: the broker ended the session itself, as one that shuts down does; else it had expired.
    """

    broker: BrokerId
    is_registered: bool
    epoch: int | None
    endpoints: tuple[str, ...] = ()
    because: str | None = None
    was_closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleTaken(Entry):
    """A broker took a decision in: it leads a partition, or follows its leader, from this epoch on."""

    tp: TopicPartition
    broker: BrokerId
    is_leader: bool
    leader_epoch: int
    offset: int
    high_watermark: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFailed(Entry):
    """The controller could not change a partition's state."""

    tp: TopicPartition
    controller: BrokerId
    controller_epoch: ControllerEpoch
    before: str
    after: str
    error: str


@dataclass(frozen=True, slots=True)
class NotShown:
    """Something that the files do not show, why not, and where that is noticed; no place if it is about all of them."""

    what: str
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


@dataclass(frozen=True, slots=True)
class History:
    """All that the files show, in order of time; of one znode in the order of its writes, whatever the clocks say."""

    entries: tuple[Entry, ...]
    not_shown: tuple[NotShown, ...]
