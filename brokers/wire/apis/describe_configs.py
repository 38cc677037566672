"""How clients read the settings of topics and brokers.

Source: Kafka 2.8, KafkaApis.handleDescribeConfigsRequest.
"""

from collections.abc import Mapping

from kcsim.brokers.admin.requests import ConfigEntry, ConfigResource, DescribeConfigsRequest, DescribeConfigsResponse
from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.frames import RequestFrame

DESCRIBE_CONFIGS = 32


def _request(frame: RequestFrame) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        tuple(
            # No setting is asked for: all are meant, as in Kafka.
            ConfigResource(one.resource_type, one.resource_name, frozenset(one.configuration_keys or ()) or None)
            for one in frame.message.resources
        )
    )


def _values(response: DescribeConfigsResponse, frame: RequestFrame) -> Values:
    with_synonyms = getattr(frame.message, "include_synonyms", False)
    return {
        "throttle_time": 0,
        "results": [
            {
                "error_code": result.error,
                "error_message": result.error_message,
                "resource_type": result.resource.resource_type,
                "resource_name": result.resource.name,
                "configs": [_entry(entry, with_synonyms) for entry in result.entries],
            }
            for result in response.results
        ],
    }


def _entry(entry: ConfigEntry, with_synonyms: bool) -> Values:
    synonyms = entry.synonyms if with_synonyms else ()
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.is_read_only,
        "is_default": False,  # Kafka 2.8 never sets it
        "config_source": entry.source,
        "is_sensitive": entry.is_sensitive,
        "synonyms": [{"name": one.name, "value": one.value, "source": one.source} for one in synonyms],
        "config_type": entry.type,
        "documentation": None,
    }


APIS: Mapping[int, Api] = {DESCRIBE_CONFIGS: Api(range(5), _request, _values)}
