"""Short descriptions of the controller's requests and the responses to them, for the event log.

Only the first few partitions of a request are described, whatever their number. Pure.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from kcsim.controller.requests import (
    ErrorCode,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StateChangeRequest,
    StateChangeResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.eventlog.events import EventFields
from kcsim.vocabulary import LeaderAndIsr, TopicPartition

MAX_PARTITIONS_LISTED = 5
"""How many partitions of a request are described; the others are only counted."""


def name_of_request(request: StateChangeRequest) -> str:
    """Return Kafka's name of a request: LeaderAndIsr, UpdateMetadata, StopReplica."""
    return type(request).__name__.removesuffix("Request")


def describe_request(request: StateChangeRequest) -> str:
    """Describe a request: orders-0: leader 1, leader epoch 3, ISR [1, 2], new; and 9 more."""
    listed = "; ".join(islice(_partitions(request), MAX_PARTITIONS_LISTED))
    text = _with_rest(listed, len(request.partitions)) if listed else "no partitions"
    return f"{text}; {len(request.live_brokers)} brokers are alive" if isinstance(request, UpdateMetadataRequest) else text


def _partitions(request: StateChangeRequest) -> Iterator[str]:
    match request:
        case LeaderAndIsrRequest():
            for tp, replica in request.partitions.items():
                is_new = ", new" if replica.is_new else ""
                yield f"{tp}: {_leadership(replica.state.leader_and_isr)}{is_new}"
        case UpdateMetadataRequest():
            for tp, known in request.partitions.items():
                offline = f", offline {list(known.offline_replicas)}" if known.offline_replicas else ""
                yield f"{tp}: " + (
                    "deleted" if known.is_being_deleted else f"{_leadership(known.state.leader_and_isr)}{offline}"
                )
        case StopReplicaRequest():
            for tp, stop in request.partitions.items():
                delete = ", delete" if stop.delete_partition else ""
                yield f"{tp}: leader epoch {stop.leader_epoch}{delete}"


def _leadership(state: LeaderAndIsr) -> str:
    leader = "no leader" if state.leader is None else f"leader {state.leader}"
    return f"{leader}, leader epoch {state.leader_epoch}, ISR {list(state.isr)}"


def refusals_in(response: StateChangeResponse) -> list[tuple[TopicPartition, ErrorCode]]:
    """Return the partitions whose part of a request was refused, with the error, in the order of the response."""
    match response:
        case UpdateMetadataResponse():
            return []
        case LeaderAndIsrResponse() | StopReplicaResponse():
            errors = response.partition_errors.items()
            return [(tp, error) for tp, error in errors if error is not ErrorCode.NONE]


def describe_refusals(refusals: Sequence[tuple[TopicPartition, ErrorCode]]) -> str:
    """Describe the refusals: orders-0: STALE_CONTROLLER_EPOCH; and 9 more."""
    return _with_rest("; ".join(f"{tp}: {error.name}" for tp, error in refusals[:MAX_PARTITIONS_LISTED]), len(refusals))


def refusal_fields(refusals: Sequence[tuple[TopicPartition, ErrorCode]]) -> EventFields:
    """Return the columns of refusals in a response: how many, the first few partitions and their errors, the text."""
    listed = refusals[:MAX_PARTITIONS_LISTED]
    return EventFields(
        count=len(refusals),
        refused_partitions=[str(tp) for tp, _ in listed],
        errors=[error.name for _, error in listed],
        detail=describe_refusals(refusals),
    )


def _with_rest(listed: str, total: int) -> str:
    return f"{listed}; and {total - MAX_PARTITIONS_LISTED} more" if total > MAX_PARTITIONS_LISTED else listed
