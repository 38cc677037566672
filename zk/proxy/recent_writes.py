"""The newest writes of a proxy's client, by what identifies them in ZooKeeper's transaction log.

The log has a refused request's session, number and error, but neither its path nor its operation.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from kcsim.vocabulary import SessionId
from kcsim.zk.proxy.protocol import ProxiedWrite

KEPT = 10_000


class RecentWrites:
    """The writes of the newest requests, without their data. One thread records; any thread may ask.

    Args:
        now_ms: the wall clock, in milliseconds since 1970.
    """

    def __init__(self, now_ms: Callable[[], int], kept: int = KEPT) -> None:
        self._now_ms = now_ms
        self._kept = kept
        self._keys: deque[tuple[SessionId, int]] = deque()
        self._writes: defaultdict[tuple[SessionId, int], deque[tuple[int, tuple[ProxiedWrite, ...]]]] = defaultdict(deque)

    def record(self, session_id: SessionId, xid: int, writes: Sequence[ProxiedWrite]) -> None:
        """Record a request that is forwarded now."""
        key = (session_id, xid)
        without_data = tuple(replace(write, data=None) for write in writes)
        self._writes[key].append((self._now_ms(), without_data))
        self._keys.append(key)
        if len(self._keys) > self._kept:
            oldest = self._keys.popleft()
            self._writes[oldest].popleft()
            if not self._writes[oldest]:
                del self._writes[oldest]

    def find(self, session_id: SessionId, xid: int, at_ms: int) -> tuple[ProxiedWrite, ...]:
        """Return the writes of the request that became a transaction at this time; empty if it is not known.

        Some clients count their requests from 1 again after a reconnection: the newest one before that time is the one.
        """
        known = list(self._writes.get((session_id, xid), ()))
        return next((writes for sent_ms, writes in reversed(known) if sent_ms <= at_ms), ())
