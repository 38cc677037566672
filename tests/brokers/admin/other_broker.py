"""The responses of a broker that refuses all requests of admin clients."""

from typing import Any

from kcsim.brokers.admin.requests import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ApiError,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    IncrementalAlterConfigsRequest,
)
from kcsim.controller.requests import ErrorCode

NOT_CONTROLLER = ApiError(ErrorCode.NOT_CONTROLLER)


def refusal_of(request: Any) -> Any:
    """Return the response to a request of an admin client."""
    match request:
        case CreateTopicsRequest(topics):
            return CreateTopicsResponse(tuple(CreatableTopicResult(topic.name, NOT_CONTROLLER) for topic in topics))
        case DeleteTopicsRequest(topics):
            return DeleteTopicsResponse(tuple((topic, NOT_CONTROLLER) for topic in topics))
        case CreatePartitionsRequest(topics):
            return CreatePartitionsResponse({topic.name: NOT_CONTROLLER for topic in topics})
        case AlterConfigsRequest(resources) | IncrementalAlterConfigsRequest(resources):
            return AlterConfigsResponse({resource: ApiError(ErrorCode.INVALID_REQUEST) for resource in resources})
    raise AssertionError(request)
