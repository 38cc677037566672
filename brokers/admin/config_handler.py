"""Answers DescribeConfigs requests.

The settings of a topic are read from ZooKeeper for each request; those of the broker are as it has last processed them.

Source: Kafka 2.8, ConfigHelper.describeConfigs; the error messages are those of a Kafka 2.8.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kcsim.brokers.admin.config_descriptions import (
    BrokerSettings,
    broker_entries,
    broker_settings,
    shared_entries,
    topic_entries,
)
from kcsim.brokers.admin.requests import (
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribedConfigs,
)
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.dynamic_config import DynamicConfig
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.controller.decisions.kafka_refusals import InvalidTopicError
from kcsim.controller.decisions.topic_creation import check_topic_name
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId
from kcsim.zk.kafka.configs import ConfigZnodes
from kcsim.znodes import BadZnodeError

KNOWN_TYPES = frozenset(ConfigResourceType)
MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


class _RefusedResourceError(Exception):
    """The settings of a resource are not returned. The message is for the client; it may be empty."""

    def __init__(self, error: ErrorCode, message: str = "") -> None:
        super().__init__(message)
        self.error = error


@dataclass(frozen=True, slots=True)
class ConfigHandler:
    """Describes the settings of topics, and of this broker."""

    broker_id: BrokerId
    config: BrokerConfig
    dynamic: DynamicConfig
    metadata: MetadataCache
    topics: ConfigZnodes

    async def describe(self, request: DescribeConfigsRequest, cause: int) -> DescribeConfigsResponse:
        resources = request.resources
        if any(resource.resource_type not in KNOWN_TYPES for resource in resources):
            return DescribeConfigsResponse(
                tuple(DescribedConfigs(r, error=ErrorCode.INVALID_REQUEST, error_message=MALFORMED) for r in resources)
            )
        return DescribeConfigsResponse(tuple([await self._describe(resource, cause) for resource in resources]))

    async def _describe(self, resource: ConfigResource, cause: int) -> DescribedConfigs:
        try:
            entries = await self._entries(resource, cause)
        except _RefusedResourceError as refusal:
            return DescribedConfigs(resource, error=refusal.error, error_message=str(refusal))
        except (BadZnodeError, *UNAVAILABLE) as error:
            return DescribedConfigs(resource, error=ErrorCode.UNKNOWN_SERVER_ERROR, error_message=str(error))
        wanted = resource.settings
        return DescribedConfigs(resource, tuple(e for e in entries if wanted is None or e.name in wanted))

    async def _entries(self, resource: ConfigResource, cause: int) -> tuple[ConfigEntry, ...]:
        match resource.resource_type:
            case ConfigResourceType.TOPIC:
                return await self._topic_entries(resource.name, cause)
            case ConfigResourceType.BROKER if not resource.name:
                return shared_entries(self._broker_settings())
            case ConfigResourceType.BROKER:
                self._require_own_id(resource.name, "or empty string, ")
                return broker_entries(self._broker_settings())
            case _:  # simulated brokers have no loggers
                if not resource.name:
                    raise _RefusedResourceError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
                self._require_own_id(resource.name, "")
                return ()

    async def _topic_entries(self, topic: str, cause: int) -> tuple[ConfigEntry, ...]:
        try:
            check_topic_name(topic)
        except InvalidTopicError as error:
            raise _RefusedResourceError(ErrorCode.INVALID_TOPIC_EXCEPTION, str(error)) from error
        if topic not in self.metadata.partitions.topics:
            raise _RefusedResourceError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.entries_of_topic(await self.topics.read_entity("topics", topic, cause))

    def entries_of_topic(self, settings: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
        """Return all settings of a topic that has these settings of its own."""
        return topic_entries(settings, self._broker_settings())

    def _broker_settings(self) -> BrokerSettings:
        return broker_settings(self.config, *self.dynamic.of_this_broker)

    def _require_own_id(self, name: str, alternative: str) -> None:
        if not name.removeprefix("-").isdecimal():
            raise _RefusedResourceError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        if int(name) != self.broker_id:
            raise _RefusedResourceError(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {self.broker_id} {alternative}but received {name}",
            )
