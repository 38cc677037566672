"""What a leader remembers of each follower's fetches: the last one, what there is to say about it, what was told.

A follower has one fetcher for this leader, with one fetch under way. What it asks for the same way as the last time need not
be looked at again, unless something has happened to it: so a fetch costs what has changed, not what is asked for.

Source: Kafka 2.8, DelayedFetch, FetchSession; reference requests.md 5, 7.1.
"""

from collections.abc import Iterable, Mapping

from kcsim.brokers.partition import Partition
from kcsim.brokers.requests import FetchRequest
from kcsim.zk.ports import Promise, Runtime
from kcsim.zk.vocabulary import BrokerId, TopicPartition


class ParkedFetch:
    """A fetch from its arrival to its answer.

    Attributes:
        changed: settled when there may be something to say, or a newer fetch has come.
    """

    def __init__(self, request: FetchRequest, changed: "Promise[None]") -> None:
        self.request = request
        self.changed = changed
        self.is_superseded = False
        self.is_answered = False


class FollowerSession:
    """One follower's.

    Attributes:
        news: partitions of the last fetch to be looked at.
        moved: those whose high watermark or log start may be another than was told.
        told: partition -> high watermark and log start as told last, where they are not 0.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.news: dict[TopicPartition, None] = {}
        self.moved: dict[TopicPartition, None] = {}
        self.told: dict[TopicPartition, tuple[int, int]] = {}
        self._runtime = runtime
        self._last: ParkedFetch | None = None
        self._last_fetch_ms = 0
        self._is_doubtful = True

    def begin(self, request: FetchRequest) -> ParkedFetch:
        """Take up a fetch; what is to be looked at is in `news`."""
        last = self._last
        parked = self._last = ParkedFetch(request, self._runtime.promise())
        self._last_fetch_ms = self._runtime.now_ms()
        is_first = request.is_full and (last is None or last.request is not request)
        if last is None or is_first or self._is_doubtful:
            self.news, self.moved, self.told = dict.fromkeys(request.partitions), dict.fromkeys(request.partitions), {}
        elif last.request is not request:
            self._note_changes(last.request, request)
        # Two at once: the older's answer, or this one's, may be heard by nobody. The next is looked at as a first one.
        self._is_doubtful = last is not None and not last.is_answered
        if last is not None and not last.is_answered:
            last.is_superseded = True
            last.changed.resolve(None)
        return parked

    def _note_changes(self, last: FetchRequest, request: FetchRequest) -> None:
        for tp, fetch in request.partitions.items():
            before = last.partitions.get(tp)
            if before is not fetch:
                self.news[tp] = None
                if before is None or before.leader_epoch != fetch.leader_epoch:
                    self.moved[tp] = None  # it may have cut its log since it was told
                    self.told.pop(tp, None)

    def take_news(self) -> list[TopicPartition]:
        """What is to be looked at, of what is asked for; it is no news any more."""
        asked = self._last.request.partitions if self._last is not None else {}
        news = [tp for tp in self.news if tp in asked]
        self.news.clear()
        return news

    def touch(self, tp: TopicPartition) -> None:
        """Something has happened that an answer would say."""
        if self._last is not None and tp in self._last.request.partitions:
            self.news[tp] = None
            self._last.changed.resolve(None)

    def touch_all(self, touched: Mapping[TopicPartition, None]) -> None:
        """As `touch`, for many: of these, and of what was asked for, the fewer are gone through."""
        asked: Mapping[TopicPartition, object] = self._last.request.partitions if self._last is not None else {}
        fewer, more = (touched, asked) if len(touched) <= len(asked) else (asked, touched)
        for tp in fewer:
            if tp in more:
                self.touch(tp)

    def last_fetch_ms_of(self, tp: TopicPartition) -> int | None:
        """When the follower fetched a partition last; None if its last fetch did not ask for it."""
        return self._last_fetch_ms if self._last is not None and tp in self._last.request.partitions else None

    def wait_again(self, parked: ParkedFetch) -> None:
        """There was nothing to say after all."""
        parked.changed = self._runtime.promise()


class FollowerSessions:
    """Those of all followers, by replica id."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._of: dict[BrokerId, FollowerSession] = {}

    def of(self, follower: BrokerId) -> FollowerSession:
        if follower not in self._of:
            self._of[follower] = FollowerSession(self._runtime)
        return self._of[follower]

    def touch(self, tps: Iterable[TopicPartition]) -> None:
        """What became of these is to be told to whoever fetches them."""
        touched = dict.fromkeys(tps)
        for session in self._of.values():
            session.touch_all(touched)

    def records_appended(self, partition: Partition) -> None:
        """There is something new for the followers."""
        for follower in partition.followers:
            if follower in self._of:
                self._of[follower].touch(partition.tp)

    def high_watermark_moved(self, partition: Partition) -> None:
        """To be told with the next answer; it is no reason for one."""
        for follower in partition.followers:
            if follower in self._of:
                self._of[follower].moved[partition.tp] = None

    def bring_up_to_date(self, partition: Partition) -> None:
        """Note when its followers fetched last; to be called before the log's end moves.

        Somebody who fetches again and again where the log ends is not looked at each time, but was there each time.
        """
        end = partition.log_end_offset
        for follower, state in partition.followers.items():
            if follower in self._of and state.log_end_offset == end:
                at_ms = self._of[follower].last_fetch_ms_of(partition.tp)
                if at_ms is not None and at_ms > state.last_fetch_ms:
                    state.record_fetch(end, end, at_ms)
