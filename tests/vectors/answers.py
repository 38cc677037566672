"""The project's answer to a case, and its differences from the expected one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kcsim.controller.decisions.kafka_refusals import RefusedError
from tests.vectors import consumers, elections, placement, refusals, segments
from tests.vectors.cases import Answer, BadCaseError, Case, Given, Version

UNORDERED = frozenset({"assignment", "final_assignment", "revoked"})
"""Keys of consumers' answers whose lists are compared as sets, unless the case says that they are ordered."""
NOT_COMPARED = frozenset({"ordered"})
"""Keys of `expected` that say how to compare, and are not compared."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation and its way of comparison.

    Attributes:
        lists_are_sets: see UNORDERED.
        versions_differ: a case is then asked once per version.
        extras: keys that are part of an answer only if the case expects them.
    """

    answer: Callable[[Given, Version], Answer]
    lists_are_sets: bool = False
    versions_differ: bool = False
    extras: frozenset[str] = frozenset()


def _alike(answer: Callable[[Given], Answer], extras: frozenset[str] = frozenset()) -> Operation:
    """Return an operation that all versions of Kafka answer alike."""
    return Operation(lambda given, _: answer(given), extras=extras)


CONSUMERS_ASSIGN = Operation(consumers.assign_group, lists_are_sets=True, versions_differ=True)

OPERATIONS: Mapping[str, Operation] = {
    # elections
    "elect": _alike(elections.elect),
    "state_change": _alike(elections.state_change),
    "initialize": _alike(elections.initialize),
    "remove_from_isr": _alike(elections.remove_from_isr),
    "partition_transition": _alike(elections.partition_transition),
    "replica_transition": _alike(elections.replica_transition),
    "preferred_imbalance": _alike(elections.preferred_imbalance),
    "auto_rebalance": _alike(elections.auto_rebalance),
    # log segments
    "should_roll": _alike(segments.should_roll),
    "relative_offset": _alike(segments.relative_offset),
    "index_capacity": _alike(segments.index_capacity),
    "index_entries": _alike(segments.index_entries),
    "sequence": _alike(segments.sequence),
    "retention": Operation(segments.retention, versions_differ=True),
    # placement
    "assign": _alike(placement.assign, extras=placement.PROPERTIES),
    "properties": _alike(placement.properties),
    "infer": _alike(placement.infer),
    "rack_alternated_list": _alike(placement.rack_alternated),
    "replica_index": _alike(placement.index_of_replica),
    "naive_mod": _alike(placement.naive_mod),
    "effective_brokers": _alike(placement.rack_mode),
    "add_partitions": _alike(placement.add_partitions),
    "reassign": _alike(placement.reassign),
    "reassign_target": _alike(placement.reassign_target),
    "generate_proposal": _alike(placement.generate_proposal),
    # refusals
    "create_topic": _alike(refusals.create_topic),
    "create_partitions": _alike(refusals.create_partitions),
    "generate_args": _alike(refusals.generate_args),
    "execute_args": _alike(refusals.execute_args),
    "cli_line": _alike(refusals.cli_line),
    # consumers
    "member_order": _alike(consumers.member_order),
}


def operation_of(case: Case) -> Operation:
    """Return the operation of a case; two are called assign, and the input decides.

    Raises: BadCaseError for an unknown op.
    """
    op = case.input["op"]
    if op == "assign" and "assignor" in case.input:
        return CONSUMERS_ASSIGN
    if op not in OPERATIONS:
        raise BadCaseError(f"{case}: unknown op {op!r}; there are {', '.join(OPERATIONS)}")
    return OPERATIONS[op]


def answer(case: Case, version: Version = Version.RECENT) -> Answer:
    """Return the project's answer; if the case has an `expected`, only the keys of that are kept.

    Raises: BadCaseError.
    """
    operation = operation_of(case)
    expected = case.expected.get(version, case.expected.get(Version.RECENT, {}))
    try:
        result = operation.answer(case.input, version)
    except RefusedError as refusal:
        return {k: v for k, v in refusals.refused(refusal).items() if k not in refusals.EXTRAS or k in expected}
    except BadCaseError as error:
        raise BadCaseError(f"{case}: {error}") from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise BadCaseError(f"{case}: cannot be answered: {type(error).__name__}: {error}") from error
    kept = {key: value for key, value in result.items() if key in expected}
    return kept or {key: value for key, value in result.items() if key not in operation.extras}


# --- comparing -------------------------------------------------------------------------------------------------------------


def mismatches(case: Case) -> Iterator[str]:
    """Return the differences from the expected answer, for each version that has its own answer."""
    operation = operation_of(case)
    for version in Version if operation.versions_differ else (Version.RECENT,):
        expected = case.expected.get(version, case.expected[Version.RECENT])
        found = answer(case, version)
        as_sets = operation.lists_are_sets and not case.expected[Version.RECENT].get("ordered")
        of_version = "" if version is Version.RECENT else " under Kafka 2.8"
        for key, wanted in expected.items():
            if key not in NOT_COMPARED and not _agrees(found, key, wanted, as_sets and key in UNORDERED):
                yield f"{case}: {key}{of_version}: expected {wanted!r}, got {found.get(key, found)!r}"


def _agrees(found: Answer, key: str, wanted: Any, as_sets: bool) -> bool:
    if key == "message_prefix":
        return str(found.get("message", "")).startswith(wanted)
    if key not in found:
        return False
    return _sorted_lists(found[key]) == _sorted_lists(wanted) if as_sets else bool(found[key] == wanted)


def _sorted_lists(assignment: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}
