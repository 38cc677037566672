"""Questions about the placement of replicas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from random import Random

from kcsim.controller.decisions.assignment import assign_replicas, naive_modulo_assignment
from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers, rack_alternated_list
from kcsim.controller.decisions.partition_growth import added_partitions, start_index_of_added
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas, draw, replica_index
from kcsim.controller.decisions.placement_inference import infer_draw
from kcsim.controller.decisions.reassignment import proposed_reassignment, reassigned_to
from kcsim.controller.decisions.spread import Evenness, spread
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition
from tests.vectors.cases import Answer, Given

PROPERTIES = frozenset(
    {"distinct_racks_per_partition", "leaders_per_broker", "replicas_per_broker", "distinct_brokers_per_partition"}
)
"""Properties that may be equal for all partitions, or for all brokers, of all placements in question."""
ANY = "any"
"""Value of a start index or a shift: the answer must hold for all numbers."""


def assign(given: Given) -> Answer:
    """Return the assignment, and its properties that are equal for all partitions or brokers."""
    brokers = read_brokers(given["brokers"])
    placed = _placed(given, brokers, _draw(given, brokers))
    return {"assignment": written(placed)} | _properties([placed], brokers)


def properties(given: Given) -> Answer:
    """Return the properties that all placements have in common."""
    brokers = read_brokers(given["brokers"])
    return _properties([_placed(given, brokers, drawn) for drawn in _draws(given, len(brokers))], brokers)


def infer(given: Given) -> Answer:
    described = read_assignment(given["description"])
    found = infer_draw(described, read_brokers(given["brokers"]), given["start_partition"])
    return {"solutions": [pair._asdict() for pair in found.solutions], "unique": found.is_unique}


def rack_alternated(given: Given) -> Answer:
    return {"broker_list": list(rack_alternated_list(read_brokers(given["brokers"])))}


def index_of_replica(given: Given) -> Answer:
    return {"index": replica_index(given["first_replica_index"], given["shift"], given["replica"], given["brokers"])}


def naive_mod(given: Given) -> Answer:
    brokers = read_brokers(given["brokers"])
    return {"assignment": written(naive_modulo_assignment(brokers, given["partitions"], given["replication_factor"]))}


def rack_mode(given: Given) -> Answer:
    found = effective_brokers(read_brokers(given["brokers"]), given.one_of("rack_aware_mode", RackAwareMode))
    return {"brokers": [broker._asdict() for broker in found]}


def add_partitions(given: Given) -> Answer:
    """Place new partitions. Without brokers: those that host the topic.

    Without lists of the existing partitions: one replica each.
    """
    if "existing" in given:
        existing = read_assignment(given["existing"])
    else:
        existing = dict.fromkeys(range(given["existing_partitions"]), (BrokerId(0),))
    if "brokers" in given:
        brokers = read_brokers(given["brokers"])
    else:
        brokers = [BrokerMetadata(broker) for broker in sorted({b for replicas in existing.values() for b in replicas})]
    wanted = read_assignment(given["assignments"]) if given.get("assignments") is not None else None
    placed = added_partitions(given.get("topic", "t"), existing, brokers, given["total_partitions"], wanted)
    return {"start_index": start_index_of_added(existing, brokers), "new_assignment": written(placed)}


def reassign(given: Given) -> Answer:
    after = reassigned_to(_replica_assignment(given), _ids(given["target"]))
    return {
        "replicas": list(after.replicas),
        "adding": list(after.adding_replicas),
        "removing": list(after.removing_replicas),
    }


def reassign_target(given: Given) -> Answer:
    stored = _replica_assignment(given)
    return {"target": list(stored.target_replicas), "in_progress": stored.is_being_reassigned}


def generate_proposal(given: Given) -> Answer:
    """Return the proposal if the case has `seeds`; else what all proposals have in common."""
    current = {read_partition(name): _ids(replicas) for name, replicas in given["current"].items()}
    topics = dict.fromkeys(partition.topic for partition in current)
    brokers = effective_brokers(read_brokers(given["brokers"]), RackAwareMode.ENFORCED)
    if "seeds" in given:
        seeds = {t: Draw(given["seeds"][t]["start_index"], given["seeds"][t]["next_replica_shift"]) for t in topics}
        proposed = proposed_reassignment(current, brokers, seeds)
        return {"proposed": {str(partition): list(replicas) for partition, replicas in proposed.items()}}
    proposals = [
        proposed_reassignment(current, brokers, dict.fromkeys(topics, drawn)) for drawn in _draws(given, len(brokers))
    ]
    lists = [replicas for proposal in proposals for replicas in proposal.values()]
    return {
        "allowed_brokers": sorted({broker for replicas in lists for broker in replicas}),
        "replication_factor": {p.topic: len(replicas) for proposal in proposals for p, replicas in proposal.items()},
        "partitions": {topic: [p.partition for p in proposals[0] if p.topic == topic] for topic in topics},
        "replicas_distinct": all(len(set(replicas)) == len(replicas) for replicas in lists),
    }


# --- properties ------------------------------------------------------------------------------------------------------------


def _properties(placements: Sequence[Assignment], brokers: Sequence[BrokerMetadata]) -> Answer:
    """Return those of PROPERTIES that are equal everywhere."""
    spreads = [spread(placed, brokers) for placed in placements]
    found: dict[str, Iterable[int]] = {
        "distinct_racks_per_partition": (n for s in spreads if s.racks for n in (s.fewest_racks, s.most_racks)),
        "leaders_per_broker": _extremes(s.leaders_per_broker for s in spreads),
        "replicas_per_broker": _extremes(s.replicas_per_broker for s in spreads),
        "distinct_brokers_per_partition": (len(set(row)) for placed in placements for row in placed.values()),
    }
    numbers = {name: set(values) for name, values in found.items()}
    return {name: values.pop() for name, values in numbers.items() if len(values) == 1}


def _extremes(found: Iterable[Evenness]) -> Iterator[int]:
    for evenness in found:
        yield from (evenness.smallest, evenness.largest)


def _draws(given: Given, broker_count: int) -> list[Draw]:
    every = range(broker_count)
    starts, shifts = ([*every] if given[key] == ANY else [given[key]] for key in ("start_index", "next_replica_shift"))
    return [Draw(*pair) for pair in product(starts, shifts)]


def _draw(given: Given, brokers: Sequence[BrokerMetadata]) -> Draw:
    """Return the numbers of a case; a case without numbers asks for an error that does not depend on them."""
    drawn = draw(Random(0), len(brokers))
    return Draw(given.get("start_index", drawn.start_index), given.get("next_replica_shift", drawn.next_replica_shift))


def _placed(given: Given, brokers: Sequence[BrokerMetadata], drawn: Draw) -> Assignment:
    return assign_replicas(brokers, given["partitions"], given["replication_factor"], drawn, given.get("start_partition", 0))


# --- reading and writing ---------------------------------------------------------------------------------------------------


def read_brokers(brokers: Iterable[Given]) -> list[BrokerMetadata]:
    return [BrokerMetadata(BrokerId(broker["id"]), broker.get("rack")) for broker in brokers]


def read_assignment(assignment: Mapping[str, Iterable[int]]) -> Assignment:
    return {int(partition): _ids(replicas) for partition, replicas in assignment.items()}


def read_partition(name: str) -> TopicPartition:
    """Split a partition's name at the last hyphen."""
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def written(assignment: Mapping[int, Replicas]) -> Answer:
    return {str(partition): list(replicas) for partition, replicas in assignment.items()}


def _replica_assignment(given: Given) -> ReplicaAssignment:
    return ReplicaAssignment(_ids(given["replicas"]), _ids(given["adding"]), _ids(given["removing"]))


def _ids(numbers: Iterable[int]) -> Replicas:
    return tuple(map(BrokerId, numbers))
