"""The leader's state of each follower's fetches: the last fetch, the partitions with news for it, the offsets sent.

A follower has one fetcher for this leader, with one fetch under way. A partition that is requested unchanged need not be
processed again, unless something has happened to it. So the cost of a fetch depends on what has changed, not on what is
requested.

Source: Kafka 2.8, DelayedFetch, FetchSession; docs/kafka/requests.md 5, 7.1.
"""

from collections.abc import Iterable, Mapping

from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.requests import FetchRequest
from kcsim.runtime.ports import Promise, Runtime
from kcsim.vocabulary import BrokerId, TopicPartition


class ParkedFetch:
    """A fetch between its arrival and its response.

    Attributes:
        changed: resolved when there may be something to send, or when a newer fetch has arrived.
    """

    def __init__(self, request: FetchRequest, changed: "Promise[None]") -> None:
        self.request = request
        self.changed = changed
        self.is_superseded = False
        self.is_answered = False


class FollowerSession:
    """One follower's fetch session.

    Attributes:
        dirty: partitions of the last fetch that must be processed.
        moved: partitions whose high watermark or log start offset may differ from what was sent.
        sent_offsets: the high watermark and log start offset sent last, per partition, where they are not 0.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.dirty: dict[TopicPartition, None] = {}
        self.moved: dict[TopicPartition, None] = {}
        self.sent_offsets: dict[TopicPartition, tuple[int, int]] = {}
        self._runtime = runtime
        self._last: ParkedFetch | None = None
        self._last_fetch_ms = 0
        self._is_doubtful = True

    def begin(self, request: FetchRequest) -> ParkedFetch:
        """Begin a fetch; the partitions to be processed are in `dirty`."""
        last = self._last
        parked = self._last = ParkedFetch(request, self._runtime.promise())
        self._last_fetch_ms = self._runtime.now_ms()
        is_first = request.is_full and (last is None or last.request is not request)
        if last is None or is_first or self._is_doubtful:
            self.dirty, self.moved, self.sent_offsets = (
                dict.fromkeys(request.partitions),
                dict.fromkeys(request.partitions),
                {},
            )
        elif last.request is not request:
            self._note_changes(last.request, request)
        # Two fetches at once: the response to either of them may not arrive. The next fetch is processed like a first one.
        self._is_doubtful = last is not None and not last.is_answered
        if last is not None and not last.is_answered:
            last.is_superseded = True
            last.changed.resolve(None)
        return parked

    def _note_changes(self, last: FetchRequest, request: FetchRequest) -> None:
        for tp, fetch in request.partitions.items():
            before = last.partitions.get(tp)
            if before is not fetch:
                self.dirty[tp] = None
                if before is None or before.leader_epoch != fetch.leader_epoch:
                    self.moved[tp] = None  # the follower may have truncated its log since the offsets were sent
                    self.sent_offsets.pop(tp, None)

    def take_dirty(self) -> list[TopicPartition]:
        """Return the dirty partitions that are requested, and clear the set."""
        requested = self._last.request.partitions if self._last is not None else {}
        dirty = [tp for tp in self.dirty if tp in requested]
        self.dirty.clear()
        return dirty

    def touch(self, tp: TopicPartition) -> None:
        """Mark a partition as changed in a way that a response reports."""
        if self._last is not None and tp in self._last.request.partitions:
            self.dirty[tp] = None
            self._last.changed.resolve(None)

    def touch_all(self, touched: Mapping[TopicPartition, None]) -> None:
        """Mark many partitions as `touch` does. Iterates over the smaller of these and the requested ones."""
        requested: Mapping[TopicPartition, object] = self._last.request.partitions if self._last is not None else {}
        fewer, more = (touched, requested) if len(touched) <= len(requested) else (requested, touched)
        for tp in fewer:
            if tp in more:
                self.touch(tp)

    def last_fetch_ms_of(self, tp: TopicPartition) -> int | None:
        """Return the time of the follower's last fetch; None if that fetch did not contain the partition."""
        return self._last_fetch_ms if self._last is not None and tp in self._last.request.partitions else None

    def wait_again(self, parked: ParkedFetch) -> None:
        """Prepare the next wait of a fetch for which there was nothing to send."""
        parked.changed = self._runtime.promise()


class FollowerSessions:
    """The sessions of all followers, by replica id."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._of: dict[BrokerId, FollowerSession] = {}

    def of(self, follower: BrokerId) -> FollowerSession:
        if follower not in self._of:
            self._of[follower] = FollowerSession(self._runtime)
        return self._of[follower]

    def touch(self, tps: Iterable[TopicPartition]) -> None:
        """Mark these partitions as changed for every follower that fetches them."""
        touched = dict.fromkeys(tps)
        for session in self._of.values():
            session.touch_all(touched)

    def records_appended(self, partition: Partition) -> None:
        """Mark the partition as changed for its followers, because there are new records."""
        for follower in partition.followers:
            if follower in self._of:
                self._of[follower].touch(partition.tp)

    def offsets_moved(self, partition: Partition) -> None:
        """Send the new high watermark or log start offset with the next response; the change alone does not trigger one."""
        for follower in partition.followers:
            if follower in self._of:
                self._of[follower].moved[partition.tp] = None

    def bring_up_to_date(self, partition: Partition) -> None:
        """Record the last fetch of the partition's followers; must be called before the log end offset changes.

        A follower that fetches repeatedly at the log end is not processed each time, but it was caught up each time.
        """
        end = partition.log_end_offset
        for follower, state in partition.followers.items():
            if follower in self._of and state.log_end_offset == end:
                at_ms = self._of[follower].last_fetch_ms_of(partition.tp)
                if at_ms is not None and at_ms > state.last_fetch_ms:
                    state.record_fetch(end, end, at_ms)
