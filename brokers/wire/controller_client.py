"""A client of brokers over TCP for requests to the controller: reassignments and elections.

A request about reassignments is repeated until the controller is found. An election is requested once, of the broker that
the metadata name as the controller.

Source: Kafka 2.8, KafkaAdminClient.getElectLeadersCall, getAlterPartitionReassignmentsCall.
"""

import asyncio
import struct
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from kio.index import load_request_schema

from kcsim.brokers.wire.apis.api import Values, sorted_by_topic
from kcsim.brokers.wire.apis.cluster import LIST_PARTITION_REASSIGNMENTS
from kcsim.brokers.wire.apis.leader_changes import ALTER_PARTITION_REASSIGNMENTS, ELECT_LEADERS, ELECTION_TYPES
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.frames import decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

CLIENT_ID = "kcsim"
WITHIN_S = 60.0
RETRY_S = 0.1
TIMEOUT_MS = 60_000
_LENGTH = struct.Struct(">i")
_ALL_BROKERS: Values = {
    "topics": (),
    "allow_auto_topic_creation": False,
    "include_cluster_authorized_operations": False,
    "include_topic_authorized_operations": False,
}


class ControllerClient:
    """Sends each request over a connection of its own. Each method raises ClusterError if there is no answer.

    Args of all methods: bootstrap: "host:port,…" of brokers that run.
    """

    async def alter_partition_reassignments(
        self, bootstrap: str, targets: ReassignmentTargets
    ) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments. Return a result for each."""
        topics = [
            {"name": topic, "partitions": [{"partition_index": number, "replicas": to} for number, to in partitions]}
            for topic, partitions in sorted_by_topic(dict(targets))
        ]
        answer = await _until_controller(
            bootstrap, ALTER_PARTITION_REASSIGNMENTS, 0, {"timeout": TIMEOUT_MS, "topics": topics}
        )
        if answer.error_code:
            return dict.fromkeys(targets, ErrorCode(answer.error_code))
        return {
            TopicPartition(topic.name, one.partition_index): ErrorCode(one.error_code)
            for topic in answer.responses
            for one in topic.partitions
        }

    async def list_partition_reassignments(
        self, bootstrap: str, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Return the ongoing reassignments of these partitions, or of all."""
        topics = None if partitions is None else _numbers_by_topic(partitions, "name", "partition_indexes")
        answer = await _until_controller(
            bootstrap, LIST_PARTITION_REASSIGNMENTS, 0, {"timeout": TIMEOUT_MS, "topics": topics}
        )
        return {
            TopicPartition(topic.name, one.partition_index): ReplicaAssignment(
                *(tuple(map(BrokerId, some)) for some in (one.replicas, one.adding_replicas, one.removing_replicas))
            )
            for topic in answer.topics
            for one in topic.partitions
        }

    async def elect_leaders(
        self, bootstrap: str, election_type: ElectionType, partitions: Collection[TopicPartition] | None
    ) -> ElectionResults:
        """Elect leaders for these partitions, or for all. Return a result for each."""
        number = next(number for number, known in ELECTION_TYPES.items() if known is election_type)
        listed = None if partitions is None else _numbers_by_topic(partitions, "topic", "partitions")
        values: Values = {"election_type": number, "topic_partitions": listed, "timeout": TIMEOUT_MS}
        answer = await _ask(await _controller_of(bootstrap), ELECT_LEADERS, 2, values)
        if answer.error_code:
            return dict.fromkeys(partitions or (), ApiError(ErrorCode(answer.error_code)))
        return {
            TopicPartition(topic.topic, one.partition_id): ApiError(ErrorCode(one.error_code), one.error_message)
            for topic in answer.replica_election_results
            for one in topic.partition_result
        }


def _numbers_by_topic(partitions: Iterable[TopicPartition], topic: str, numbers: str) -> Sequence[Values]:
    grouped = sorted_by_topic(dict.fromkeys(partitions))
    return [{topic: name, numbers: [number for number, _ in found]} for name, found in grouped]


async def _until_controller(bootstrap: str, api_key: int, version: int, values: Values) -> Any:
    """Return the answer of the first broker that does not deny that it is the controller."""
    loop = asyncio.get_running_loop()
    end = loop.time() + WITHIN_S
    while True:
        answer = await _ask(await _controller_of(bootstrap), api_key, version, values)
        if answer.error_code != ErrorCode.NOT_CONTROLLER or loop.time() > end:
            return answer
        await asyncio.sleep(RETRY_S)


async def _controller_of(bootstrap: str) -> tuple[str, int]:
    """Return the address of the controller, by the metadata of the first of these brokers that knows one."""
    loop = asyncio.get_running_loop()
    end = loop.time() + WITHIN_S
    while loop.time() < end:
        for server in bootstrap.split(","):
            host, _, port = server.rpartition(":")
            metadata = await _ask((host, int(port)), METADATA, 8, _ALL_BROKERS)
            brokers = {one.node_id: (str(one.host), int(one.port)) for one in metadata.brokers}
            if metadata.controller_id in brokers:
                return brokers[metadata.controller_id]
        await asyncio.sleep(RETRY_S)
    raise ClusterError(f"none of {bootstrap} knows a controller")


async def _ask(address: tuple[str, int], api_key: int, version: int, values: Values) -> Any:
    """Send a request to a broker, and return the message of its response. Raises: ClusterError."""
    frame = encode_request(message_of(load_request_schema(api_key, version), values), 1, CLIENT_ID)
    where = "{}:{}".format(*address)
    try:
        async with asyncio.timeout(WITHIN_S):
            reader, writer = await asyncio.open_connection(*address)
            try:
                writer.write(_LENGTH.pack(len(frame)) + frame)
                (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
                _, message = decode_response(await reader.readexactly(length), api_key, version)
                return message
            finally:
                writer.transport.abort()
    except TimeoutError:
        raise ClusterError(f"{where}, a broker, has not answered in {WITHIN_S:g} s") from None
    except (OSError, asyncio.IncompleteReadError, MalformedFrameError) as error:
        raise ClusterError(f"{where}, a broker, has not answered: {error}") from None
