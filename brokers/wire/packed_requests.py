"""The messages that grow with the cluster, packed without kio: LeaderAndIsr 4 and 5, the responses, UpdateMetadata 6 and 7.

kio needs seconds for those of a cluster of a hundred thousand partitions. The bytes are the same.

Source: Kafka 2.8, LeaderAndIsrRequest, LeaderAndIsrResponse, UpdateMetadataRequest; Kafka's protocol guide, "Protocol
Primitive Types" (KIP-482).
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from kcsim.controller.decisions.topic_ids import BYTES as TOPIC_ID_BYTES
from kcsim.controller.decisions.topic_ids import number_of
from kcsim.controller.requests import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LiveLeader,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import NO_LEADER, BrokerId, Endpoint, PartitionState, TopicPartition

T = TypeVar("T")

SECURITY_PROTOCOLS: tuple[str, ...] = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""By the numbers that stand for them. Source: Kafka 2.8, SecurityProtocol."""

SENDER_AND_RECIPIENT = struct.Struct(">iiq")
_DECIDED = struct.Struct(">iii")
PARTITION_ERROR = struct.Struct(">ih")
INT16, INT32 = struct.Struct(">h"), struct.Struct(">i")
_NO_TAGS = b"\0"
_NO_TOPIC_ID = bytes(TOPIC_ID_BYTES)
_UNKNOWN_TYPE = b"\0"
"""Whether a request names all partitions of the recipient: a controller on ZooKeeper does not say it."""
LISTS_KEPT = 1 << 16
"""How many different lists of brokers are kept packed: partitions share them."""


def pack_leader_and_isr_response(response: LeaderAndIsrResponse) -> bytes:
    """Return the body of a response to LeaderAndIsr. Raises: struct.error for a number that a field cannot have."""
    names: dict[str, bytes] = {}
    packed = [INT16.pack(response.error), _length(len(response.partition_errors))]
    for (topic, number), error in response.partition_errors.items():
        if topic not in names:
            names[topic] = _text(topic)
        packed.append(names[topic] + PARTITION_ERROR.pack(number, error) + _NO_TAGS)
    packed.append(_NO_TAGS)
    return b"".join(packed)


def pack_leader_and_isr_response_by_id(response: LeaderAndIsrResponse, topic_ids: Mapping[str, str]) -> bytes:
    """Return the body of a response to LeaderAndIsr in version 5, which names topics by their ids.

    Raises: struct.error for a number that a field cannot have.
    """
    topics: dict[str, list[bytes]] = {}
    for (topic, number), error in response.partition_errors.items():
        topics.setdefault(topic, []).append(PARTITION_ERROR.pack(number, error) + _NO_TAGS)
    packed = [INT16.pack(response.error), _length(len(topics))]
    for topic, errors in topics.items():
        packed += [_topic_id(topic_ids.get(topic)), _length(len(errors)), *errors, _NO_TAGS]
    packed.append(_NO_TAGS)
    return b"".join(packed)


class StateChangePacker:
    """Packs the requests of one sender. What a change sends to several brokers is packed once.

    UpdateMetadata requests for all brokers differ in the broker epoch only. A partition in LeaderAndIsr requests is the same
    for all brokers that host it. Both are kept until UpdateMetadata requests of another change are packed.
    """

    def __init__(self) -> None:
        self._shared: tuple[UpdateMetadataRequest, bytes] | None = None
        self._led: dict[int, tuple[LeaderAndIsrPartitionState, bytes]] = {}  # by the identity of the state

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> bytes:
        """Return the body of a LeaderAndIsr request. Raises: struct.error for a number that a field cannot have."""
        topics = _pack_topics(request.partitions, self._pack_led, _packer_of(request.topic_ids))
        kind = b"" if request.topic_ids is None else _UNKNOWN_TYPE
        return b"".join((_pack_head(request), kind, topics, _pack_each(request.live_leaders, _pack_live_leader), _NO_TAGS))

    def _pack_led(self, partition: LeaderAndIsrPartitionState) -> bytes:
        kept = self._led.get(id(partition))
        if kept is None:
            kept = self._led[id(partition)] = partition, _pack_led(partition)
        return kept[1]

    def update_metadata(self, request: UpdateMetadataRequest) -> bytes:
        """Return the body of an UpdateMetadata request. Raises: struct.error for a number that a field cannot have."""
        if self._shared is None or not _is_shared(self._shared[0], request):
            self._shared = request, _pack_shared(request)
            self._led.clear()
        return _pack_head(request) + self._shared[1]


def _pack_head(request: LeaderAndIsrRequest | UpdateMetadataRequest) -> bytes:
    return SENDER_AND_RECIPIENT.pack(request.controller_id, request.controller_epoch, request.broker_epoch)


def _is_shared(one: UpdateMetadataRequest, other: UpdateMetadataRequest) -> bool:
    """Return whether two requests are of one change, and so are alike but for the recipient."""
    return one.partitions is other.partitions and one.live_brokers is other.live_brokers and one.topic_ids is other.topic_ids


def _pack_shared(request: UpdateMetadataRequest) -> bytes:
    topics = _pack_topics(request.partitions, _pack_metadata, _packer_of(request.topic_ids))
    return topics + _pack_each(request.live_brokers, _pack_broker) + _NO_TAGS


# --- partitions ------------------------------------------------------------------------------------------------------------


def _pack_topics(
    partitions: Mapping[TopicPartition, T], pack: Callable[[T], bytes], pack_id: Callable[[str], bytes]
) -> bytes:
    """Return the array of topics, in the order in which they occur first, each with its partitions."""
    topics: dict[str, list[bytes]] = {}
    for (topic, number), state in partitions.items():
        packed = INT32.pack(number) + pack(state)
        if topic in topics:
            topics[topic].append(packed)
        else:
            topics[topic] = [packed]
    whole = (
        _text(topic) + pack_id(topic) + _length(len(packed)) + b"".join(packed) + _NO_TAGS
        for topic, packed in topics.items()
    )
    return _length(len(topics)) + b"".join(whole)


def _topic_id(topic_id: str | None) -> bytes:
    return _NO_TOPIC_ID if topic_id is None else number_of(topic_id)


def _packer_of(topic_ids: Mapping[str, str] | None) -> Callable[[str], bytes]:
    """Return the function that packs the id of a topic; it packs nothing in a version without ids."""
    return (lambda topic: b"") if topic_ids is None else lambda topic: _topic_id(topic_ids.get(topic))


def _pack_led(partition: LeaderAndIsrPartitionState) -> bytes:
    assignment = partition.assignment
    return (
        _pack_state(partition.state)
        + _brokers(assignment.replicas)
        + _brokers(assignment.adding_replicas)
        + _brokers(assignment.removing_replicas)
        + (b"\1\0" if partition.is_new else b"\0\0")  # and no tags
    )


def _pack_metadata(partition: UpdateMetadataPartitionState) -> bytes:
    replicas = _brokers(partition.replicas) + _brokers(partition.offline_replicas)
    return _pack_state(partition.state) + replicas + _NO_TAGS


def _pack_state(state: PartitionState) -> bytes:
    decided = state.leader_and_isr
    leader = NO_LEADER if decided.leader is None else decided.leader
    numbers = _DECIDED.pack(state.controller_epoch, leader, decided.leader_epoch)
    return numbers + _brokers(decided.isr) + INT32.pack(decided.zk_version)


@lru_cache(LISTS_KEPT)
def _brokers(brokers: tuple[BrokerId, ...]) -> bytes:
    return _length(len(brokers)) + struct.pack(f">{len(brokers)}i", *brokers)


# --- brokers ---------------------------------------------------------------------------------------------------------------


def _pack_each(elements: Iterable[T], pack: Callable[[T], bytes]) -> bytes:
    packed = [pack(element) + _NO_TAGS for element in elements]
    return _length(len(packed)) + b"".join(packed)


def _pack_live_leader(leader: LiveLeader) -> bytes:
    return INT32.pack(leader.broker_id) + _text(leader.host) + INT32.pack(leader.port)


def _pack_broker(broker: UpdateMetadataBroker) -> bytes:
    rack = b"\0" if broker.rack is None else _text(broker.rack)
    return INT32.pack(broker.broker_id) + _pack_each(broker.endpoints, _pack_endpoint) + rack


def _pack_endpoint(endpoint: Endpoint) -> bytes:
    protocol = SECURITY_PROTOCOLS.index(endpoint.protocol)
    return INT32.pack(endpoint.port) + _text(endpoint.host) + _text(endpoint.listener) + INT16.pack(protocol)


# --- primitive types -------------------------------------------------------------------------------------------------------


def _length(length: int) -> bytes:
    """Pack the length of an array or a text: it is sent as a number of variable length that is greater by 1."""
    number, packed = length + 1, bytearray()
    while number > 0x7F:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)
    return bytes(packed)


def _text(text: str) -> bytes:
    content = text.encode()
    return _length(len(content)) + content
