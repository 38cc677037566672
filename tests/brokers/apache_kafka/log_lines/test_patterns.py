"""One list of patterns for each log file, of which each reader takes the messages that it wants."""

from typing import get_args

import pytest

from kcsim.brokers.apache_kafka.log_feed.controller_lines import BrokerMessage, RoleMessage, TopicMessage
from kcsim.brokers.apache_kafka.log_feed.decision_lines import DecisionMessage
from kcsim.brokers.apache_kafka.log_feed.replica_lines import ReplicaMessage
from kcsim.brokers.apache_kafka.log_feed.server_lines import ServerMessage
from kcsim.brokers.apache_kafka.log_lines import controller_log, server_log, state_change_log
from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    BrokersStarted,
    ConnectionLost,
    ReplicaRoleTaken,
    StateChangesFailed,
)
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BecameLeader,
    BrokersChanged,
    ElectionTriggered,
    HistoryMessage,
    Message,
    NoMessage,
    TopicDeleted,
)
from kcsim.brokers.apache_kafka.log_lines.patterns import MessagePattern, PatternTable, Speaker
from kcsim.vocabulary import BrokerId, TopicPartition

B1, B2, B4 = BrokerId(1), BrokerId(2), BrokerId(4)
BY_1 = Speaker(B1)
ORDERS_0 = TopicPartition("orders", 0)
LISTS = {
    "controller.log": controller_log.PATTERNS,
    "state-change.log, controller": state_change_log.BY_CONTROLLER,
    "state-change.log, broker": state_change_log.BY_BROKER,
    "server.log": (*server_log.OF_SERVER, *server_log.OTHERS),
}
OF_FEED: tuple[type[Message], ...] = get_args(
    RoleMessage | BrokerMessage | TopicMessage | DecisionMessage | ReplicaMessage | ServerMessage
)


@pytest.mark.parametrize("patterns", LISTS.values(), ids=LISTS)
def test_every_message_has_a_reader(patterns: tuple[MessagePattern, ...]) -> None:
    """The importer takes all messages about history, the feed those that it lists."""
    made = {pattern.makes for pattern in patterns if pattern.makes is not None}
    assert [one for one in made if not issubclass(one, (HistoryMessage, *OF_FEED))] == []


def test_every_message_of_the_feed_is_made_of_some_line() -> None:
    made = {pattern.makes for patterns in LISTS.values() for pattern in patterns}
    assert set(OF_FEED) - made == {ConnectionLost}, "lost connections are known by the logger"


def test_both_readers_get_the_same_message() -> None:
    line = "Newly added brokers: 4, deleted brokers: , bounced brokers: 2, all live brokers: 1,2,4"
    for wanted in ((HistoryMessage,), OF_FEED):
        table = PatternTable(controller_log.PATTERNS, wanted)
        assert table.read(line, BY_1) == BrokersChanged(B1, (B4,), (), (B2,), (B1, B2, B4))


def test_a_message_that_a_reader_does_not_want_is_known_and_ignored() -> None:
    line = "New broker startup callback for 2,4"
    assert PatternTable(controller_log.PATTERNS, (BrokersStarted,)).read(line, BY_1) == BrokersStarted((B2, B4))
    assert PatternTable(controller_log.PATTERNS, (HistoryMessage,)).read(line, BY_1) is NoMessage.IGNORED


def test_what_starts_like_a_wanted_message_is_known_only_by_its_rest() -> None:
    """Of a deletion's lines, which all start the same, the importer wants the last."""
    table = PatternTable(controller_log.PATTERNS, (TopicDeleted,))
    assert table.read("Deletion of topic a successfully completed", BY_1) == TopicDeleted(B1, "a")
    assert table.read("Deletion of topic a (re)started", BY_1) is NoMessage.IGNORED
    assert table.read("Deletion of topic a in the words of a version to come", BY_1) is NoMessage.UNKNOWN


@pytest.mark.parametrize(
    ("rest", "strict"),
    [
        (
            "from offset 12 with high watermark 10 ISR [2,3]. Previous leader epoch was 3.",
            BecameLeader(B1, ORDERS_0, 4, 12, 10),
        ),
        ("in the words of a version to come", NoMessage.UNKNOWN),
    ],
)
def test_the_feed_needs_less_of_a_line_than_the_importer(rest: str, strict: Message | NoMessage) -> None:
    """The importer reads files that may be damaged; the feed reads whole lines, of Kafkas that may be newer."""
    line = f"Leader orders-0 starts at leader epoch 4 {rest}"
    assert PatternTable(state_change_log.BY_BROKER, (HistoryMessage,)).read(line, BY_1) == strict
    assert PatternTable(state_change_log.BY_BROKER, OF_FEED).read(line, BY_1) == ReplicaRoleTaken(ORDERS_0, is_leader=True)


def test_a_message_has_the_error_that_follows_its_line() -> None:
    speaker = Speaker(B1, continuation="java.lang.IllegalStateException: no such thing\n\tat kafka.Some.thing(Some.scala:1)")
    found = PatternTable(controller_log.PATTERNS, OF_FEED).read(
        "Error while moving some replicas to OfflineReplica state", speaker
    )
    assert found == StateChangesFailed("replicas", "OfflineReplica", "java.lang.IllegalStateException: no such thing")


def test_a_value_that_cannot_be_parsed_makes_a_line_unknown() -> None:
    line = "Starting replica leader election (PREFERRED) for partitions orders triggered by AutoTriggered"
    assert PatternTable(controller_log.PATTERNS, (ElectionTriggered,)).read(line, BY_1) is NoMessage.UNKNOWN
