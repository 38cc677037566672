"""Settings changed for clients: those of topics and of all brokers by any broker, those of one broker by that very one.

The broker checks the settings that the topic or broker would have, writes them, and notifies all brokers. Left out: the
levels of loggers (there are none), passwords, policies, authorization.

Source: Kafka 2.8, KafkaApis.handleAlterConfigsRequest, handleIncrementalAlterConfigsRequest, ZkAdminManager;
docs/kafka/znodes.md 8.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from kcsim.brokers.admin.change_requests import (
    AlterableConfig,
    AlterConfigOp,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
)
from kcsim.brokers.admin.refusals import REFUSALS, api_error
from kcsim.brokers.admin.requests import ConfigResourceType
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.admin.entity_configs import BROKERS, DEFAULT, TOPICS, write_config
from kcsim.controller.decisions.broker_settings import BROKER_LISTS, check_broker_config, is_known
from kcsim.controller.decisions.kafka_refusals import ConfigError, InvalidRequestError, UnknownTopicOrPartitionError
from kcsim.controller.decisions.topic_config import TOPIC_LISTS, TOPIC_SETTINGS, check_topic_config
from kcsim.controller.requests import SUCCESS, ApiError, ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.vocabulary import BrokerId
from kcsim.zk.kafka.kafka_zk import KafkaZk

UNEXPECTED = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
"""What Kafka answers where it does not expect a value."""
KNOWN_OPS = frozenset(map(int, AlterConfigOp))
LOGGERS_REFUSED = "AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER"


class ConfigChanges:
    """The changes of settings by one broker."""

    def __init__(self, broker_id: BrokerId, kafka_zk: KafkaZk, metadata: MetadataCache, sink: EventSink) -> None:
        self._broker_id = broker_id
        self._kafka_zk = kafka_zk
        self._metadata = metadata
        self._sink = sink

    async def alter(self, request: AlterConfigsRequest, cause: int) -> AlterConfigsResponse:
        """Replace the settings of each resource, or return the error that refuses them."""
        refused = _refusal_of_types(request.resources, {ConfigResourceType.TOPIC, ConfigResourceType.BROKER})
        if refused is not None:
            return AlterConfigsResponse(dict.fromkeys(request.resources, refused))
        results = {}
        for resource, given in request.resources.items():
            config = {name: value for name, value in given.items() if value is not None}
            try:
                entity = self._entity(resource)
                if len(config) < len(given):
                    results[resource] = UNEXPECTED
                else:
                    results[resource] = await self._change(resource, entity, config, request.validate_only, cause)
            except REFUSALS as error:
                results[resource] = api_error(error)
        return AlterConfigsResponse(results)

    async def alter_incrementally(self, request: IncrementalAlterConfigsRequest, cause: int) -> AlterConfigsResponse:
        """Change the settings of each resource, or return the error that refuses the changes."""
        refused = _refusal_of_types(request.resources, set(ConfigResourceType))
        if refused is not None:
            return AlterConfigsResponse(dict.fromkeys(request.resources, refused))
        results = {}
        for resource, changes in request.resources.items():
            try:
                results[resource] = await self._change_some(resource, changes, request.validate_only, cause)
            except REFUSALS as error:
                results[resource] = api_error(error)
        return AlterConfigsResponse(results)

    async def _change_some(
        self, resource: AlterConfigsResource, changes: Sequence[AlterableConfig], validate_only: bool, cause: int
    ) -> ApiError:
        if any(change.op not in KNOWN_OPS for change in changes):
            return UNEXPECTED
        _refuse_repeated_and_null(changes)
        if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
            self._refuse_other_broker(resource)
            return _invalid(resource, f"Logger {changes[0].name} does not exist!") if changes else SUCCESS
        entity_type, name = self._entity(resource)
        is_topic = entity_type == TOPICS
        lists = TOPIC_LISTS if is_topic else BROKER_LISTS
        config = await self._kafka_zk.configs.read_entity(entity_type, name, cause)
        for change in changes:
            if change.op in (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT) and change.name not in lists:
                if not (change.name in TOPIC_SETTINGS if is_topic else is_known(change.name)):
                    return UNEXPECTED
                op = AlterConfigOp(change.op).name.lower()
                raise InvalidRequestError(f"Config value {op} is not allowed for config key: {change.name}")
            _apply(change, config, lists)
        return await self._change(resource, (entity_type, name), config, validate_only, cause)

    def _entity(self, resource: AlterConfigsResource) -> tuple[str, str]:
        """Return type and name of the entity whose settings are to be changed here. Raises: RefusedError."""
        if resource.resource_type == ConfigResourceType.TOPIC:
            if resource.name not in self._metadata.partitions.topics:
                raise UnknownTopicOrPartitionError(f"The topic '{resource.name}' does not exist.")
            return TOPICS, resource.name
        if not resource.name:
            return BROKERS, DEFAULT
        self._refuse_other_broker(resource)
        return BROKERS, str(self._broker_id)

    def _refuse_other_broker(self, resource: AlterConfigsResource) -> None:
        """Raises: InvalidRequestError."""
        if not re.fullmatch(r"[+-]?[0-9]{1,10}", resource.name):
            raise InvalidRequestError(f"Broker id must be an integer, but it is: {resource.name}")
        if int(resource.name) != self._broker_id:
            raise InvalidRequestError(f"Unexpected broker id, expected {self._broker_id}, but received {resource.name}")

    async def _change(
        self,
        resource: AlterConfigsResource,
        entity: tuple[str, str],
        config: Mapping[str, str],
        validate_only: bool,
        cause: int,
    ) -> ApiError:
        entity_type, name = entity
        try:
            if entity_type == TOPICS:
                check_topic_config(config)
            else:
                check_broker_config(config, is_default=name == DEFAULT)
        except ConfigError as error:
            return _invalid(resource, str(error))
        if not validate_only:
            settings = ", ".join(f"{setting}={value}" for setting, value in config.items()) or "no settings"
            detail = f"{entity_type}/{name}: {settings}, requested by a client"
            requested = self._sink.emit(EventKind.ADMIN_ACT, cause, op="set-config", detail=detail)
            await write_config(self._kafka_zk, entity_type, name, config, requested)
        return SUCCESS


def _refusal_of_types(resources: Iterable[AlterConfigsResource], allowed: Collection[int]) -> ApiError | None:
    """Return why a whole request is refused, for the first resource whose type the API does not take; None: it is not."""
    for resource in resources:
        if resource.resource_type not in allowed:
            if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
                return ApiError(ErrorCode.INVALID_REQUEST, LOGGERS_REFUSED)
            return ApiError(ErrorCode.INVALID_REQUEST, "Unexpected resource type UNKNOWN")
    return None


def _invalid(resource: AlterConfigsResource, why: str) -> ApiError:
    shown = f"ConfigResource(type={ConfigResourceType(resource.resource_type).name}, name='{resource.name}')"
    return ApiError(ErrorCode.INVALID_REQUEST, f"Invalid config value for resource {shown}: {why}")


def _refuse_repeated_and_null(changes: Sequence[AlterableConfig]) -> None:
    """Raises: InvalidRequestError."""
    repeated = [name for name, count in Counter(change.name for change in changes).items() if count > 1]
    if repeated:
        raise InvalidRequestError(f"Error due to duplicate config keys : {','.join(repeated)}")
    nulls = [one for one in changes if one.value is None and one.op != AlterConfigOp.DELETE]
    if nulls:
        shown = ",".join(f"{AlterConfigOp(one.op).name}:{one.name}" for one in nulls)
        raise InvalidRequestError(f"Null value not supported for : {shown}")


def _apply(change: AlterableConfig, config: dict[str, str], lists: Mapping[str, str]) -> None:
    """Apply a change to settings, in place. As in Kafka an empty list has an empty element, and repeated elements stay."""
    if change.op == AlterConfigOp.DELETE:
        config.pop(change.name, None)
        return
    assert change.value is not None
    if change.op == AlterConfigOp.SET:
        config[change.name] = change.value
        return
    elements = config.get(change.name, lists[change.name]).split(",")
    given = change.value.split(",")
    if change.op == AlterConfigOp.APPEND:
        elements += given
    else:
        for element in given:
            if element in elements:
                elements.remove(element)
    config[change.name] = ",".join(elements)
