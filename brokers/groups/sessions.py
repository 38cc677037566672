"""How long members of a group may be silent: a session each, renewed whenever one is heard.

Source: Kafka 2.8, DelayedHeartbeat and GroupCoordinator.completeAndScheduleNextHeartbeatExpiration.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kcsim.zk.memory.timetable import Timetable


@dataclass(slots=True)
class _Session:
    """Its end, the alarm that looks, and the event that was heard last."""

    deadline_ms: int = 0
    alarm_ms: int | None = None
    cause: int = 0


class Sessions:
    """The sessions of one group's members, and of those that are to be.

    Args:
        on_end: called with a member's id, and with the event that was heard of it last, when its time is up.
    """

    def __init__(self, timetable: Timetable, on_end: Callable[[str, int], None]) -> None:
        self._timetable = timetable
        self._on_end = on_end
        self._of: dict[str, _Session] = {}

    def renew(self, member_id: str, lasts_ms: int, cause: int) -> None:
        """It was heard: from now on its session lasts so much longer."""
        session = self._of.setdefault(member_id, _Session())
        session.deadline_ms, session.cause = self._timetable.now_ms() + lasts_ms, cause
        self._watch(member_id, session)

    def forget(self, member_id: str) -> None:
        """It has none any more."""
        self._of.pop(member_id, None)

    def clear(self) -> None:
        self._of.clear()

    def _watch(self, member_id: str, session: _Session) -> None:
        """See to it that an alarm is set not after its end; one that is set for later will find that it is not the one."""
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
