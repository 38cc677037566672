"""Fetch sessions of clients: a broker remembers what a client fetches, and each answer has only what is new.

Source: Kafka 2.8, FetchSession.scala (FetchManager, IncrementalFetchContext); KIP-227.
"""

import random
from collections.abc import Callable, Iterable, Mapping

from kcsim.brokers.requests import FetchedPartition, FetchPartition, FetchRequest
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition

NO_SESSION = 0
OPENING_EPOCH, CLOSING_EPOCH = 0, -1
"""The epochs of requests that list all partitions: the first one opens a session, the second one ends it, or has none."""
SLOTS = 1_000
"""max.incremental.fetch.session.cache.slots of a broker."""
EVICTED_AFTER_MS = 120_000
"""How long a session must be idle before another one may take its place."""

Fetched = Mapping[TopicPartition, FetchedPartition]


class FetchSessionError(Exception):
    """A session that the broker does not know, or not at this epoch. Attributes: error: for the client."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


class FetchSession:
    """What one client fetches.

    Attributes:
        epoch: that of the client's next request.
        request: a follower's last one that goes on with the session; the leader knows by this object what has not changed.
        delivered: the partitions with records in the last answer to a follower.
    """

    def __init__(self, session_id: int, now_ms: int) -> None:
        self.session_id = session_id
        self.epoch = 1
        self.used_ms = now_ms
        self.partitions: dict[TopicPartition, FetchPartition] = {}
        self.request: FetchRequest | None = None
        self.delivered: tuple[TopicPartition, ...] = ()
        self._sent: dict[TopicPartition, tuple[int, int]] = {}

    def change(self, partitions: Mapping[TopicPartition, FetchPartition], forgotten: Iterable[TopicPartition]) -> None:
        """Fetch these partitions too, or from other offsets, and some no more."""
        self.partitions.update(partitions)
        for tp in forgotten:
            self.partitions.pop(tp, None)
            self._sent.pop(tp, None)

    def news(self, fetched: Fetched) -> dict[TopicPartition, FetchedPartition]:
        """Return what is new for the client, and take it as sent. Partitions with records go to the end of the order."""
        news = {tp: one for tp, one in fetched.items() if one.error or one.runs or self._sent.get(tp) != _offsets(one)}
        for tp, one in news.items():
            self._sent[tp] = _offsets(one)
            if one.runs and tp in self.partitions:
                self.partitions[tp] = self.partitions.pop(tp)
        return news


def _offsets(fetched: FetchedPartition) -> tuple[int, int]:
    return fetched.high_watermark, fetched.log_start_offset


class FetchSessions:
    """The sessions on one broker.

    Args:
        now_ms: the time, on any clock that does not go back.

    Attributes:
        opening: by host and port of a follower, what it has listed to open a session, until that is answered.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._sessions: dict[int, FetchSession] = {}
        self._numbers = random.Random()
        self.opening: dict[str, Mapping[TopicPartition, FetchPartition]] = {}

    def open(self, partitions: Mapping[TopicPartition, FetchPartition], fetched: Fetched) -> int:
        """Open a session whose first answer has all partitions. Return its id, or NO_SESSION if there is no room for it."""
        if len(self._sessions) >= SLOTS and not self._evict():
            return NO_SESSION
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._numbers.getrandbits(31)
        session = self._sessions[session_id] = FetchSession(session_id, self._now_ms())
        session.change(partitions, ())
        session.news(fetched)
        return session_id

    def _evict(self) -> bool:
        oldest = min(self._sessions.values(), key=lambda session: session.used_ms)
        if self._now_ms() - oldest.used_ms <= EVICTED_AFTER_MS:
            return False
        del self._sessions[oldest.session_id]
        return True

    def close(self, session_id: int) -> None:
        """End a session, if there is one."""
        self._sessions.pop(session_id, None)

    def at(self, session_id: int, epoch: int) -> FetchSession:
        """Return the session of a request, which counts as its next one. Raises: FetchSessionError."""
        session = self._sessions.get(session_id)
        if session is None:
            raise FetchSessionError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise FetchSessionError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.epoch = epoch % (2**31 - 1) + 1
        session.used_ms = self._now_ms()
        return session

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)
