"""Parse ids, partitions, states and assignments as Kafka prints them in messages: versions 0.10 to 3.9, both Scala builds.

Every parser raises ValueError for text in none of the known formats: the line then counts as not understood.
Source: docs/kafka/logging.md 2.
"""

import re
from functools import lru_cache

import msgspec

from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

REMEMBERED = 100_000
"""Cache size: how many recurring partitions and id lists are not parsed again."""

IDS = r"\[?[\d, ]*\]?"
LEADER_AND_ISR = re.compile(
    r"LeaderAndIsr\(leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>\d+), isr(?:WithBrokerEpoch)?=\w+\((?P<isr>.*)\)"
    r"(?:, leaderRecoveryState=(?P<recovery>\w+))?, (?:zkVersion|partitionEpoch)=(?P<version>\d+)\)"
)
LEADER_ISR_AND_CONTROLLER_EPOCH = re.compile(
    r"\(Leader:(?P<leader>-?\d+),ISR:(?P<isr>[\d,]*)(?:,LeaderRecoveryState:(?P<recovery>\w+))?,LeaderEpoch:(?P<epoch>\d+)"
    r"(?:,(?:ZkVersion|PartitionEpoch):(?P<version>\d+))?,ControllerEpoch:(?P<controller_epoch>\d+)\)"
)
REQUEST_STATE = re.compile(
    rf"PartitionState\((?:topicName='[^']*', partitionIndex=\d+, )?controllerEpoch=(?P<controller_epoch>\d+), "
    rf"leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>\d+), isr=(?P<isr>{IDS}), "
    rf"(?:zkVersion|partitionEpoch)=(?P<version>\d+), "
)
IS_RECOVERING = re.compile(r"leaderRecoveryState=1\b")
"""In the state of a request, which has a number for it."""
RECOVERING = "RECOVERING"
BROKER_STATE = re.compile(r"BrokerState\((?:brokerId=)?(\d+)")
ASSIGNMENT = re.compile(
    r"ReplicaAssignment\(replicas=([\d, ]*), addingReplicas=([\d, ]*), removingReplicas=([\d, ]*)\)|\w+\(([\d, ]*)\)"
)
ASSIGNED = re.compile(rf"([^\s(),]+-\d+|\[[^\s,]+,\d+\]) -> (?:{ASSIGNMENT.pattern})")
BROKER_EPOCH = re.compile(r"(\d+) -> (-?\d+)")


class LoggedState(msgspec.Struct, frozen=True):
    """A partition's state as a message prints it. `leader` -1: no leader. None: this format does not contain the value.

    `controller_epoch` is that of the state, where the format has one. `is_recovering`: the leader was elected from outside
    the ISR, which has not changed since; only states that were written at protocol version 3.2 and newer tell.
    """

    leader: int
    leader_epoch: int
    isr: tuple[BrokerId, ...]
    zk_version: int | None
    controller_epoch: int | None
    is_recovering: bool = False


@lru_cache(REMEMBERED)
def partition_in(text: str) -> TopicPartition:
    """Parse orders-0; also [orders,0], the format up to 0.10."""
    if text.startswith("["):
        topic, _, number = text.strip("[]").rpartition(",")
    else:
        topic, _, number = text.rpartition("-")
    if not topic or not number.isdecimal():
        raise ValueError(f"{text!r} is no partition")
    return TopicPartition(topic, int(number))


def partitions_in(text: str) -> tuple[TopicPartition, ...]:
    """Parse orders-0,orders-1: any number of partitions."""
    return tuple(partition_in(one) for one in text.split(",") if one)


@lru_cache(REMEMBERED)
def ids_in(text: str) -> tuple[BrokerId, ...]:
    """Parse 1,2,3 or [1, 2, 3]: any number of ids."""
    return tuple(BrokerId(int(one)) for one in text.strip("[]").split(",") if one.strip())


@lru_cache(REMEMBERED)
def broker_set_in(text: str) -> tuple[BrokerId, ...]:
    """Parse Set(1, 2) or 1,2: any number of ids, in the order of the text."""
    return tuple(BrokerId(int(name)) for name in names_in(text))


def names_in(text: str) -> tuple[str, ...]:
    """Parse a,b or Set(a, b): any number of names."""
    inner = text[text.index("(") + 1 : -1] if text.endswith(")") else text
    return tuple(name for name in inner.replace(" ", "").split(",") if name)


def leader_and_isr_in(text: str) -> LoggedState:
    """Parse LeaderAndIsr(…), as in a partition's change to OnlinePartition."""
    found = LEADER_AND_ISR.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no LeaderAndIsr")
    isr = found["isr"]
    ids = tuple(BrokerId(int(one)) for one in BROKER_STATE.findall(isr)) if "BrokerState" in isr else ids_in(isr)
    is_recovering = found["recovery"] == RECOVERING
    return LoggedState(int(found["leader"]), int(found["epoch"]), ids, int(found["version"]), None, is_recovering)


@lru_cache(REMEMBERED)
def state_in(text: str) -> LoggedState:
    """Parse the state in a request or in the controller's memory: …PartitionState(…), or (Leader:…)."""
    found = REQUEST_STATE.search(text) or LEADER_ISR_AND_CONTROLLER_EPOCH.search(text)
    if found is None:
        raise ValueError(f"{text!r} is no state of a partition")
    version = found["version"]
    is_recovering = found.groupdict().get("recovery") == RECOVERING or IS_RECOVERING.search(text) is not None
    return LoggedState(
        int(found["leader"]),
        int(found["epoch"]),
        ids_in(found["isr"]),
        None if version is None else int(version),
        int(found["controller_epoch"]),
        is_recovering,
    )


def assignment_in(text: str) -> ReplicaAssignment:
    """Parse ReplicaAssignment(…); also a plain list of replicas, the format up to 2.3."""
    found = ASSIGNMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no assignment")
    return _assignment(*found.groups())


def assignments_in(text: str) -> dict[TopicPartition, ReplicaAssignment]:
    """Parse every `partition -> assignment` of a map, whatever encloses it."""
    return {partition_in(name): _assignment(*lists) for name, *lists in ASSIGNED.findall(text)}


def broker_epochs_in(text: str) -> dict[BrokerId, int]:
    """Parse HashMap(1 -> 26, 3 -> 62)."""
    return {BrokerId(int(broker)): int(epoch) for broker, epoch in BROKER_EPOCH.findall(text)}


def _assignment(replicas: str | None, adding: str | None, removing: str | None, plain: str | None) -> ReplicaAssignment:
    return ReplicaAssignment(ids_in(replicas or plain or ""), ids_in(adding or ""), ids_in(removing or ""))
