"""Says in a few words what a request of the controller, or the answer to it, is about: for the event log.

However many partitions there are, a request is told by its first few. Pure.
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
from kcsim.zk.vocabulary import LeaderAndIsr, TopicPartition

TOLD_AT_MOST = 5
"""How many partitions of a request are named; of the rest only the number is told."""


def name_of_request(request: StateChangeRequest) -> str:
    """Kafka's name of it: LeaderAndIsr, UpdateMetadata, StopReplica."""
    return type(request).__name__.removesuffix("Request")


def said_by(request: StateChangeRequest) -> str:
    """What a request tells its recipient: orders-0: leader 1, leader epoch 3, ISR [1, 2], new; and 9 more."""
    told = "; ".join(islice(_partitions(request), TOLD_AT_MOST))
    text = _with_rest(told, len(request.partitions)) if told else "no partitions"
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
    """The partitions whose part of a request was refused, with the error, in the order of the answer."""
    match response:
        case UpdateMetadataResponse():
            return []
        case LeaderAndIsrResponse() | StopReplicaResponse():
            errors = response.partition_errors.items()
            return [(tp, error) for tp, error in errors if error is not ErrorCode.NONE]


def said_of_refusals(refusals: Sequence[tuple[TopicPartition, ErrorCode]]) -> str:
    """What was refused: orders-0: STALE_CONTROLLER_EPOCH; and 9 more."""
    return _with_rest("; ".join(f"{tp}: {error.name}" for tp, error in refusals[:TOLD_AT_MOST]), len(refusals))


def _with_rest(told: str, total: int) -> str:
    return f"{told}; and {total - TOLD_AT_MOST} more" if total > TOLD_AT_MOST else told
