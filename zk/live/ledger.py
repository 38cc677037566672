"""The port through which the live adapter reports the causes of writes to the reader of ZooKeeper's transaction log."""

from typing import Protocol

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId


class WriteLedger(Protocol):
    """A record of the causes of sessions' writes, faults and ends.

    The server's transaction log has each transaction's session and `cxid`, which is the xid that its client sent: with these
    the ledger returns the event that a znode's change follows from.
    """

    def record_write(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        """Record a write with a cause that is about to be sent.

        Called in the connection thread: must be thread-safe and fast.

        An xid is used once in the life of a session, reconnections included.
        """
        ...

    def record_open(self, session_id: SessionId, cause: Cause) -> None:
        """Record that a session was opened or reconnected. Called in the connection thread, as record_write is."""
        ...

    def record_session_fault(self, session_id: SessionId, cause: int) -> None:
        """Record a fault that was injected into the session: the cause of its end, if it ends without being closed."""
        ...

    def record_close(self, session_id: SessionId, cause: Cause) -> None:
        """Record that the session's owner is about to close it."""
        ...
