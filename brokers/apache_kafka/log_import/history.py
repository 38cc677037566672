"""Build the history that the collected evidence shows, and list what it does not show.

Writes of one znode are ordered by their content, everything else by the clocks of the files. Lines about the same write
become one entry. A topic that was deleted and created again starts again with version 0.

Pure. Source: docs/kafka/logging.md 8.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import merge
from typing import NamedTuple

from kcsim.brokers.apache_kafka.log_import.broker_timeline import registrations
from kcsim.brokers.apache_kafka.log_import.controller_timeline import ControllerTimeline
from kcsim.brokers.apache_kafka.log_import.entries import (
    AssignmentWrite,
    ChangeFailed,
    ControllerRoleChange,
    HistoryEntry,
    LogHistory,
    NotShown,
    RegistrationChange,
    RoleTaken,
    SourceLine,
    StateGone,
    StateWrite,
    TopicGone,
    Visibility,
    WriterRole,
)
from kcsim.brokers.apache_kafka.log_import.evidence import A_WHILE_MS, Evidence, EvidenceIndex, EvidenceKind
from kcsim.brokers.apache_kafka.log_import.partition_state_history import PartitionStateHistory
from kcsim.brokers.apache_kafka.log_import.topic_timeline import TopicTimelines
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BecameFollower,
    BecameLeader,
    BrokerShutsDown,
    ElectionTriggered,
    IsrChangeTried,
    ReassignmentElects,
    StateChangeFailed,
)
from kcsim.text import comma_separated
from kcsim.vocabulary import BrokerId, TopicPartition

NEVER = -(2**63)


class TopicEnd(NamedTuple):
    """The deletion of a topic, and so of its partitions' states."""

    t_ms: int
    place: SourceLine
    by: BrokerId | None
    shown: Visibility


def history_of(gathered: EvidenceIndex) -> LogHistory:
    """Return the history that all files show together. The states are removed from `gathered`, to save memory."""
    controllers = ControllerTimeline(gathered)
    of_brokers = list(controllers.with_their_sessions(registrations(gathered)))
    topics = TopicTimelines(gathered)
    tried = list(_tried(gathered))
    partitions = _Partitions(gathered, controllers, topics)
    lines: list[list[HistoryEntry]] = [list(controllers.changes(of_brokers)), *_by_broker(of_brokers)]
    lines += [partitions.line(tp) for tp in sorted(gathered.states)]
    lines += list(topics.entries.values())
    lines.append(sorted((*_roles_taken(gathered), *_failures(gathered)), key=lambda entry: (entry.t_ms, entry.place)))
    unshown = [*controllers.not_shown, *_unshown_ends(of_brokers), *topics.not_shown, *partitions.not_shown, *tried]
    return LogHistory(tuple(_merged(lines)), tuple(unshown))


# --- partitions


class _Partitions:
    """The states of all partitions, each from creation to deletion, for every time that the partition was created."""

    def __init__(self, gathered: EvidenceIndex, controllers: ControllerTimeline, topics: TopicTimelines) -> None:
        self._gathered = gathered
        self._controllers = controllers
        self._topics = topics
        self._leads = _leads(gathered)
        self._reasons = _reasons(gathered)
        self.not_shown: list[NotShown] = []

    def line(self, tp: TopicPartition) -> list[HistoryEntry]:
        """Return every write and deletion of one partition's state, in order."""
        evidence = self._gathered.states.pop(tp)
        ends = self._topic_ends(tp, evidence)
        lives: list[list[Evidence]] = [[] for _ in range(len(ends) + 1)]
        times = [end.t_ms for end in ends]
        for one in evidence:
            lives[bisect_right(times, one.t_ms)].append(one)
        found: list[HistoryEntry] = []
        for number, life in enumerate(lives):
            writes = self._writes(tp, life, is_again=number > 0)
            found += writes
            if writes and number < len(ends):
                t_ms, place, by, shown = ends[number]
                self._name_end(writes[-1], place)
                found.append(StateGone(t_ms=t_ms, place=place, shown=shown, tp=tp, by=by))
        return found

    def _name_end(self, last: StateWrite, place: SourceLine) -> None:
        """Name the write that is missing if the last state before a deletion has a leader.

        A deletion removes every replica from the ISR first, so that no leader is left; only 2.6 and newer log that.
        """
        if last.leader is not None and last.leader >= 0:
            what = f"how {last.tp} lost its leader before it was deleted: Kafka logs that since 2.6, in state-change.log"
            self.not_shown.append(NotShown(what, place))

    def _topic_ends(self, tp: TopicPartition, evidence: list[Evidence]) -> list[TopicEnd]:
        """Return the ends of a topic: those that lines show, and those that follow from its being created again."""
        ends = [TopicEnd(gone.t_ms, gone.place, gone.by, gone.shown) for gone in self._topics.deletions(tp.topic)]
        firsts = sorted((one for one in evidence if one.is_first), key=lambda one: one.t_ms)
        last = NEVER
        for first in firsts:
            is_shown = any(last < end.t_ms <= first.t_ms for end in ends)
            is_again = any(last <= one.t_ms < first.t_ms and _is_of_another(one, first) for one in evidence)
            if is_again and not is_shown:
                ends.append(TopicEnd(first.t_ms, first.place, None, Visibility.NOT))
            last = first.t_ms
        return sorted(ends)

    def _writes(self, tp: TopicPartition, life: list[Evidence], is_again: bool) -> list[StateWrite]:
        if is_again and life and not any(one.is_first or one.zk_version == 0 for one in life):
            what = f"how {tp} can have a state: its topic had been deleted by then"
            self.not_shown.append(NotShown(what, min(one.place for one in life)))
            return []
        chain = PartitionStateHistory(
            tp,
            self._controllers.controllers,
            lambda broker, t_ms: self._leads(tp, broker, t_ms),
            self._controllers.epoch_at,
        )
        writes = chain.writes(life)
        self.not_shown += chain.not_shown
        found: list[StateWrite] = []
        before: StateWrite | None = None
        for write in writes:
            by_zombie = (
                self._controllers.is_zombie(write.controller_epoch, write.t_ms) and write.role is WriterRole.CONTROLLER
            )
            found.append(replace(write, why=self._why(tp, write, before), by_zombie=by_zombie))
            before = write
        return found

    def _why(self, tp: TopicPartition, write: StateWrite, before: StateWrite | None) -> str | None:
        """Return why the controller replaced a leader: the reason that it logged just before, or None."""
        is_election = before is not None and write.role is WriterRole.CONTROLLER and write.leader != before.leader
        if before is None or not is_election or write.leader is None or write.leader < 0:
            return None
        reasons = [
            (at, why)
            for at, why in (*self._reasons.get(tp, ()), *self._reasons.get(before.leader, ()))
            if before.t_ms <= at <= write.t_ms
        ]
        return max(reasons)[1] if reasons else None


def _is_of_another(one: Evidence, first: Evidence) -> bool:
    """Return whether earlier evidence is from before a deletion. A later version may seem so if a clock is behind."""
    is_same_clock = one.place.file == first.place.file
    is_later_version = bool(one.zk_version) and (is_same_clock or first.t_ms - one.t_ms > A_WHILE_MS)
    return one.is_first or is_later_version


def _leads(gathered: EvidenceIndex) -> Callable[[TopicPartition, BrokerId, int], int | None]:
    taken: dict[tuple[TopicPartition, BrokerId], list[tuple[int, int]]] = defaultdict(list)
    for at in gathered.roles:
        if isinstance(message := at.message, BecameLeader):
            taken[message.tp, message.broker].append((at.t_ms, message.leader_epoch))
    for epochs in taken.values():
        epochs.sort()

    def epoch(tp: TopicPartition, broker: BrokerId, t_ms: int) -> int | None:
        known = taken.get((tp, broker), [])
        place = bisect_right(known, (t_ms, 2**63))
        return known[place - 1][1] if place else None

    return epoch


Subject = TopicPartition | int | None


def _reasons(gathered: EvidenceIndex) -> dict[Subject, list[tuple[int, str]]]:
    """Return the reasons that controllers logged for elections: by partition, and by broker that shuts down."""
    found: dict[Subject, list[tuple[int, str]]] = defaultdict(list)
    for kind in (ElectionTriggered, ReassignmentElects, BrokerShutsDown):
        for at in gathered.others[kind]:
            match at.message:
                case ElectionTriggered(_, of, trigger, partitions):
                    for tp in partitions:
                        found[tp].append((at.t_ms, f"{of} election, {trigger}"))
                case ReassignmentElects(_, tp, leader):
                    found[tp].append((at.t_ms, f"reassigned away from broker-{leader}"))
                case BrokerShutsDown(_, broker):
                    found[int(broker)].append((at.t_ms, f"broker-{broker} shuts down"))
                case _:
                    pass
    return found


# --- the rest


def _by_broker(changes: list[RegistrationChange]) -> Iterator[list[HistoryEntry]]:
    found: dict[BrokerId, list[HistoryEntry]] = defaultdict(list)
    for change in changes:
        found[change.broker].append(change)
    yield from found.values()


def _roles_taken(gathered: EvidenceIndex) -> Iterator[RoleTaken]:
    for at in gathered.roles:
        match at.message:
            case BecameLeader(broker, tp, epoch, offset, mark) | BecameFollower(broker, tp, epoch, offset, mark):
                yield RoleTaken(
                    t_ms=at.t_ms,
                    place=at.place,
                    tp=tp,
                    broker=broker,
                    is_leader=isinstance(at.message, BecameLeader),
                    leader_epoch=epoch,
                    offset=offset,
                    high_watermark=mark,
                )
            case _:
                pass


def _failures(gathered: EvidenceIndex) -> Iterator[ChangeFailed]:
    for at in gathered.others[StateChangeFailed]:
        if isinstance(message := at.message, StateChangeFailed):
            yield ChangeFailed(
                t_ms=at.t_ms,
                place=at.place,
                tp=message.tp,
                controller=message.controller,
                controller_epoch=message.controller_epoch,
                before=message.before,
                after=message.after,
                error=message.error,
            )


def _unshown_ends(changes: list[RegistrationChange]) -> Iterator[NotShown]:
    for change in changes:
        if change.shown is Visibility.NOT:
            what = f"when the session of broker-{change.broker} ended: no line shows it; {change.because}"
            yield NotShown(what, change.place)


def _tried(gathered: EvidenceIndex) -> Iterator[NotShown]:
    for at in gathered.tried.values():
        if isinstance(message := at.message, IsrChangeTried) and not _was_written(gathered, message, at.t_ms):
            isr = f"the ISR {comma_separated(message.isr)} of {message.tp}"
            yield NotShown(f"whether broker-{message.broker} wrote {isr}, as it intended", at.place)


def _was_written(gathered: EvidenceIndex, tried: IsrChangeTried, t_ms: int) -> bool:
    """Return whether the leader wrote an ISR after that, or a later line shows its state with this ISR."""
    for one in gathered.states.get(tried.tp, ()):
        is_own = one.kind is EvidenceKind.ISR_UPDATED and one.speaker == tried.broker
        is_seen = one.leader == tried.broker and one.isr is not None and sorted(one.isr) == sorted(tried.isr)
        if one.t_ms >= t_ms and (is_own or is_seen):
            return True
    return False


# --- one history


RANKS: dict[type[HistoryEntry], int] = {
    ControllerRoleChange: 0,
    RegistrationChange: 1,
    AssignmentWrite: 2,
    StateWrite: 3,
    StateGone: 4,
    TopicGone: 5,
    RoleTaken: 6,
    ChangeFailed: 7,
}


def _merged(lines: list[list[HistoryEntry]]) -> Iterator[HistoryEntry]:
    """Merge by time, keeping the order of each list."""
    return (
        entry for _, entry in merge(*(_keyed(line, number) for number, line in enumerate(lines)), key=lambda one: one[0])
    )


def _keyed(line: list[HistoryEntry], number: int) -> Iterator[tuple[tuple[int, bool, int, int, int], HistoryEntry]]:
    """Yield a list's entries with their sort keys; times are raised so that they never decrease."""
    t_ms = NEVER
    for place, entry in enumerate(line):
        t_ms = max(t_ms, entry.t_ms)
        yield (t_ms, not _comes_first(entry), RANKS[type(entry)], number, place), entry


def _comes_first(entry: HistoryEntry) -> bool:
    """Return whether an entry comes before the others of its time: no line shows it, or it is the end of a session that is
    seen later; that of a controller has the time of the next election (ControllerTimeline), which it comes before.
    """
    is_end = isinstance(entry, RegistrationChange) and not entry.is_registered
    return entry.shown is Visibility.NOT or (is_end and entry.shown is Visibility.LATER)
