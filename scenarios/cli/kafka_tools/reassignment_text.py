"""Reassignments exactly as `kafka-reassign-partitions` prints them, and as JSON.

Source: Kafka 2.8, ReassignPartitionsCommand.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcsim.controller.admin.reassignments import MoveStatus
from kcsim.controller.admin.throttles import ThrottledEntities
from kcsim.controller.decisions.placement import Replicas
from kcsim.controller.decisions.reassignment import Plan
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.cli.kafka_tools.controller_api import reassignment_message
from kcsim.vocabulary import ReplicaAssignment, TopicPartition

ZOOKEEPER_WARNING = "Warning: --zookeeper is deprecated, and will be removed in a future version of Kafka."
INCOMPLETE_WARNING = (
    "Warning: because you are using the deprecated --zookeeper option, the results may be incomplete."
    "  Use --bootstrap-server instead for more accurate results."
)
THROTTLE_WARNING = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)
NO_MOVES_BETWEEN_DIRECTORIES = "None of the specified partition moves are active."
NOTHING_OF_DIRECTORIES = ""
"""What --verify prints about moves between directories, when there are none; with --zookeeper not even this."""


def proposal_lines(current: Plan, proposed: Plan) -> Iterator[str]:
    """Yield what --generate prints."""
    yield "Current partition replica assignment"
    yield _json(current)
    yield ""
    yield "Proposed partition reassignment configuration"
    yield _json(proposed)


def current_lines(current: Plan) -> Iterator[str]:
    """Yield what --execute prints before it moves anything."""
    yield "Current partition replica assignment"
    yield ""
    yield _json(current)
    yield ""
    yield "Save this to use as the --reassignment-json-file option during rollback"


def throttle_lines(rate: int) -> Iterator[str]:
    """Yield what --execute prints after it has set a throttle, in bytes per second."""
    yield THROTTLE_WARNING
    yield f"The inter-broker throttle limit was set to {rate} B/s"


def started_line(partitions: Iterable[TopicPartition]) -> str:
    moved = sorted(partitions)
    return f"Successfully started partition reassignment{_s(moved)} for {_listed(moved)}"


def refused_lines(errors: Mapping[TopicPartition, ErrorCode]) -> Iterator[str]:
    """Yield what --execute prints when the controller refuses to move some partitions."""
    yield "Error reassigning partition(s):"
    yield from _reasons(errors)


def cancelled_line(partitions: Sequence[TopicPartition]) -> str:
    if not partitions:
        return "None of the specified partition reassignments are active."
    return f"Successfully cancelled partition reassignment{_s(partitions)} for: {_listed(partitions)}"


def not_cancelled_lines(errors: Mapping[TopicPartition, ErrorCode]) -> Iterator[str]:
    """Yield what --cancel prints when the controller refuses to cancel some moves."""
    yield f"Error cancelling partition reassignment{_s(errors)} for:"
    yield from _reasons(errors)


def _reasons(errors: Mapping[TopicPartition, ErrorCode]) -> Iterator[str]:
    for partition, error in sorted(errors.items()):
        yield f"{partition}: {reassignment_message(error)}"


def status_lines(moves: Mapping[TopicPartition, MoveStatus]) -> Iterator[str]:
    """Yield what --verify prints about the partitions."""
    yield "Status of partition reassignment:"
    for partition, move in sorted(moves.items()):
        if move.is_under_way:
            yield f"Reassignment of partition {partition} is still in progress."
        elif move.current == move.target:
            yield f"Reassignment of partition {partition} is complete."
        else:
            current, target = (",".join(map(str, replicas)) for replicas in (move.current, move.target))
            seen = f"but replica set is {current} rather than {target}."
            yield f"There is no active reassignment of partition {partition}, {seen}"


def cleared_lines(cleared: ThrottledEntities) -> Iterator[str]:
    """Yield what --verify and --cancel print after they have removed the throttles."""
    yield f"Clearing broker-level throttles on broker{_s(cleared.brokers)} {_listed(cleared.brokers)}"
    yield f"Clearing topic-level throttles on topic{_s(cleared.topics)} {_listed(cleared.topics)}"


def ongoing_lines(ongoing: Mapping[TopicPartition, ReplicaAssignment]) -> Iterator[str]:
    """Yield what --list prints."""
    if not ongoing:
        yield "No partition reassignments found."
        return
    yield "Current partition reassignments:"
    for partition, assignment in sorted(ongoing.items()):
        adding, removing = (
            f" {word}: {_listed(brokers)}." if brokers else ""
            for word, brokers in (("adding", assignment.adding_replicas), ("removing", assignment.removing_replicas))
        )
        yield f"{partition}: replicas: {_listed(assignment.replicas)}.{adding}{removing}"


def ongoing_json(ongoing: Mapping[TopicPartition, ReplicaAssignment]) -> list[dict[str, Any]]:
    """Return what --list prints, as a value for JSON."""
    return [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": assignment.replicas,
            "adding_replicas": assignment.adding_replicas,
            "removing_replicas": assignment.removing_replicas,
        }
        for partition, assignment in sorted(ongoing.items())
    ]


def _json(plan: Plan) -> str:
    return reassignment_json(dict(sorted(plan.items())))


def _listed(items: Iterable[object]) -> str:
    return ",".join(map(str, items))


def _s(items: Sequence[object] | Mapping[TopicPartition, object]) -> str:
    return "" if len(items) == 1 else "s"


def reassignment_json(assignment: Mapping[TopicPartition, Replicas]) -> str:
    """Return the JSON that `kafka-reassign-partitions` reads and prints, log directories included."""
    entries = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": replicas, "log_dirs": ["any"] * len(replicas)}
        for tp, replicas in assignment.items()
    ]
    return json.dumps({"version": 1, "partitions": entries}, separators=(",", ":"))
