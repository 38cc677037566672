"""The ledger of the causes of our own sessions' writes, openings and ends, and of the faults of sessions.

Connection threads of the clients write to it, and the reader of ZooKeeper's transactions, or of replies, takes the causes
out. It records what is known: it infers nothing.
"""

import threading

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId


class CauseLedger:
    """A WriteLedger (zk/live/ledger.py) that keeps the causes of each session until they are taken.

    Args:
        keeps_writes: False if nobody will take the causes of writes, so that they would only fill the memory.
    """

    def __init__(self, *, keeps_writes: bool = True) -> None:
        self._keeps_writes = keeps_writes
        self._lock = threading.Lock()
        self._writes: dict[tuple[SessionId, int], Cause] = {}
        self._openings: dict[SessionId, Cause] = {}
        self._faults: dict[SessionId, int] = {}
        self._closings: dict[SessionId, Cause] = {}

    # --- for clients

    def record_write(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        if self._keeps_writes:
            with self._lock:
                self._writes[session_id, xid] = cause

    def record_open(self, session_id: SessionId, cause: Cause) -> None:
        with self._lock:
            self._openings.setdefault(session_id, cause)

    def record_session_fault(self, session_id: SessionId, cause: int) -> None:
        with self._lock:
            self._faults[session_id] = cause

    def record_close(self, session_id: SessionId, cause: Cause) -> None:
        with self._lock:
            self._closings[session_id] = cause

    # --- for the reader

    def take_write(self, session_id: SessionId, xid: int) -> Cause:
        """Return the cause of a write; None if the write is not ours, or has none."""
        with self._lock:
            return self._writes.pop((session_id, xid), None)

    def has_opened(self, session_id: SessionId) -> bool:
        """Return whether the session is ours, and its opening was recorded."""
        return session_id in self._openings

    def cause_of_opening(self, session_id: SessionId) -> Cause:
        return self._openings.get(session_id)

    def take_fault(self, session_id: SessionId) -> int | None:
        """Return the latest fault of a session; None if there was none."""
        with self._lock:
            return self._faults.pop(session_id, None)

    def is_end_explained(self, session_id: SessionId) -> bool:
        """Return whether a cause is known from which the session's end would follow."""
        return session_id in self._faults or session_id in self._closings

    def take_end(self, session_id: SessionId) -> tuple[bool, Cause]:
        """Return whether the owner closed its session, and the cause of the session's end: the owner's, or a fault."""
        with self._lock:
            fault = self._faults.pop(session_id, None)
            if session_id in self._closings:
                return True, self._closings.pop(session_id)
            return False, fault
