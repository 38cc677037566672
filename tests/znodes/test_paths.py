"""Znode paths: Kafka's names for them, and the meaning of a given path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.znodes import paths
from kcsim.znodes.paths import KnownPath, PathKind
from tests.examples import fewer

ORDERS_0 = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("path", "meaning"),
    [
        ("/", KnownPath(PathKind.ROOT)),
        (paths.CONTROLLER, KnownPath(PathKind.CONTROLLER)),
        (paths.CONTROLLER_EPOCH, KnownPath(PathKind.CONTROLLER_EPOCH)),
        (paths.CLUSTER_ID, KnownPath(PathKind.CLUSTER_ID)),
        (paths.BROKER_IDS, KnownPath(PathKind.BROKER_IDS)),
        (paths.broker_id(BrokerId(3)), KnownPath(PathKind.BROKER_ID, broker_id=BrokerId(3))),
        (paths.topic("orders"), KnownPath(PathKind.TOPIC, topic="orders")),
        (paths.topic_partitions("orders"), KnownPath(PathKind.TOPIC_PARTITIONS, topic="orders")),
        (paths.topic_partition(ORDERS_0), KnownPath(PathKind.TOPIC_PARTITION, topic="orders", partition=0)),
        (paths.topic_partition_state(ORDERS_0), KnownPath(PathKind.TOPIC_PARTITION_STATE, topic="orders", partition=0)),
        (paths.topic_config("orders"), KnownPath(PathKind.CONFIG_ENTITY, entity_type="topics", entity="orders")),
        (
            paths.entity_config("users", "alice/clients/app"),
            KnownPath(PathKind.CONFIG_ENTITY, entity_type="users", entity="alice/clients/app"),
        ),
        ("/config/brokers", KnownPath(PathKind.CONFIG_ENTITY_TYPE, entity_type="brokers")),
        (paths.CONFIG_CHANGE_PREFIX + "0000000007", KnownPath(PathKind.CONFIG_CHANGE, sequence=7)),
        (paths.delete_topic("orders"), KnownPath(PathKind.DELETE_TOPIC, topic="orders")),
        (paths.REASSIGN_PARTITIONS, KnownPath(PathKind.REASSIGN_PARTITIONS)),
        (paths.ISR_CHANGE_PREFIX + "0000000017", KnownPath(PathKind.ISR_CHANGE, sequence=17)),
        (paths.LOG_DIR_EVENT_PREFIX + "0000000001", KnownPath(PathKind.LOG_DIR_EVENT, sequence=1)),
        (paths.LATEST_PRODUCER_ID_BLOCK, KnownPath(PathKind.LATEST_PRODUCER_ID_BLOCK)),
    ],
)
def test_a_path_says_what_it_is(path: str, meaning: KnownPath) -> None:
    assert paths.parse(path) == meaning


@pytest.mark.parametrize(
    "path",
    ["/zookeeper/quota", "/brokers/ids/one", "/brokers/topics/orders/partitions/x", "/controller/", "/config/cats", "//"],
)
def test_a_path_that_kafka_does_not_use_has_no_meaning(path: str) -> None:
    assert paths.parse(path) is None


def test_only_paths_below_a_partition_are_about_one() -> None:
    state, topic = paths.parse(paths.topic_partition_state(ORDERS_0)), paths.parse(paths.topic("orders"))
    assert state is not None
    assert topic is not None
    assert (state.topic_partition, topic.topic_partition) == (ORDERS_0, None)


@fewer(4)
@given(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 100_000))
def test_every_partition_is_found_again_in_its_path(topic: str, partition: int) -> None:
    found = paths.parse(paths.topic_partition_state(TopicPartition(topic, partition)))
    assert found == KnownPath(PathKind.TOPIC_PARTITION_STATE, topic=topic, partition=partition)


def test_every_path_made_at_start_up_is_known() -> None:
    assert [path for path in paths.TOP_LEVEL_PATHS if paths.parse(path) is None] == []


def test_paths_are_taken_apart_and_put_together() -> None:
    assert (paths.parent("/a/b"), paths.parent("/a"), paths.parent("/")) == ("/a", "/", "/")
    assert (paths.child("/", "a"), paths.child("/a", "b"), paths.name("/a/b")) == ("/a", "/a/b", "b")
    assert paths.lineage("/a/b/c") == ["/a", "/a/b", "/a/b/c"]
