"""Subscriptions by list and by pattern. Source: docs/kafka/consumer_groups.md 11; Kafka 2.8, KafkaConsumer.subscribe."""

import pytest

from kcsim.brokers.groups.assignors.errors import BadPatternError
from kcsim.brokers.groups.assignors.subscriptions import TopicList, TopicPattern


def test_a_pattern_matches_whole_names_and_none_of_kafkas_own_topics() -> None:
    known = ["orders", "orders-eu", "my-orders", "__consumer_offsets"]
    assert TopicPattern("orders.*").topics_among(known) == ("orders", "orders-eu")
    assert TopicPattern(".*").topics_among(known) == ("my-orders", "orders", "orders-eu")


def test_a_list_is_reported_as_it_is_whether_the_topics_exist_or_not() -> None:
    assert TopicList(("b", "a", "b")).topics_among(["a"]) == ("b", "a")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("orders(", "'orders(' is no regular expression: missing ), unterminated subpattern at character 7"),
        ("*", "'*' is no regular expression: nothing to repeat at character 1"),
        ("a{99999999999}", "'a{99999999999}' is no regular expression: it is too large"),
    ],
)
def test_a_pattern_that_is_no_regular_expression_is_refused_where_it_is_made(pattern: str, message: str) -> None:
    with pytest.raises(BadPatternError) as refused:
        TopicPattern(pattern)
    assert str(refused.value) == message
