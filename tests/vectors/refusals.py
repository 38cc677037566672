"""Questions about requests and arguments that Kafka refuses. Accepted ones are answered with their result."""

import re

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.kafka_refusals import RefusedError, topic_command_line
from kcsim.controller.decisions.partition_growth import partitions_to_create
from kcsim.controller.decisions.placement import Draw
from kcsim.controller.decisions.reassignment import check_execute_arguments, check_generate_arguments
from kcsim.controller.decisions.topic_creation import UNSET, new_topic_assignment
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.vectors.cases import Answer, BadCaseError, Given
from tests.vectors.placement import read_assignment, written

NO_DRAW = Draw(0, 0)
ACCEPTED: Answer = {"error": None}
EXTRAS = frozenset({"legacy_message"})
"""Keys of a refusal that are part of the answer only if the case expects them."""
COMMAND = re.compile(
    r"create topic, (?:(?P<partitions>-?\d+) partitions?, )?(?P<brokers>\d+) brokers?, replication factor (?P<rf>-?\d+)"
)


def refused(refusal: RefusedError) -> Answer:
    answer = {"error": refusal.kafka_name, "message": str(refusal)}
    return answer if refusal.legacy_message is None else answer | {"legacy_message": refusal.legacy_message}


def create_topic(given: Given) -> Answer:
    """Create a topic. A case without brokers has as many as its replication factor."""
    replication_factor = given.get("replication_factor", UNSET)
    explicit = given.get("assignment")
    placed = new_topic_assignment(
        given["topic"],
        given["existing_topics"],
        _brokers(given.get("broker_ids", range(max(replication_factor, 1)))),
        NO_DRAW,
        given.get("partitions", UNSET),
        replication_factor,
        None if explicit is None else read_assignment(explicit),
    )
    return {"assignment": written(placed)}


def create_partitions(given: Given) -> Answer:
    """Add partitions. The placement of existing partitions does not affect a refusal: they are on the first brokers.

    A case without brokers has those that its assignments name.
    """
    topic = given.get("topic", "t")
    wanted = given["assignments"]
    broker_ids = given.get("broker_ids", sorted({broker for replicas in wanted or () for broker in replicas}))
    existing = None
    if topic in given.get("topics", (topic,)):
        replicas = tuple(map(BrokerId, range(given.get("existing_replication_factor", 1))))
        existing = dict.fromkeys(range(given.get("existing_partitions", 1)), replicas)
    placed = partitions_to_create(
        topic,
        existing,
        _brokers(broker_ids),
        given["total_partitions"],
        None if wanted is None else [tuple(map(BrokerId, replicas)) for replicas in wanted],
        is_queued_for_deletion=topic in given.get("queued_for_deletion", ()),
    )
    return {"new_assignment": written(placed)}


def generate_args(given: Given) -> Answer:
    check_generate_arguments(map(int, given["broker_list"].split(",")), given["topics"])
    return ACCEPTED


def execute_args(given: Given) -> Answer:
    """Check the arguments of a reassignment. A case without topics or brokers has all that its plan names."""
    plan = [
        (TopicPartition(of["topic"], of["partition"]), tuple(map(BrokerId, of["replicas"]))) for of in given["partitions"]
    ]
    topics = given.get("topics", [partition.topic for partition, _ in plan])
    brokers = given.get("brokers", [broker for _, replicas in plan for broker in replicas])
    check_execute_arguments(plan, topics, [BrokerId(broker) for broker in brokers])
    return ACCEPTED


def cli_line(given: Given) -> Answer:
    """Return what the topic command prints; `command` is described in words."""
    parsed = COMMAND.fullmatch(given["command"])
    if parsed is None:
        raise BadCaseError(f"{given['command']!r} is not like `create topic, 3 brokers, replication factor 4`")
    try:
        assign_replicas(_brokers(range(int(parsed["brokers"]))), int(parsed["partitions"] or 1), int(parsed["rf"]), NO_DRAW)
    except RefusedError as refusal:
        return {"line": topic_command_line(refusal)}
    return {"line": None}


def _brokers(ids: range | list[int]) -> list[BrokerMetadata]:
    return [BrokerMetadata(BrokerId(broker)) for broker in ids]
