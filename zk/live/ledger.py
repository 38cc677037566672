"""Who wrote what: the port through which the adapter tells the reader of ZooKeeper's transaction log about causes."""

from typing import Protocol

from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import SessionId


class WriteLedger(Protocol):
    """Remembers why a session wrote, broke or ended.

    The server's transaction log names each transaction's session and `cxid`, which is the xid its client sent: with this
    ledger a znode's change finds the event it follows from.
    """

    def record_write(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        """A write with a cause is about to be sent. Called in the connection thread: must be thread-safe and quick.

        An xid is used once in the life of a session, reconnections included.
        """
        ...

    def record_open(self, session_id: SessionId, cause: Cause) -> None:
        """A session was opened, or taken up again. Called in the connection thread, as record_write is."""
        ...

    def record_session_fault(self, session_id: SessionId, cause: int) -> None:
        """A fault was done to the session: should it end without being closed, this is why."""
        ...

    def record_close(self, session_id: SessionId, cause: Cause) -> None:
        """The session is about to be closed by its owner."""
        ...
