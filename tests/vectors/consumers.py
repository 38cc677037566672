"""Questions about the assignment of partitions to consumers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy, assign
from kcsim.brokers.groups.assignors.members import GroupMember, in_member_order
from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
from kcsim.brokers.groups.assignors.rack_aware_range import PartitionRacks, rack_mismatches
from kcsim.brokers.groups.assignors.sticky_assignor import StickyAlgorithm, assign_sticky
from kcsim.brokers.groups.group import cooperative_rounds
from kcsim.vocabulary import TopicPartition
from tests.vectors.cases import Answer, Given, Version
from tests.vectors.placement import read_partition

FEW_MEMBERS = 5
"""Up to this number of members all orders are tried; above it every rotation, forwards and backwards."""


def assign_group(given: Given, version: Version) -> Answer:
    """Return the assignment; `ordered` is returned as in the files: only round robin's lists are compared in order."""
    strategy = given.one_of("assignor", AssignmentStrategy)
    members = [_member(of) for of in given["members"]]
    rules = KafkaRules.KAFKA_2_8 if version is Version.KAFKA_2_8 else KafkaRules.KAFKA_3
    match strategy:
        case AssignmentStrategy.STICKY:
            answer = _sticky(given, members, rules)
        case AssignmentStrategy.COOPERATIVE_STICKY:
            answer = _cooperative(given, members, rules)
        case AssignmentStrategy.RANGE | AssignmentStrategy.ROUND_ROBIN:
            answer = _eager(given, strategy, members)
    return answer | {"ordered": strategy is AssignmentStrategy.ROUND_ROBIN}


def member_order(given: Given) -> Answer:
    return {"order": [member.member_id for member in in_member_order(_member(of) for of in given["members"])]}


def _eager(given: Given, strategy: AssignmentStrategy, members: list[GroupMember]) -> Answer:
    racks = _partition_racks(given)
    placed = assign(strategy, given["topics"], members, partition_racks=racks if given.get("rack_aware") else None)
    answer = {"assignment": _written(placed)}
    return answer if racks is None else answer | {"rack_mismatches": rack_mismatches(placed, members, racks)}


def _sticky(given: Given, members: list[GroupMember], rules: KafkaRules) -> Answer:
    algorithm = given.one_of("algorithm", StickyAlgorithm) if "algorithm" in given else StickyAlgorithm.AUTO
    placed = assign_sticky(given["topics"], members, rules, algorithm, given.get("member_order"))
    return {
        "assignment": _written(placed),
        "depends_on_member_order": _depends_on_order(given, members, rules, algorithm),
    }


def _depends_on_order(given: Given, members: list[GroupMember], rules: KafkaRules, algorithm: StickyAlgorithm) -> bool:
    orders = _orders([member.member_id for member in members])
    found = [_as_sets(assign_sticky(given["topics"], members, rules, algorithm, order)) for order in orders]
    return any(assignment != found[0] for assignment in found)


def _orders(ids: list[str]) -> Iterator[Sequence[str]]:
    if len(ids) <= FEW_MEMBERS:
        return permutations(ids)
    return (way[n:] + way[:n] for way in (ids, ids[::-1]) for n in range(len(ids)))


def _cooperative(given: Given, members: list[GroupMember], rules: KafkaRules) -> Answer:
    rounds = cooperative_rounds(given["topics"], members, rules)
    return {
        "assignment": _written(rounds[0].sent),
        "withheld": {str(partition): member_id for partition, member_id in rounds[0].withheld.items()},
        "revoked": _written(rounds[0].revoked),
        "final_assignment": _written(rounds[-1].sent),
        "rounds": len(rounds),
        "depends_on_member_order": _depends_on_order(given, members, rules, StickyAlgorithm.AUTO),
    }


def _member(given: Given) -> GroupMember:
    return GroupMember(
        given["id"],
        given.get("topics", ()),
        given.get("instance_id"),
        given.get("rack"),
        [read_partition(name) for name in given.get("owned", ())],
        given.get("generation"),
    )


def _partition_racks(given: Given) -> PartitionRacks | None:
    if "partition_racks" not in given:
        return None
    return {read_partition(name): racks for name, racks in given["partition_racks"].items()}


def _written(assignment: Mapping[str, Iterable[TopicPartition]]) -> Answer:
    return {member_id: [str(partition) for partition in partitions] for member_id, partitions in assignment.items()}


def _as_sets(assignment: Assignment) -> dict[str, frozenset[TopicPartition]]:
    return {member_id: frozenset(partitions) for member_id, partitions in assignment.items()}
