"""The order in which Kafka's tools print what a hash map holds: as Apache Kafka 2.8.2 printed it."""

from kcsim.scenarios.admin.java_order import described_order, hash_code, map_order, partition_set_order
from kcsim.zk.vocabulary import TopicPartition


def test_the_hash_of_a_text_is_javas() -> None:
    assert (hash_code(""), hash_code("Aa"), hash_code("BB")) == (0, 2112, 2112)


def test_topics_are_described_in_the_order_of_three_maps() -> None:
    six = ["zz", "x.y", "orders", "bcfg", "cfg", "dflt"]
    seven = ["yy", "zz", "x.y", "cfg", "dflt", "orders", "bcfg"]
    assert described_order(sorted(six)) == six
    assert described_order(sorted(seven)) == seven


def test_settings_are_listed_in_the_order_of_a_map_of_all_settings() -> None:
    printed = ["min.insync.replicas", "retention.ms", "message.format.version"]
    assert map_order(sorted(printed), 64) == printed


def test_up_to_four_partitions_stay_as_they_are_and_more_go_by_hash() -> None:
    printed = ["orders-0", "x.y-0", "zz-1", "orders-3", "dflt-0", "orders-2", "cfg-0", "zz-2", "zz-0", "bcfg-0", "orders-1"]
    partitions = sorted(TopicPartition(name[:-2], int(name[-1])) for name in printed)
    assert [str(partition) for partition in partition_set_order(partitions)] == printed
    assert partition_set_order(partitions[:4]) == partitions[:4]
