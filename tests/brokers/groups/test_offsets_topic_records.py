"""Records of __consumer_offsets in Kafka's format, field by field."""

import struct
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.groups.consumer_protocol import assignment_of, subscription_of
from kcsim.brokers.groups.group_metadata import (
    GroupRecord,
    GroupTombstone,
    MemberMetadata,
    OffsetRecord,
    OffsetTombstone,
)
from kcsim.brokers.groups.offsets_topic_records import key_and_value, stored_record
from kcsim.brokers.groups.requests import OffsetDetails, Subscription
from kcsim.vocabulary import LeaderEpoch, TopicPartition

NOW_MS = 1_700_000_000_123


class Fields:
    """Reads fields of Kafka's messages one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def number(self, form: str) -> int:
        (number,) = struct.unpack_from(f">{form}", self._content, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(number)

    def content(self, form: str) -> bytes | None:
        """Read a length in this form, and as many bytes."""
        length = self.number(form)
        if length < 0:
            return None
        self._at += length
        return self._content[self._at - length : self._at]

    def text(self) -> str | None:
        content = self.content("h")
        return None if content is None else content.decode()

    def all_read(self) -> bool:
        return self._at == len(self._content)


names = st.text(min_size=1, max_size=20)
partitions = st.builds(TopicPartition, names, st.integers(0, 2**31 - 1))


@given(names, partitions, st.integers(0, 2**62), st.integers(-1, 2**31 - 1), st.text(max_size=50))
def test_an_offset(group: str, tp: TopicPartition, offset: int, epoch: int, metadata: str) -> None:
    record = OffsetRecord(group, tp, offset, OffsetDetails(LeaderEpoch(epoch), metadata))
    key, value = key_and_value(record, NOW_MS)
    assert value is not None
    assert key_and_value(OffsetTombstone(group, tp), NOW_MS) == (key, None)
    fields = Fields(key)
    assert (fields.number("h"), fields.text(), fields.text(), fields.number("i")) == (1, group, *tp)
    assert fields.all_read()
    fields = Fields(value)
    assert (fields.number("h"), fields.number("q"), fields.number("i")) == (3, offset, epoch)
    assert (fields.text(), fields.number("q"), fields.all_read()) == (metadata, NOW_MS, True)
    assert stored_record(key, value) == record
    assert stored_record(key, None) == OffsetTombstone(group, tp)


def members(fields: Fields) -> Iterator[tuple[object, ...]]:
    for _ in range(fields.number("i")):
        texts = [fields.text() for _ in range(4)]
        timeouts = [fields.number("i") for _ in range(2)]
        subscription, assignment = fields.content("i"), fields.content("i")
        assert subscription is not None
        assert assignment is not None
        yield *texts, *timeouts, subscription_of(subscription), assignment_of(assignment)


def test_a_group_with_a_static_member() -> None:
    subscription, owned = Subscription(("clicks", "orders")), (TopicPartition("orders", 0), TopicPartition("orders", 2))
    member = MemberMetadata("c-1", "till-7", 10_000, 300_000, (("range", subscription),), owned, "c", "/127.0.0.1")
    key, value = key_and_value(GroupRecord("shop", 4, "range", "c-1", (member,)), NOW_MS)
    assert value is not None
    assert key_and_value(GroupTombstone("shop"), NOW_MS) == (key, None)
    fields = Fields(key)
    assert (fields.number("h"), fields.text(), fields.all_read()) == (2, "shop", True)
    fields = Fields(value)
    assert (fields.number("h"), fields.text(), fields.number("i")) == (3, "consumer", 4)
    assert (fields.text(), fields.text(), fields.number("q")) == ("range", "c-1", NOW_MS)
    assert list(members(fields)) == [("c-1", "till-7", "c", "/127.0.0.1", 300_000, 10_000, subscription, owned)]
    assert fields.all_read()
    assert stored_record(key, None) == GroupTombstone("shop")


def test_a_group_is_read_with_the_bytes_of_its_members() -> None:
    """Of a member's assignors only the chosen one is stored, as in Kafka."""
    protocols = (("sticky", b"other"), ("range", b"subscription"))
    member = MemberMetadata("c-1", None, 10_000, 300_000, protocols, b"assignment", "c", "/127.0.0.1")
    record = GroupRecord("shop", 4, "range", "c-1", (member,))
    chosen = replace(member, protocols=(("range", b"subscription"),))
    assert stored_record(*key_and_value(record, NOW_MS)) == replace(record, members=(chosen,))
    empty = GroupRecord("shop", 5, None, None, ())
    assert stored_record(*key_and_value(empty, NOW_MS)) == empty


def test_older_forms_of_an_offset_are_read() -> None:
    """Version 1 has a time of expiry; Kafka writes it for clients that name one."""
    record = OffsetRecord("g", TopicPartition("orders", 3), 7, OffsetDetails(LeaderEpoch(-1), "m"))
    key, _ = key_and_value(record, NOW_MS)
    value = struct.pack(">hqhsqq", 1, 7, 1, b"m", NOW_MS, NOW_MS)
    assert stored_record(b"\x00\x00" + key[2:], value) == record


def test_other_keys_are_no_records_of_groups() -> None:
    assert stored_record(b"\x00\x03abc", b"") is None


def test_a_group_without_members() -> None:
    _, value = key_and_value(GroupRecord("shop", 5, None, None, ()), NOW_MS)
    assert value is not None
    fields = Fields(value)
    assert (fields.number("h"), fields.text(), fields.number("i")) == (3, "consumer", 5)
    assert (fields.text(), fields.text(), fields.number("q"), fields.number("i")) == (None, None, NOW_MS, 0)
