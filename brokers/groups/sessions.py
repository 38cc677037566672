"""The sessions of group members: how long a member may be silent. Each request of a member renews its session.

Source: Kafka 2.8, DelayedHeartbeat and GroupCoordinator.completeAndScheduleNextHeartbeatExpiration.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kcsim.zk.memory.timetable import Timetable


@dataclass(slots=True)
class _Session:
    """A session's end, the time of its alarm, and the event that renewed it last."""

    deadline_ms: int = 0
    alarm_ms: int | None = None
    cause: int = 0


class MemberSessions:
    """The sessions of one group's members, and of its pending members.

    Args:
        on_end: called with a member's id and the event that renewed its session last, when the session ends.
    """

    def __init__(self, timetable: Timetable, on_end: Callable[[str, int], None]) -> None:
        self._timetable = timetable
        self._on_end = on_end
        self._of: dict[str, _Session] = {}

    def renew(self, member_id: str, lasts_ms: int, cause: int) -> None:
        """Start the member's session again, to end after `lasts_ms`."""
        session = self._of.setdefault(member_id, _Session())
        session.deadline_ms, session.cause = self._timetable.now_ms() + lasts_ms, cause
        self._watch(member_id, session)

    def forget(self, member_id: str) -> None:
        """Remove the member's session."""
        self._of.pop(member_id, None)

    def clear(self) -> None:
        self._of.clear()

    def _watch(self, member_id: str, session: _Session) -> None:
        """Set an alarm at the session's end unless an earlier one is set. A later alarm that is still set does nothing."""
        if session.alarm_ms is None or session.alarm_ms > session.deadline_ms:
            session.alarm_ms = session.deadline_ms
            self._timetable.at(session.deadline_ms, self._on_alarm, member_id, session, session.deadline_ms)

    def _on_alarm(self, member_id: str, session: _Session, alarm_ms: int) -> None:
        if self._of.get(member_id) is not session or session.alarm_ms != alarm_ms:
            return
        session.alarm_ms = None
        if session.deadline_ms > self._timetable.now_ms():
            self._watch(member_id, session)
        else:
            self._on_end(member_id, session.cause)
