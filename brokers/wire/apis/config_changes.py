"""Settings that clients change.

Source: Kafka 2.8, AlterConfigsRequest, IncrementalAlterConfigsRequest; docs/kafka/requests.md 14.
"""

from collections.abc import Mapping

from kcsim.brokers.admin.change_requests import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
)
from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.apis.topics import outcome_values
from kcsim.brokers.wire.frames import RequestFrame

ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS = 33, 44


def _alter_request(frame: RequestFrame) -> AlterConfigsRequest:
    resources = {
        AlterConfigsResource(one.resource_type, one.resource_name): {config.name: config.value for config in one.configs}
        for one in frame.message.resources
    }
    return AlterConfigsRequest(resources, frame.message.validate_only)


def _incremental_request(frame: RequestFrame) -> IncrementalAlterConfigsRequest:
    resources = {
        AlterConfigsResource(one.resource_type, one.resource_name): tuple(
            AlterableConfig(config.name, config.config_operation, config.value) for config in one.configs
        )
        for one in frame.message.resources
    }
    return IncrementalAlterConfigsRequest(resources, frame.message.validate_only)


def _values(response: AlterConfigsResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "responses": [
            {**outcome_values(outcome), "resource_type": resource.resource_type, "resource_name": resource.name}
            for resource, outcome in response.resources.items()
        ],
    }


APIS: Mapping[int, Api] = {
    ALTER_CONFIGS: Api(range(3), _alter_request, _values),
    INCREMENTAL_ALTER_CONFIGS: Api(range(2), _incremental_request, _values),
}
