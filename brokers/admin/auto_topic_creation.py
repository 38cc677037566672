"""Creates the topics that clients ask the metadata of and that do not exist.

Source: Kafka 2.8, AutoTopicCreationManager with ZooKeeper, ZkAdminManager.createTopics; answers of a Kafka 2.8.2.
"""

from collections.abc import Collection
from dataclasses import dataclass

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.groups.offsets_topic import OffsetsTopic
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.controller.admin.topics import write_new_topic
from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers
from kcsim.controller.decisions.kafka_refusals import (
    InvalidReplicationFactorError,
    InvalidTopicError,
    RefusedError,
    TopicExistsError,
)
from kcsim.controller.decisions.placement import draw
from kcsim.controller.decisions.topic_creation import check_topic_name, new_topic_assignment
from kcsim.controller.decisions.topic_ids import TopicNumbers
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import INTERNAL_TOPICS, OFFSETS_TOPIC
from kcsim.zk.kafka.kafka_zk import KafkaZk
from kcsim.znodes import BadZnodeError

NOT_CREATED = INTERNAL_TOPICS - {OFFSETS_TOPIC}
"""The internal topics that no part of a simulated broker uses."""


@dataclass(frozen=True, slots=True)
class AutoTopicCreation:
    """How one broker creates topics by itself. The placement is on the brokers that its metadata cache has.

    Attributes:
        offsets_topic: creates __consumer_offsets.
        numbers: the source of random numbers for the placement.
    """

    config: BrokerConfig
    metadata: MetadataCache
    zk: KafkaZk
    offsets_topic: OffsetsTopic
    numbers: TopicNumbers

    async def errors_of(self, topics: Collection[str], may_create: bool, cause: Cause) -> dict[str, ErrorCode]:
        """Return why no metadata of these topics is known: LEADER_NOT_AVAILABLE for those that have just been created."""
        creates = may_create and self.config.auto_create_topics_enable
        return {topic: await self._error_of(topic, creates, cause) for topic in topics}

    async def _error_of(self, topic: str, creates: bool, cause: Cause) -> ErrorCode:
        try:
            check_topic_name(topic)
            if not creates or topic in NOT_CREATED:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            await self._create(topic, cause)
        except TopicExistsError:
            return ErrorCode.LEADER_NOT_AVAILABLE  # the controller has not announced it yet
        except InvalidTopicError:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        except InvalidReplicationFactorError:
            return ErrorCode.INVALID_REPLICATION_FACTOR
        except (RefusedError, BadZnodeError, *UNAVAILABLE):
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.LEADER_NOT_AVAILABLE

    async def _create(self, topic: str, cause: Cause) -> None:
        if topic == OFFSETS_TOPIC:
            self._require_brokers(self.offsets_topic.replication_factor)
            await self.offsets_topic.create(cause)
            return
        config, racks = self.config, self.metadata.racks
        self._require_brokers(config.default_replication_factor)
        existing = await self.zk.topics.names(cause=cause)
        alive = [BrokerMetadata(broker, racks.get(broker)) for broker in self.metadata.live_broker_ids]
        brokers = effective_brokers(alive, RackAwareMode.ENFORCED)
        drawn = draw(self.numbers, len(brokers))
        placed = new_topic_assignment(
            topic, existing, brokers, drawn, config.num_partitions, config.default_replication_factor
        )
        await write_new_topic(self.zk, topic, placed, {}, cause, self.numbers.topic_id())

    def _require_brokers(self, replication_factor: int) -> None:
        alive = len(self.metadata.live_broker_ids)
        if alive < replication_factor:
            raise InvalidReplicationFactorError(f"{replication_factor} replicas on {alive} live brokers")
