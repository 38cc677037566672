"""Fetch sessions of clients. Source: KIP-227; the answers of Kafka 2.8.2 in tests/brokers/differential."""

import pytest

from kcsim.brokers.records import Run
from kcsim.brokers.requests import FetchedPartition, FetchPartition
from kcsim.brokers.wire.fetch_sessions import (
    EVICTED_AFTER_MS,
    NO_SESSION,
    SLOTS,
    FetchSessionError,
    FetchSessions,
)
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import LeaderEpoch, TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
RUNS = (Run(0, 1, LeaderEpoch(0), "w", 0, 0, 1),)
EMPTY = FetchedPartition(high_watermark=5, log_start_offset=0)
FULL = FetchedPartition(high_watermark=5, log_start_offset=0, runs=RUNS)


def asked(offset: int = 0) -> FetchPartition:
    return FetchPartition(LeaderEpoch(0), offset, 0)


class Clock:
    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


def test_an_answer_has_records_errors_and_changed_offsets_only() -> None:
    sessions = FetchSessions(Clock())
    session = sessions.at(sessions.open({A: asked(), B: asked()}, {A: EMPTY, B: FULL}), 1)
    assert session.news({A: EMPTY, B: EMPTY}) == {}
    assert session.news({A: EMPTY, B: FULL}) == {B: FULL}
    moved = FetchedPartition(high_watermark=6, log_start_offset=0)
    assert session.news({A: moved, B: EMPTY}) == {A: moved}
    cut = FetchedPartition(high_watermark=6, log_start_offset=2)
    assert session.news({A: cut, B: EMPTY}) == {A: cut}
    failed = FetchedPartition(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert session.news({A: failed}) == {A: failed}
    assert session.news({A: failed}) == {A: failed}


def test_a_session_keeps_the_partitions_of_earlier_requests() -> None:
    sessions = FetchSessions(Clock())
    session = sessions.at(sessions.open({A: asked()}, {A: EMPTY}), 1)
    session.change({B: asked(3)}, ())
    assert session.partitions == {A: asked(), B: asked(3)}
    session.change({A: asked(7)}, [B])
    assert session.partitions == {A: asked(7)}
    session.change({B: asked(3)}, ())
    assert session.news({B: EMPTY}) == {B: EMPTY}, "it was forgotten meanwhile"


def test_partitions_with_records_go_behind_the_others() -> None:
    sessions = FetchSessions(Clock())
    session = sessions.at(sessions.open({A: asked(), B: asked()}, {A: FULL, B: EMPTY}), 1)
    assert list(session.partitions) == [B, A]


def test_each_request_has_the_next_epoch() -> None:
    sessions = FetchSessions(Clock())
    session_id = sessions.open({A: asked()}, {A: EMPTY})
    for epoch in (1, 2, 3):
        assert sessions.at(session_id, epoch).session_id == session_id
    with pytest.raises(FetchSessionError) as refused:
        sessions.at(session_id, 3)
    assert refused.value.error is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    session = sessions.at(session_id, 4)
    session.epoch = 2**31 - 1
    assert sessions.at(session_id, 2**31 - 1).epoch == 1


def test_a_closed_session_is_unknown() -> None:
    sessions = FetchSessions(Clock())
    session_id = sessions.open({A: asked()}, {A: EMPTY})
    sessions.close(session_id)
    sessions.close(session_id)
    with pytest.raises(FetchSessionError) as refused:
        sessions.at(session_id, 1)
    assert refused.value.error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_without_room_a_client_has_no_session_until_another_is_idle_for_long() -> None:
    clock = Clock()
    sessions = FetchSessions(clock)
    first, *others = (sessions.open({A: asked()}, {A: EMPTY}) for _ in range(SLOTS))
    assert len({first, *others, NO_SESSION}) == SLOTS + 1
    assert sessions.open({A: asked()}, {A: EMPTY}) == NO_SESSION
    clock.now_ms = EVICTED_AFTER_MS + 1
    for session_id in others:
        sessions.at(session_id, 1)
    assert sessions.open({A: asked()}, {A: EMPTY}) != NO_SESSION
    assert sessions.open({A: asked()}, {A: EMPTY}) == NO_SESSION
    assert sessions.get(first) is None
