"""Java's hash tables, against what a Java 17 printed."""

from kcsim.brokers.groups.java_hashing import HashedKeys, in_hash_order
from kcsim.controller.decisions.java_hash import partition_hash, string_hash
from kcsim.zk.vocabulary import TopicPartition


def test_strings_hash_as_in_java() -> None:
    """By UTF-16 units, so that a character outside the first plane counts as two."""
    texts = ["", "consumer1", "orders", "café", "😀"]
    assert [string_hash(text) for text in texts] == [0, 3873962747, 3286196965, 3045921, 1772899]


def test_a_partition_hashes_by_its_number_and_its_topic() -> None:
    assert partition_hash(TopicPartition("orders", 7), string_hash("orders")) == 3286198143


def test_keys_come_in_the_order_of_their_buckets_and_the_table_doubles_when_it_is_three_quarters_full() -> None:
    assert in_hash_order(["consumer1", "consumer2", "consumer3"]) == ["consumer3", "consumer2", "consumer1"]
    told = ["c11", "c10", "c13", "c12", "c14", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"]
    assert in_hash_order(f"c{n}" for n in range(1, 15)) == told


def test_keys_of_one_bucket_come_in_the_order_in_which_they_were_put_in() -> None:
    """Aa and BB have the same hash; one that is removed and put in again goes to the end."""
    keys = HashedKeys[str]()
    for key in ("Aa", "BB", "A"):
        keys.add(key, string_hash(key))
    assert (keys.in_order(), keys.first()) == (["Aa", "BB", "A"], "Aa")
    keys.remove("Aa")
    keys.add("Aa", string_hash("Aa"))
    assert (keys.in_order(), keys.first()) == (["BB", "Aa", "A"], "BB")
