"""Answers ListPartitionReassignments requests, which only the controller does.

Source: Kafka 2.8, KafkaApis.handleListPartitionReassignmentsRequest.
"""

from kcsim.brokers.admin.requests import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse
from kcsim.controller.errors import NotControllerError
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError


async def list_reassignments(
    request: ListPartitionReassignmentsRequest, controller: KafkaController, cause: int
) -> ListPartitionReassignmentsResponse:
    """Return the current reassignments, if this broker's controller module is the active controller."""
    try:
        return ListPartitionReassignmentsResponse(
            reassignments=await controller.list_partition_reassignments(request.partitions, cause)
        )
    except NotControllerError:
        return ListPartitionReassignmentsResponse(ErrorCode.NOT_CONTROLLER)
    except TimedOutError:
        return ListPartitionReassignmentsResponse(ErrorCode.REQUEST_TIMED_OUT)
