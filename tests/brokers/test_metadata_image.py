"""Brokers' metadata of the cluster, shared by all brokers that received the same updates in the same order."""

import gc
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.metadata_image import EMPTY_IMAGE, MetadataImage
from kcsim.controller.requests import LEADER_DURING_DELETE, UpdateMetadataPartitionState
from kcsim.vocabulary import BrokerId, ControllerEpoch, LeaderAndIsr, LeaderEpoch, PartitionState, TopicPartition, ZkVersion

B1, B2 = BrokerId(1), BrokerId(2)
ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
CARTS_0 = TopicPartition("carts", 0)
ALL = (ORDERS_0, ORDERS_1, CARTS_0, TopicPartition("carts", 1))

PartitionStates = Mapping[TopicPartition, UpdateMetadataPartitionState]


def led_by(leader: BrokerId) -> UpdateMetadataPartitionState:
    state = LeaderAndIsr(leader, LeaderEpoch(0), (B1, B2), ZkVersion(0))
    return UpdateMetadataPartitionState(PartitionState(state, ControllerEpoch(1)), (B1, B2), ())


GONE = led_by(LEADER_DURING_DELETE)


def known(image: MetadataImage) -> dict[TopicPartition, BrokerId | None]:
    return {tp: state.state.leader_and_isr.leader for tp, state in image.items()}


def test_what_is_received_is_merged_and_the_value_before_stays_as_it_was() -> None:
    first = EMPTY_IMAGE.after({ORDERS_0: led_by(B1), CARTS_0: led_by(B1)})
    second = first.after({ORDERS_0: led_by(B2), ORDERS_1: led_by(B2)})
    assert known(first) == {ORDERS_0: B1, CARTS_0: B1}
    assert known(second) == {ORDERS_0: B2, ORDERS_1: B2, CARTS_0: B1}
    assert len(EMPTY_IMAGE) == 0


def test_what_is_to_be_forgotten_is_gone_and_only_what_was_known_is_reported_as_forgotten() -> None:
    image = EMPTY_IMAGE.after({ORDERS_0: led_by(B1)}).after({ORDERS_0: GONE, CARTS_0: GONE})
    assert known(image) == {}
    assert list(image.forgotten) == [ORDERS_0]
    assert list(image.topics) == []


def test_topics_are_those_with_partitions_and_their_partitions_come_in_order() -> None:
    image = EMPTY_IMAGE.after({ORDERS_1: led_by(B1), CARTS_0: led_by(B1), ORDERS_0: led_by(B1)})
    assert sorted(image.topics) == ["carts", "orders"]
    assert image.of_topic("orders") == [ORDERS_0, ORDERS_1]
    assert image.of_topic("unknown") == []


def test_a_topic_keeps_its_id_until_another_one_comes_or_its_last_partition_goes() -> None:
    image = EMPTY_IMAGE.after(
        {ORDERS_0: led_by(B1), ORDERS_1: led_by(B1), CARTS_0: led_by(B1)}, {"orders": "A", "carts": "B"}
    )
    assert image.topic_ids == {"orders": "A", "carts": "B"}
    image = image.after({ORDERS_0: GONE, CARTS_0: led_by(B2)}, {"carts": "C"})
    assert image.topic_ids == {"orders": "A", "carts": "C"}
    image = image.after({ORDERS_1: GONE}, {"orders": "A"})
    assert image.topic_ids == {"carts": "C"}
    assert image.after({CARTS_0: led_by(B1)}).topic_ids == {"carts": "C"}, "an update without ids changes none"


def test_two_brokers_that_receive_the_same_share_one_value() -> None:
    """Otherwise hundreds of brokers would keep a million entries each."""
    first, second = {ORDERS_0: led_by(B1)}, {ORDERS_1: led_by(B2)}
    one, other = EMPTY_IMAGE.after(first), EMPTY_IMAGE.after(first)
    assert one is other
    assert one.after(second) is other.after(second)


def test_what_is_received_in_another_mapping_is_not_taken_for_the_same() -> None:
    """Another mapping with the same keys may have other values, and may occupy the memory address of a former mapping."""
    one = EMPTY_IMAGE.after({ORDERS_0: led_by(B1)})
    other = EMPTY_IMAGE.after({ORDERS_0: led_by(B2)})
    assert (known(one), known(other)) == ({ORDERS_0: B1}, {ORDERS_0: B2})


def test_a_topic_of_which_nothing_is_received_is_shared_with_the_value_before() -> None:
    """One ISR change among a million partitions therefore costs only what its topic costs."""
    before = EMPTY_IMAGE.after({ORDERS_0: led_by(B1), CARTS_0: led_by(B1)})
    after = before.after({ORDERS_0: led_by(B2)})
    assert after[CARTS_0] is before[CARTS_0]
    assert after._of_topics["carts"] is before._of_topics["carts"]


def test_a_value_that_no_broker_has_any_more_is_not_kept() -> None:
    """The first value lives as long as the program; it must not keep the later values of every run alive."""
    image = EMPTY_IMAGE.after({ORDERS_0: led_by(B1)})
    assert EMPTY_IMAGE._next is not None
    assert EMPTY_IMAGE._next() is image
    del image
    gc.collect()
    assert EMPTY_IMAGE._next() is None


@given(st.lists(st.dictionaries(st.sampled_from(ALL), st.sampled_from([led_by(B1), led_by(B2), GONE])), max_size=6))
def test_it_says_what_one_dictionary_would(batches: list[dict[TopicPartition, UpdateMetadataPartitionState]]) -> None:
    image, expected = EMPTY_IMAGE, dict[TopicPartition, UpdateMetadataPartitionState]()
    for batch in batches:
        image = image.after(batch)
        assert set(image.forgotten) == {tp for tp in expected if batch.get(tp) is GONE}
        expected = {tp: state for tp, state in {**expected, **batch}.items() if state is not GONE}
    assert dict(image) == expected
    assert all(tp in image for tp in expected)
    assert len(image) == len(expected)
    assert sorted(image.topics) == sorted({tp.topic for tp in expected})
