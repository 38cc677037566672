"""The znodes /brokers/topics/T and the partition states below them."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from kcsim.vocabulary import (
    NO_LEADER,
    BrokerId,
    ControllerEpoch,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicState,
    ZkVersion,
)
from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import (
    INT_MAX,
    INT_MIN,
    WrongJsonError,
    as_int,
    as_ints,
    as_object,
    as_string,
    field,
    parse_java_int,
)
from kcsim.znodes.reading import Report, broker_ids_in, object_or_report, reading, replica_list

_JavaInt = Annotated[int, msgspec.Meta(ge=INT_MIN, le=INT_MAX)]
_Replicas = dict[str, tuple[_JavaInt, ...]]
"""Partition -> broker ids."""


class _TopicJson(msgspec.Struct):
    partitions: _Replicas = {}
    adding_replicas: _Replicas = {}
    removing_replicas: _Replicas = {}
    topic_id: str | msgspec.UnsetType = msgspec.UNSET
    version: int = 1


_TOPIC_DECODER = msgspec.json.Decoder(_TopicJson)


def decode_topic(path: str, data: bytes | None, report: Report) -> TopicState:
    """Decode a topic of any version.

    Data that are not JSON are reported, and the result is a topic without partitions. Raises: BadZnodeError for JSON of
    another form.
    """
    try:
        # As with the states of partitions below: what this decoder accepts, the lenient one decodes to the same value.
        content = _TOPIC_DECODER.decode(data if data is not None and data.isascii() else b"")
    except msgspec.MsgspecError:
        return _read_topic(path, data, report)
    adding, removing = content.adding_replicas, content.removing_replicas
    with reading(path):
        return TopicState(
            {
                parse_java_int(partition): ReplicaAssignment(
                    replicas,  # type: ignore[arg-type]  # ints and BrokerIds are the same at run time
                    adding.get(partition, ()),  # type: ignore[arg-type]
                    removing.get(partition, ()),  # type: ignore[arg-type]
                )
                for partition, replicas in content.partitions.items()
            },
            topic_id=None if isinstance(content.topic_id, msgspec.UnsetType) else _topic_id(content.topic_id),
            version=content.version,
        )


def _read_topic(path: str, data: bytes | None, report: Report) -> TopicState:
    content = object_or_report(path, data, report)
    if content is None:
        return TopicState({})
    with reading(path):
        partitions, adding, removing = (
            as_object(content[name]) if name in content else {}
            for name in ("partitions", "adding_replicas", "removing_replicas")
        )
        return TopicState(
            {
                parse_java_int(partition): ReplicaAssignment(
                    broker_ids_in(replicas),
                    broker_ids_in(adding[partition]) if partition in adding else (),
                    broker_ids_in(removing[partition]) if partition in removing else (),
                )
                for partition, replicas in partitions.items()
            },
            topic_id=_topic_id(content["topic_id"]) if "topic_id" in content else None,
            version=content["version"] if type(content.get("version")) is int else 1,
        )


def _topic_id(value: Any) -> str:
    text = as_string(value)
    try:
        is_uuid = len(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)) == 16
    except (ValueError, binascii.Error):
        is_uuid = False
    if not is_uuid:
        raise WrongJsonError(f"{text} is no topic id: not 16 bytes in base64")
    return text


def encode_topic(state: TopicState) -> bytes:
    """Encode a topic in version 3, whatever version was read; the topic id is included only if there is one."""
    assignments = sorted(state.assignments.items())
    content: dict[str, Any] = {"partitions": {str(p): replica_list(a.replicas) for p, a in assignments}}
    if state.topic_id is not None:
        content["topic_id"] = state.topic_id
    content["adding_replicas"] = {str(p): replica_list(a.adding_replicas) for p, a in assignments if a.adding_replicas}
    content["removing_replicas"] = {str(p): replica_list(a.removing_replicas) for p, a in assignments if a.removing_replicas}
    content["version"] = 3
    return kafka_json.encode(content)


RECOVERED: Literal[0] = 0
RECOVERING: Literal[1] = 1


class _StateJson(msgspec.Struct):
    leader: _JavaInt
    leader_epoch: _JavaInt
    isr: list[_JavaInt]
    controller_epoch: _JavaInt
    leader_recovery_state: Literal[0, 1] = RECOVERED


_STATE_DECODER = msgspec.json.Decoder(_StateJson)
_AFTER_ISR = "]}"
_LEADER_EPOCH = '"leader_epoch":'


def decode_partition_state(path: str, data: bytes | None, zk_version: ZkVersion, report: Report) -> PartitionState | None:
    """Decode a partition's state.

    Data that are not JSON are reported, and the result is None, because Kafka treats the state as absent then.

    Args:
        zk_version: data version of the znode; it is part of the result, for conditional writes.

    Raises: BadZnodeError for JSON of another form.
    """
    try:
        # There can be hundreds of thousands of states. Whatever this fast, strict decoder accepts, the lenient one below
        # decodes to the same value.
        content = _STATE_DECODER.decode(data if data is not None and data.isascii() else b"")
    except msgspec.MsgspecError:
        slowly = _read_state(path, data, report)
        if slowly is None:
            return None
        content = slowly
    return PartitionState(
        LeaderAndIsr(
            BrokerId(content.leader) if content.leader != NO_LEADER else None,
            LeaderEpoch(content.leader_epoch),
            tuple(content.isr),  # type: ignore[arg-type]  # ints and BrokerIds are the same at run time
            zk_version,
            content.leader_recovery_state == RECOVERING,
        ),
        ControllerEpoch(content.controller_epoch),
    )


def _read_state(path: str, data: bytes | None, report: Report) -> _StateJson | None:
    content = object_or_report(path, data, report)
    if content is None:
        return None
    with reading(path):
        return _StateJson(
            leader=as_int(field(content, "leader")),
            leader_epoch=as_int(field(content, "leader_epoch")),
            isr=list(as_ints(field(content, "isr"))),
            controller_epoch=as_int(field(content, "controller_epoch")),
            leader_recovery_state=_recovery_state(content),
        )


def _recovery_state(content: Mapping[str, Any]) -> Literal[0, 1]:
    """Return the state of the leader's recovery; versions of Kafka that do not write it do not read it either."""
    return RECOVERING if content.get("leader_recovery_state") == RECOVERING else RECOVERED


def encode_partition_state(state: PartitionState) -> bytes:
    of = state.leader_and_isr
    text = partition_state_text(of.leader, of.leader_epoch, of.isr, state.controller_epoch)
    if of.is_recovering:
        text = text.replace(_LEADER_EPOCH, f'"leader_recovery_state":{RECOVERING},{_LEADER_EPOCH}')
    return text.encode()


def partition_state_text(leader: int | None, leader_epoch: int, isr: Iterable[int], controller_epoch: int) -> str:
    """Return the data of a state znode as text. `leader` None: there is no leader."""
    return f"{partition_state_text_before_isr(leader, leader_epoch, controller_epoch)}{','.join(map(str, isr))}{_AFTER_ISR}"


def partition_state_text_before_isr(leader: int | None, leader_epoch: int, controller_epoch: int) -> str:
    """Return the data of a state znode, as text, up to the first member of the ISR."""
    leader = NO_LEADER if leader is None else leader
    return f'{{"controller_epoch":{controller_epoch},"leader":{leader},"version":1,"leader_epoch":{leader_epoch},"isr":['


def decode_isr_after(beginning: str, data: str) -> tuple[int, ...] | None:
    """Decode only the ISR of a state znode of which all else is known, many times faster than decode_partition_state.

    Args:
        beginning: as partition_state_text_before_isr returns it.

    Returns: None if the data begin or end otherwise.
    """
    if not data.startswith(beginning) or not data.endswith(_AFTER_ISR):
        return None
    try:
        return tuple(map(int, data[len(beginning) : -len(_AFTER_ISR)].split(",")))
    except ValueError:
        return None
