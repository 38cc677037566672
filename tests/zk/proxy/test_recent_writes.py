"""The newest writes of a proxy's client: which request a transaction of ZooKeeper's log belongs to."""

from kcsim.vocabulary import SessionId
from kcsim.zk.proxy import ProxiedWrite, RecentWrites

A, B = SessionId(1), SessionId(2)
CREATE, DELETE = ProxiedWrite("create", "/x", b"data"), ProxiedWrite("delete", "/y")


class Clock:
    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


def test_a_request_is_found_by_session_number_and_time_without_its_data() -> None:
    clock = Clock()
    recent = RecentWrites(clock)
    clock.now_ms = 100
    recent.record(A, 7, [CREATE, DELETE])
    assert recent.find(A, 7, at_ms=100) == (ProxiedWrite("create", "/x"), DELETE)
    assert recent.find(A, 8, at_ms=100) == recent.find(B, 7, at_ms=100) == ()


def test_a_number_used_again_means_the_newest_request_before_the_transaction() -> None:
    """Kazoo counts its requests from 1 after each reconnection."""
    clock = Clock()
    recent = RecentWrites(clock)
    clock.now_ms = 100
    recent.record(A, 1, [CREATE])
    clock.now_ms = 200
    recent.record(A, 1, [DELETE])
    assert recent.find(A, 1, at_ms=99) == ()
    assert recent.find(A, 1, at_ms=199) == (ProxiedWrite("create", "/x"),)
    assert recent.find(A, 1, at_ms=200) == (DELETE,)


def test_only_the_newest_requests_are_kept() -> None:
    clock = Clock()
    recent = RecentWrites(clock, kept=2)
    for xid in (1, 2, 2, 3):
        clock.now_ms = xid
        recent.record(A, xid, [DELETE])
    assert [bool(recent.find(A, xid, at_ms=9)) for xid in (1, 2, 3)] == [False, True, True]
    clock.now_ms = 4
    recent.record(A, 4, [DELETE])
    assert [bool(recent.find(A, xid, at_ms=9)) for xid in (2, 3, 4)] == [False, True, True]
