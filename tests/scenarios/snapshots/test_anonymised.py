"""An anonymised snapshot has the same shape, and none of the names."""

from kcsim.scenarios.snapshots.anonymised import anonymised
from kcsim.scenarios.snapshots.snapshot_format import SnapshotTopic, decode_snapshot, encode_snapshot
from tests.scenarios.snapshots.test_snapshot_format import FULL

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def test_no_name_is_left() -> None:
    text = encode_snapshot(anonymised(FULL, KEY)).decode()
    for name in ("orders", "clicks", "zk1", "b1:9092", "hpH3ASYfQ9uoqQ0gKpa1Fw", "w0VmzVx3SiuGbSE8C3xZDA", '"a"'):
        assert name in encode_snapshot(FULL).decode()
        assert name not in text
    assert decode_snapshot(text.encode(), "cluster.json").is_anonymised


def test_a_topic_has_one_hash_everywhere_in_a_file_and_another_with_another_key() -> None:
    one, other = anonymised(FULL, KEY), anonymised(FULL, OTHER_KEY)
    assert one.topics[0].name == one.reassignment_requests[0].topic == one.election_requests[0].topic
    assert one.topics[0].name != other.topics[0].name


def test_numbers_partitions_and_internal_topics_stay() -> None:
    """They decide what a controller does, and what has to be moved."""
    internal = SnapshotTopic(
        "__consumer_offsets", FULL.topics[0].partitions, None, {"cleanup.policy": "compact", "note": "x"}
    )
    hidden = anonymised(type(FULL)("s", "t", topics=(internal,), broker_configs=FULL.broker_configs), KEY)
    assert (hidden.topics[0].name, hidden.topics[0].partitions) == ("__consumer_offsets", internal.partitions)
    assert hidden.broker_configs == FULL.broker_configs
    assert hidden.topics[0].config["cleanup.policy"] == "compact"
    assert hidden.topics[0].config["note"].startswith("value-")
