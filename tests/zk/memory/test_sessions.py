"""Sessions at the server: time-outs granted, passwords checked, deadlines in whole ticks."""

import pytest

from kcsim.vocabulary import SessionId
from kcsim.zk.memory.sessions import ServerSessions
from kcsim.zk.memory.watches import ConnectionId

C1, C2 = ConnectionId(1), ConnectionId(2)
TICK_MS = 200


@pytest.fixture
def sessions() -> ServerSessions:
    return ServerSessions(TICK_MS)


@pytest.mark.parametrize(("asked", "granted"), [(0, 400), (399, 400), (400, 400), (3000, 3000), (4001, 4000)])
def test_a_time_out_is_granted_between_2_and_20_ticks(sessions: ServerSessions, asked: int, granted: int) -> None:
    assert sessions.open(asked, C1, 0, member=1).timeout_ms == granted


def test_the_bounds_can_be_set() -> None:
    sessions = ServerSessions(TICK_MS, 100, 60_000)
    assert [sessions.granted_timeout_ms(asked) for asked in (1, 18_000, 90_000)] == [100, 18_000, 60_000]


def test_ids_are_unique_and_begin_with_the_member(sessions: ServerSessions) -> None:
    ids = [sessions.open(400, ConnectionId(n), 0, member).session_id for n, member in enumerate((1, 1, 3))]
    assert len(set(ids)) == 3
    assert [session_id >> 56 for session_id in ids] == [1, 1, 3]


def test_a_session_is_due_between_its_time_out_and_a_tick_later(sessions: ServerSessions) -> None:
    """Observed: the server checks once per tick."""
    session = sessions.open(500, C1, 250, member=1)
    assert sessions.next_deadline_ms() == 800
    assert sessions.due(799) == []
    assert sessions.due(800) == [session.session_id]


def test_being_heard_of_gives_the_whole_time_out_again(sessions: ServerSessions) -> None:
    session = sessions.open(400, C1, 0, member=1)
    sessions.touch(session, 350)
    assert sessions.next_deadline_ms() == 800
    assert sessions.due(799) == []


def test_those_due_first_come_first(sessions: ServerSessions) -> None:
    late = sessions.open(1000, C1, 0, member=1)
    early = sessions.open(400, C2, 0, member=1)
    assert sessions.due(5000) == [early.session_id, late.session_id]


def test_a_closed_session_is_never_due(sessions: ServerSessions) -> None:
    session = sessions.open(400, C1, 0, member=1)
    sessions.close(session.session_id)
    assert (sessions.due(5000), sessions.next_deadline_ms(), sessions.on(C1)) == ([], None, None)


def test_a_session_is_taken_up_with_its_password_only(sessions: ServerSessions) -> None:
    session = sessions.open(400, C1, 0, member=1)
    sessions.detach(C1)
    assert sessions.reopen(session.session_id, b"wrong" + bytes(11), 400, C2, 100) is None
    assert sessions.reopen(SessionId(9), session.password, 400, C2, 100) is None
    assert sessions.reopen(session.session_id, session.password, 1000, C2, 100) is session
    assert (session.timeout_ms, session.deadline_ms, sessions.on(C2)) == (1000, 1200, session)


def test_a_session_outlives_its_connection(sessions: ServerSessions) -> None:
    session = sessions.open(400, C1, 0, member=1)
    sessions.detach(C1)
    assert sessions.on(C1) is None
    assert sessions.connection_of(session.session_id) is None
    assert session.session_id in sessions


def test_a_new_leader_gives_everybody_the_whole_time_again(sessions: ServerSessions) -> None:
    for n in range(3):
        sessions.open(400, ConnectionId(n), 0, member=1)
    sessions.touch_all(10_000)
    assert (sessions.next_deadline_ms(), sessions.due(10_500)) == (10_600, [])
