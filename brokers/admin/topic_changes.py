"""Topics created, grown and deleted for admin clients, by the broker that is the controller.

The broker writes the znodes through its own session, as a tool would; the controller's watches do the rest. Then it waits
until its own metadata cache shows the result, or answers REQUEST_TIMED_OUT for what it does not show in time. Left out:
policies, quotas, authorization.

Source: Kafka 2.8, KafkaApis.handleCreateTopicsRequest, handleCreatePartitionsRequest, handleDeleteTopicsRequest,
ZkAdminManager; docs/kafka/assignment.md 6, 7.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from kcsim.brokers.admin.change_requests import (
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    GrowableTopic,
)
from kcsim.brokers.admin.config_handler import ConfigHandler
from kcsim.brokers.admin.metadata_waits import MetadataWaits
from kcsim.brokers.admin.refusals import REFUSALS, api_error
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.admin.topics import broker_metadata, topic_exists, write_added_partitions, write_new_topic
from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers
from kcsim.controller.decisions.kafka_refusals import (
    InvalidPartitionsError,
    InvalidRequestError,
    UnknownTopicOrPartitionError,
)
from kcsim.controller.decisions.partition_growth import partitions_to_create
from kcsim.controller.decisions.placement import Assignment, draw
from kcsim.controller.decisions.topic_config import check_topic_config
from kcsim.controller.decisions.topic_creation import new_topic_assignment
from kcsim.controller.decisions.topic_ids import TopicNumbers
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.requests import SUCCESS, ApiError, ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.vocabulary import TopicPartition
from kcsim.zk.errors import NodeExistsError
from kcsim.zk.kafka.kafka_zk import KafkaZk

NOT_CONTROLLER = ApiError(ErrorCode.NOT_CONTROLLER)
TIMED_OUT = ApiError(ErrorCode.REQUEST_TIMED_OUT)
MOST_PARTITIONS = 200_000
"""Of a topic: the znode with more would be larger than the 1 MiB that ZooKeeper takes by default (jute.maxbuffer)."""


@dataclass(frozen=True, slots=True)
class TopicChanges:
    """The changes of topics by one broker.

    Args:
        settings: the settings of the broker, and of new topics.
        numbers: the source of random numbers for placements.
    """

    kafka_zk: KafkaZk
    metadata: MetadataCache
    waits: MetadataWaits
    controller: KafkaController
    settings: ConfigHandler
    numbers: TopicNumbers
    sink: EventSink

    # --- creation

    async def create_topics(self, request: CreateTopicsRequest, cause: int) -> CreateTopicsResponse:
        """Create topics, and answer when each partition has a leader, or the time is up."""
        if not self.controller.is_active:
            refused = ApiError(ErrorCode.NOT_CONTROLLER, "")
            return CreateTopicsResponse(tuple(CreatableTopicResult(topic.name, refused) for topic in request.topics))
        named = Counter(topic.name for topic in request.topics)
        results: list[CreatableTopicResult] = []
        created: dict[str, Assignment] = {}
        for topic in request.topics:
            if named[topic.name] > 1:
                twice = ApiError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
                results.append(CreatableTopicResult(topic.name, twice))
                continue
            try:
                placed, topic_id = await self._create(topic, request.validate_only, cause)
            except REFUSALS as error:
                results.append(CreatableTopicResult(topic.name, api_error(error)))
                continue
            created[topic.name] = placed
            entries = self.settings.entries_of_topic(_without_nulls(topic.configs))
            replication_factor = len(next(iter(placed.values())))
            results.append(CreatableTopicResult(topic.name, SUCCESS, len(placed), replication_factor, entries, topic_id))
        if request.validate_only:
            return CreateTopicsResponse(tuple(results))
        late = await self._without_leader(created, request.timeout_ms)
        return CreateTopicsResponse(
            tuple(CreatableTopicResult(one.name, TIMED_OUT) if one.name in late else one for one in results)
        )

    async def _create(self, topic: CreatableTopic, validate_only: bool, cause: int) -> tuple[Assignment, str | None]:
        """Return the placement and the id of a new topic; it has no id if it was only validated."""
        _refuse_too_many(topic.partitions)
        if topic.name in self.metadata.partitions.topics:
            raise topic_exists(topic.name)
        configs = _without_nulls(topic.configs)
        racks = self.metadata.racks
        brokers = [BrokerMetadata(broker, racks.get(broker)) for broker in self.metadata.live_broker_ids]
        placed = new_topic_assignment(
            topic.name,
            await self.kafka_zk.topics.names(cause=cause),
            brokers,
            draw(self.numbers, len(brokers)),
            topic.partitions,
            topic.replication_factor,
            topic.assignment,
            self.settings.config.num_partitions,
            self.settings.config.default_replication_factor,
        )
        check_topic_config(configs)
        if validate_only:
            return placed, None
        topic_id = self.numbers.topic_id()
        requested = self._log_act("create-topic", topic.name, cause)
        await write_new_topic(self.kafka_zk, topic.name, placed, configs, requested, topic_id)
        return placed, topic_id

    # --- growth

    async def create_partitions(self, request: CreatePartitionsRequest, cause: int) -> CreatePartitionsResponse:
        """Give topics more partitions, and answer when each new one has a leader, or the time is up."""
        if not self.controller.is_active:
            return CreatePartitionsResponse({topic.name: NOT_CONTROLLER for topic in request.topics})
        named = Counter(topic.name for topic in request.topics)
        results: dict[str, ApiError] = {}
        added: dict[str, Assignment] = {}
        for topic in request.topics:
            if named[topic.name] > 1:
                results[topic.name] = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
                continue
            try:
                added[topic.name] = await self._grow(topic, request.validate_only, cause)
                results[topic.name] = SUCCESS
            except REFUSALS as error:
                results[topic.name] = api_error(error)
        if not request.validate_only:
            results.update(dict.fromkeys(await self._without_leader(added, request.timeout_ms), TIMED_OUT))
        return CreatePartitionsResponse(results)

    async def _grow(self, topic: GrowableTopic, validate_only: bool, cause: int) -> Assignment:
        _refuse_too_many(topic.count)
        state = (await self.kafka_zk.topics.read([topic.name], cause)).get(topic.name)
        assignments = {} if state is None else state.assignments
        brokers = effective_brokers(await broker_metadata(self.kafka_zk, cause), RackAwareMode.ENFORCED)
        added = partitions_to_create(
            topic.name,
            {partition: one.replicas for partition, one in assignments.items()} or None,
            brokers,
            topic.count,
            topic.assignments,
            is_queued_for_deletion=self.controller.context.is_queued_for_deletion(topic.name),
            is_being_reassigned=any(one.is_being_reassigned for one in assignments.values()),
        )
        assert state is not None
        if not validate_only:
            requested = self._log_act("add-partitions", topic.name, cause)
            await write_added_partitions(self.kafka_zk, topic.name, state, added, requested)
        return added

    async def _without_leader(self, created: Mapping[str, Assignment], timeout_ms: int) -> set[str]:
        """Wait until all partitions have leaders. Return the topics of those that have none when the time is up.

        With a time-out of 0 these are all topics, whether they have leaders or not.
        """
        if timeout_ms <= 0:
            return set(created)
        partitions = [TopicPartition(topic, number) for topic, placed in created.items() for number in placed]
        await self.waits.until(lambda: all(map(self._has_leader, partitions)), timeout_ms)
        return {tp.topic for tp in partitions if not self._has_leader(tp)}

    def _has_leader(self, tp: TopicPartition) -> bool:
        known = self.metadata.partitions.get(tp)
        return known is not None and known.state.leader_and_isr.leader is not None

    # --- deletion

    async def delete_topics(self, request: DeleteTopicsRequest, cause: int) -> DeleteTopicsResponse:
        """Request the deletion of topics, and answer when they are gone, or the time is up."""
        if not self.controller.is_active:
            return _all_refused(request, ErrorCode.NOT_CONTROLLER)
        if not self.settings.config.controller.delete_topic_enable:
            return _all_refused(request, ErrorCode.TOPIC_DELETION_DISABLED)
        if any(topic.name is not None and topic.topic_id is not None for topic in request.topics):
            return _all_refused(request, ErrorCode.INVALID_REQUEST)
        names = {topic_id: name for name, topic_id in self.metadata.partitions.topic_ids.items()}
        topics = [
            topic if topic.name is not None else DeletableTopic(names.get(topic.topic_id or ""), topic.topic_id)
            for topic in request.topics
        ]
        outcomes: dict[DeletableTopic, ApiError] = {}
        for topic in dict.fromkeys(topics):
            try:
                outcomes[topic] = await self._delete(topic, cause)
            except REFUSALS as error:
                outcomes[topic] = api_error(error)
        going = [topic for topic, outcome in outcomes.items() if not outcome.is_failure]
        await self.waits.until(lambda: not any(map(self._is_known, going)), request.timeout_ms)
        for topic in going:
            if request.timeout_ms <= 0 or self._is_known(topic):
                outcomes[topic] = TIMED_OUT
        return DeleteTopicsResponse(tuple((topic, outcomes[topic]) for topic in topics))

    async def _delete(self, topic: DeletableTopic, cause: int) -> ApiError:
        if topic.name is None:
            is_named = topic.topic_id is not None
            return ApiError(ErrorCode.UNKNOWN_TOPIC_ID if is_named else ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if not self._is_known(topic):
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not await self.kafka_zk.topics.exists(topic.name, cause):
            raise UnknownTopicOrPartitionError(f"Topic `{topic.name}` to delete does not exist")
        requested = self._log_act("delete-topic", topic.name, cause)
        with suppress(NodeExistsError):  # it was requested already, and is waited for all the same
            await self.kafka_zk.topic_deletions.create(topic.name, requested)
        return SUCCESS

    def _is_known(self, topic: DeletableTopic) -> bool:
        return topic.name in self.metadata.partitions.topics

    # --- the event log

    def _log_act(self, op: str, topic: str, cause: int) -> int:
        return self.sink.emit(EventKind.ADMIN_ACT, cause, op=op, topic=topic, detail="requested by a client")


def _without_nulls(configs: Mapping[str, str | None]) -> dict[str, str]:
    """Return the settings. Raises: InvalidRequestError if one has no value."""
    nulls = [name for name, value in configs.items() if value is None]
    if nulls:
        raise InvalidRequestError(f"Null value not supported for topic configs : {','.join(nulls)}")
    return {name: value for name, value in configs.items() if value is not None}


def _all_refused(request: DeleteTopicsRequest, error: ErrorCode) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(tuple((topic, ApiError(error)) for topic in request.topics))


def _refuse_too_many(partitions: int) -> None:
    """Refuse what no broker could write: Kafka's broker tries to, and fails when ZooKeeper closes the connection."""
    if partitions > MOST_PARTITIONS:
        raise InvalidPartitionsError(
            f"{partitions} partitions do not fit into one znode; a topic has at most {MOST_PARTITIONS} here."
        )
