"""The JSON files of the reassignment and election tools."""

import pytest

from kcsim.controller.admin.reassignment_files import (
    MovePlan,
    parse_move_plan,
    parse_partitions_to_elect,
    parse_topics_to_move,
)
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.vocabulary import BrokerId, TopicPartition

FOO_0, FOO_1 = TopicPartition("foo", 0), TopicPartition("foo", 1)
B1, B2, B3 = map(BrokerId, (1, 2, 3))


def test_a_plan_is_read_in_its_order_and_keeps_what_is_there_twice() -> None:
    entries = '{"topic":"foo","partition":1,"replicas":[1]},{"topic":"foo","partition":0,"replicas":[2,3]}'
    again = '{"topic":"foo","partition":1,"replicas":[3],"log_dirs":["any"]}'
    plan = parse_move_plan(f'{{"version":1,"partitions":[{entries},{again}],"unknown":0}}')
    assert plan == MovePlan(((FOO_1, (B1,)), (FOO_0, (B2, B3)), (FOO_1, (B3,))))
    assert plan.targets == {FOO_1: (B3,), FOO_0: (B2, B3)}


def test_log_directories_other_than_any_are_kept() -> None:
    entry = '{"topic":"foo","partition":0,"replicas":[1,2],"log_dirs":["any","/data"]}'
    assert parse_move_plan(f'{{"partitions":[{entry}]}}').log_dirs == {(FOO_0, B2): "/data"}


def test_topics_and_partitions_are_read_in_their_order() -> None:
    assert parse_topics_to_move('{"topics":[{"topic":"b"},{"topic":"a"}]}') == ["b", "a"]
    entries = '{"topic":"foo","partition":1},{"topic":"foo","partition":0}'
    assert parse_partitions_to_elect(f'{{"version":7,"partitions":[{entries}]}}') == [FOO_1, FOO_0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"version":2}', "Not supported version field value 2"),
        ("", "The input string is not a valid JSON"),
        ("no", "not JSON (Expecting value: line 1 column 1 (char 0)): no"),
        ("[]", "Expected JSON object, received []"),
        ('{"partitions":[{"topic":"foo","partition":"0","replicas":[1]}]}', 'Expected `Int` value, received "0"'),
        ('{"partitions":[{"topic":"foo","partition":0}]}', "No such field exists: `replicas`"),
        (
            '{"partitions":[{"topic":"foo","partition":0,"replicas":[1,2],"log_dirs":["any"]}]}',
            "Size of replicas list List(1, 2) is different from size of log dirs list List(any) for partition foo-0",
        ),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_move_plan(text)
    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "Preferred replica election data is empty"),
        (
            '{"partitions":[{"topic":"foo","partition":1},{"topic":"foo","partition":1}]}',
            "Preferred replica election data contains duplicate partitions: foo-1",
        ),
        ('{"partitions":[{"topic":"foo"}]}', "No such field exists: `partition`"),
    ],
)
def test_partitions_to_elect_that_cannot_be_read_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_partitions_to_elect(text)
    assert str(refused.value) == reason
