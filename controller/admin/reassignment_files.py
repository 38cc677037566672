"""Parsers of the JSON files that the reassignment and election tools read.

Values are not converted between types, and unknown fields are ignored. Source: Kafka 2.8, ReassignPartitionsCommand and
LeaderElectionCommand.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, AdminOperationError
from kcsim.controller.decisions.placement import Replicas
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.znodes.kafka_json import (
    MISSING,
    JsonObject,
    NotJsonError,
    WrongJsonError,
    as_array,
    as_int,
    as_ints,
    as_object,
    as_string,
    parse,
)
from kcsim.znodes.kafka_json import field as member

ANY_LOG_DIR = "any"
VERSION = 1


@dataclass(frozen=True, slots=True)
class MovePlan:
    """The moves of a --reassignment-json-file, in its order; a partition may occur twice.

    Attributes:
        log_dirs: the log directory of each (partition, broker) for which the file names one.
    """

    moves: tuple[tuple[TopicPartition, Replicas], ...]
    log_dirs: Mapping[tuple[TopicPartition, BrokerId], str] = field(default_factory=dict)

    @property
    def targets(self) -> dict[TopicPartition, Replicas]:
        return dict(self.moves)


def parse_move_plan(text: str) -> MovePlan:
    """Parse a --reassignment-json-file. Raises: AdminOperationError, AdminCommandFailedError."""
    moves: list[tuple[TopicPartition, Replicas]] = []
    log_dirs: dict[tuple[TopicPartition, BrokerId], str] = {}
    try:
        content = _content(text)
        for entry in map(as_object, as_array(content.get("partitions", []))):
            partition = _partition(entry)
            replicas = tuple(map(BrokerId, as_ints(member(entry, "replicas"))))
            dirs = [as_string(name) for name in as_array(entry.get("log_dirs", [ANY_LOG_DIR] * len(replicas)))]
            if len(dirs) != len(replicas):
                raise AdminCommandFailedError(
                    f"Size of replicas list {_printed(replicas)} is different from size of log dirs list {_printed(dirs)}"
                    f" for partition {partition}"
                )
            moves.append((partition, replicas))
            log_dirs |= {(partition, b): name for b, name in zip(replicas, dirs, strict=True) if name != ANY_LOG_DIR}
    except WrongJsonError as error:
        raise AdminOperationError(str(error)) from None
    return MovePlan(tuple(moves), log_dirs)


def parse_topics_to_move(text: str) -> list[str]:
    """Parse a --topics-to-move-json-file: names of topics, in its order. Raises: AdminOperationError."""
    try:
        return [as_string(member(as_object(entry), "topic")) for entry in as_array(_content(text).get("topics", []))]
    except WrongJsonError as error:
        raise AdminOperationError(str(error)) from None


def parse_partitions_to_elect(text: str) -> list[TopicPartition]:
    """Parse a --path-to-json-file: partitions, in its order. Raises: AdminOperationError."""
    try:
        content = _content(text, check_version=False)
        if "partitions" not in content:
            raise AdminOperationError("Preferred replica election data is empty")
        partitions = [_partition(as_object(entry)) for entry in as_array(content["partitions"])]
    except WrongJsonError as error:
        raise AdminOperationError(str(error)) from None
    repeated = [str(partition) for partition, times in Counter(partitions).items() if times > 1]
    if repeated:
        raise AdminOperationError(f"Preferred replica election data contains duplicate partitions: {','.join(repeated)}")
    return partitions


def _content(text: str, check_version: bool = True) -> JsonObject:
    try:
        value = parse(text.encode())
    except NotJsonError as error:
        raise AdminOperationError(str(error)) from None
    if value is MISSING:
        raise AdminOperationError("The input string is not a valid JSON")
    content = as_object(value)
    version = as_int(content.get("version", VERSION)) if check_version else VERSION
    if version != VERSION:
        raise AdminOperationError(f"Not supported version field value {version}")
    return content


def _partition(entry: JsonObject) -> TopicPartition:
    return TopicPartition(as_string(member(entry, "topic")), as_int(member(entry, "partition")))


def _printed(items: object) -> str:
    assert isinstance(items, list | tuple)
    return f"List({', '.join(map(str, items))})"
