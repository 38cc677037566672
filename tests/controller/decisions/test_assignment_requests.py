"""Requests to create, grow and reassign topics: their results, and Kafka's error messages."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.kafka_refusals import (
    AdminCommandFailedError,
    AdminOperationError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    ReassignmentInProgressError,
    RefusedError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kcsim.controller.decisions.partition_growth import added_partitions, partitions_to_create, start_index_of_added
from kcsim.controller.decisions.placement import Draw, Replicas
from kcsim.controller.decisions.reassignment import (
    check_brokers,
    check_execute_arguments,
    check_generate_arguments,
    proposed_reassignment,
    reassigned_to,
)
from kcsim.controller.decisions.topic_creation import new_topic_assignment, parse_replica_assignment
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition, without
from tests.controller.decisions.made_up_brokers import SIX_ON_THREE, draws, unracked_brokers, without_racks
from tests.examples import fewer

THREE = without_racks(0, 1, 2)
FOO_0, FOO_1, BAR_0 = TopicPartition("foo", 0), TopicPartition("foo", 1), TopicPartition("bar", 0)


def ids(*brokers: int) -> Replicas:
    return tuple(map(BrokerId, brokers))


def topic(*lists: tuple[int, ...]) -> dict[int, Replicas]:
    return {partition: ids(*listed) for partition, listed in enumerate(lists)}


# --- a new topic -----------------------------------------------------------------------------------------------------------


def create(
    name: str = "t",
    existing: Sequence[str] = (),
    partitions: int = -1,
    rf: int = -1,
    assignment: Mapping[int, Replicas] | None = None,
    **more: Any,
) -> Mapping[int, Replicas]:
    return new_topic_assignment(name, existing, THREE, Draw(1, 0), partitions, rf, assignment, **more)


def test_a_new_topic_is_placed_on_the_brokers() -> None:
    assert create(partitions=2, rf=2) == topic((1, 2), (2, 0))


def test_what_is_not_given_is_the_brokers_default() -> None:
    assert create() == topic((1,))
    assert create(default_partitions=2, default_replication_factor=2) == topic((1, 2), (2, 0))


def test_an_explicit_assignment_may_name_brokers_that_are_not_there() -> None:
    """At creation Kafka does not check the brokers; when partitions are added it does."""
    assert create(assignment={1: ids(8, 9), 0: ids(7, 8)}) == topic((7, 8), (8, 9))


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"existing": ["t"], "partitions": 0}, TopicExistsError, "Topic 't' already exists."),
        (
            {"partitions": 1, "assignment": topic((0,))},
            InvalidRequestError,
            "Both numPartitions or replicationFactor and replicasAssignments were set."
            " Both cannot be used at the same time.",
        ),
        (
            {"name": "a b", "partitions": 1, "rf": 4},
            InvalidReplicationFactorError,
            "Replication factor: 4 larger than available brokers: 3.",
        ),
        ({"name": ""}, InvalidTopicError, "Topic name is illegal, it can't be empty"),
        ({"name": ".."}, InvalidTopicError, 'Topic name cannot be "." or ".."'),
        (
            {"name": "a" * 250},
            InvalidTopicError,
            f"Topic name is illegal, it can't be longer than 249 characters, topic name: {'a' * 250}",
        ),
        (
            {"name": "ä"},
            InvalidTopicError,
            "Topic name \"ä\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'",
        ),
        (
            {"name": "a_b.c", "existing": ["a.b_c", "a.b.c", "abc"]},
            InvalidTopicError,
            "Topic 'a_b.c' collides with existing topics: a.b.c, a.b_c",
        ),
        (
            {"assignment": topic((0, 1), (1,))},
            InvalidReplicaAssignmentError,
            "All partitions should have the same number of replicas",
        ),
        (
            {"assignment": topic((0, 0))},
            InvalidReplicaAssignmentError,
            "Duplicate replica assignment found: {0: [0, 0]}",
        ),
        (
            {"assignment": {0: ids(0), 2: ids(1)}},
            InvalidReplicaAssignmentError,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            {"assignment": {-1: ids(0), 0: ids(1)}},
            InvalidReplicaAssignmentError,
            "partitions should be a consecutive 0-based integer sequence",
        ),
    ],
)
def test_the_request_for_a_topic_is_refused_in_kafkas_words(
    asked: dict[str, Any], error: type[RefusedError], message: str
) -> None:
    """Source: docs/kafka/assignment.md 6, in its order of checks."""
    with pytest.raises(error) as refused:
        create(**asked)
    assert str(refused.value) == message


def test_a_name_of_249_characters_is_allowed() -> None:
    assert create("a" * 249) == topic((1,))


# --- replicas on the command line ------------------------------------------------------------------------------------------


def test_partitions_are_separated_by_commas_and_brokers_by_colons() -> None:
    assert parse_replica_assignment("0:1, 1:2") == [ids(0, 1), ids(1, 2)]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("0:1,1:1", AdminCommandFailedError, "Partition replica lists may not contain duplicate entries: 1"),
        ("0:1,1", AdminOperationError, "Partition 1 has different replication factor: 1"),
        (
            "0:1,1:x",
            ValueError,
            "'x' in '1:x' is no broker id; write the replicas of two partitions as 0:1,1:2",
        ),
        ("0:1,", ValueError, "'' in '' is no broker id; write the replicas of two partitions as 0:1,1:2"),
        ("-1", ValueError, "'-1' in '-1' is no broker id; write the replicas of two partitions as 0:1,1:2"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refused:
        parse_replica_assignment(text)
    assert str(refused.value) == message


# --- more partitions -------------------------------------------------------------------------------------------------------


def test_first_replicas_go_on_round_the_ring_and_the_shift_begins_anew() -> None:
    """Source: docs/kafka/assignment.md 7: a grown topic usually has no single start and shift."""
    existing = topic((2, 3), (3, 4), (4, 5), (5, 0), (0, 1), (1, 2))
    added = added_partitions("t", existing, without_racks(5, 4, 3, 2, 1, 0), 9)
    assert added == {6: (2, 0), 7: (3, 1), 8: (4, 2)}


@fewer(4)
@given(unracked_brokers(), draws, st.integers(1, 30), st.integers(1, 30))
def test_without_racks_leaders_are_those_of_a_topic_created_at_its_full_size(
    brokers: list[BrokerMetadata], drawn: Draw, before: int, more: int
) -> None:
    by_id = sorted(brokers)
    whole = assign_replicas(by_id, before + more, 1, drawn)
    existing = {p: whole[p] for p in range(before)}
    assert {**existing, **added_partitions("t", existing, brokers, before + more)} == whole


def test_when_partition_0s_leader_has_left_the_next_larger_id_takes_its_part() -> None:
    assert start_index_of_added(topic((3, 4)), without_racks(1, 2, 4, 5)) == 2
    assert start_index_of_added(topic((9, 1)), without_racks(1, 2, 3)) == 0


def test_with_racks_the_rotation_jumps() -> None:
    """A position among the ids is used on the ring of racks: Kafka's quirk (docs/kafka/assignment.md 7)."""
    existing = topic((3, 1, 5), (1, 5, 4), (5, 4, 2))
    assert added_partitions("t", existing, SIX_ON_THREE, 6) == {3: (0, 2, 3), 4: (3, 0, 1), 5: (1, 3, 5)}


def test_explicit_lists_are_for_the_new_partitions() -> None:
    assert partitions_to_create("t", topic((0, 1)), THREE, 3, [ids(1, 2), ids(2, 0)]) == {1: (1, 2), 2: (2, 0)}


def test_existing_partitions_stay_whatever_is_given_for_them() -> None:
    assert added_partitions("t", topic((0, 1)), THREE, 2, topic((2, 1), (1, 2))) == {1: (1, 2)}


T3 = topic((0,), (1,), (2,))


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ((T3, 4, None, {"is_queued_for_deletion": True}), InvalidTopicError, "The topic is queued for deletion."),
        (
            (T3, 4, None, {"is_being_reassigned": True}),
            ReassignmentInProgressError,
            "A partition reassignment is in progress for the topic 't'.",
        ),
        ((None, 4, None, {}), UnknownTopicOrPartitionError, "The topic 't' does not exist."),
        (
            (T3, 1, None, {}),
            InvalidPartitionsError,
            "Topic currently has 3 partitions, which is higher than the requested 1.",
        ),
        ((T3, 3, [ids(12)], {}), InvalidPartitionsError, "Topic already has 3 partitions."),
        (
            (T3, 5, [ids(12, 0, 11)], {}),
            InvalidReplicaAssignmentError,
            "Unknown broker(s) in replica assignment: 12, 11.",
        ),
        (
            (T3, 6, [ids(1)], {}),
            InvalidReplicaAssignmentError,
            "Increasing the number of partitions by 3 but 1 assignments provided.",
        ),
        (
            ({1: ids(0, 1)}, 2, None, {}),
            AdminOperationError,
            "Unexpected existing replica assignment for topic 't', partition id 0 is missing. Assignment: {1: [0, 1]}",
        ),
        (
            (T3, 4, [()], {}),
            InvalidReplicaAssignmentError,
            "Cannot have replication factor of 0 for partition id 3.",
        ),
        (
            (T3, 4, [ids(1, 1)], {}),
            InvalidReplicaAssignmentError,
            "Duplicate brokers not allowed in replica assignment: 1, 1 for partition id 3.",
        ),
        (
            (T3, 6, [ids(1), ids(1, 0), ids(2, 1, 0)], {}),
            InvalidReplicaAssignmentError,
            "Inconsistent replication factor between partitions, partition 0 has 1 while partitions [4, 5] have"
            " replication factors [2, 3], respectively.",
        ),
        (
            (topic((0, 1, 2, 3)), 2, None, {}),
            InvalidReplicationFactorError,
            "Replication factor: 4 larger than available brokers: 3.",
        ),
    ],
)
def test_more_partitions_are_refused_in_kafkas_words(
    asked: tuple[Mapping[int, Replicas] | None, int, Sequence[Replicas] | None, dict[str, bool]],
    error: type[RefusedError],
    message: str,
) -> None:
    """Source: docs/kafka/assignment.md 7, in its order of checks."""
    existing, total, lists, more = asked
    with pytest.raises(error) as refused:
        partitions_to_create("t", existing, THREE, total, lists, **more)
    assert str(refused.value) == message


def test_the_helper_below_the_request_refuses_what_is_no_increase() -> None:
    with pytest.raises(InvalidPartitionsError) as refused:
        added_partitions("t", T3, THREE, 3)
    assert str(refused.value) == (
        "The number of partitions for a topic can only be increased. Topic t currently has 3 partitions, 3 would not be an"
        " increase."
    )


# --- reassignment ----------------------------------------------------------------------------------------------------------

RUNNING = ReplicaAssignment(ids(4, 5, 6, 1, 2, 3), ids(4, 5, 6), ids(1, 2, 3))


def test_a_new_target_replaces_a_running_one_and_drops_what_it_had_added() -> None:
    """Source: Kafka's ControllerContextTest."""
    assert reassigned_to(RUNNING, ids(7, 8, 9)) == ReplicaAssignment(ids(7, 8, 9, 1, 2, 3), ids(7, 8, 9), ids(1, 2, 3))


def test_going_back_to_the_origin_cancels() -> None:
    assert reassigned_to(RUNNING, ids(1, 2, 3)) == ReplicaAssignment(ids(1, 2, 3))


def test_another_order_moves_nobody() -> None:
    assert reassigned_to(ReplicaAssignment(ids(1, 2, 3)), ids(3, 1, 2)) == ReplicaAssignment(ids(3, 1, 2))


def test_a_broker_that_was_listed_twice_by_hand_is_listed_once_afterwards() -> None:
    """Source: conformance/traces/recorded/reassign-from-duplicate."""
    assert reassigned_to(ReplicaAssignment(ids(1, 3, 2, 3)), ids(1)) == ReplicaAssignment(ids(1, 3, 2), (), ids(3, 2))
    assert reassigned_to(ReplicaAssignment(ids(1)), ids(2, 2)) == ReplicaAssignment(ids(2, 1), ids(2), ids(1))


@pytest.mark.parametrize(
    ("replicas", "taken", "left"),
    [
        ((1, 2, 3), (2,), (1, 3)),
        ((3, 2, 3), (3,), (2, 3)),  # so a reassignment of these to [3, 2] stops the replica on 3
        ((3, 2, 3), (3, 3), (2,)),
        ((1, 2), (7, 2, 2), (1,)),
    ],
)
def test_what_is_taken_out_of_a_list_is_taken_once_for_each_time_it_is_named(
    replicas: tuple[int, ...], taken: tuple[int, ...], left: tuple[int, ...]
) -> None:
    """Source: Scala's Seq.diff."""
    assert without(ids(*replicas), ids(*taken)) == ids(*left)


lists_of_brokers = st.lists(st.integers(0, 9).map(BrokerId), min_size=1, max_size=5, unique=True).map(tuple)


@fewer(4)
@given(lists_of_brokers, st.lists(lists_of_brokers, min_size=1, max_size=4))
def test_the_last_target_is_what_is_stored_as_such(first: Replicas, targets: list[Replicas]) -> None:
    """However many targets follow one another, the origin stays the same, and no broker is notified twice."""
    assignment = ReplicaAssignment(first)
    for target in targets:
        assignment = reassigned_to(assignment, target)
        assert assignment.target_replicas == target
        assert set(assignment.origin_replicas) == set(first)
        assert len(set(assignment.replicas)) == len(assignment.replicas)
        assert assignment.is_being_reassigned == (set(target) != set(first))


def test_a_proposal_is_a_fresh_placement_of_each_topic_by_its_own_numbers() -> None:
    """Its only inputs are each topic's number of partitions and of replicas (docs/kafka/assignment.md 9.1)."""
    current = {FOO_0: ids(0, 1, 2), FOO_1: ids(1, 2, 3), BAR_0: ids(2, 3, 0)}
    drawn = {"foo": Draw(1, 0), "bar": Draw(2, 1)}
    proposed = proposed_reassignment(current, without_racks(0, 1, 3), drawn)
    assert proposed == {FOO_0: (1, 3, 0), FOO_1: (3, 0, 1), BAR_0: (3, 1, 0)}


@fewer(4)
@given(st.randoms(use_true_random=False))
def test_a_proposal_does_not_depend_on_where_replicas_are_now(random: Random) -> None:
    current = {TopicPartition("t", p): ids(*random.sample(range(6), 2)) for p in range(8)}
    first = {TopicPartition("t", p): ids(0, 1) for p in range(8)}
    drawn = {"t": Draw(3, 2)}
    assert proposed_reassignment(current, SIX_ON_THREE, drawn) == proposed_reassignment(first, SIX_ON_THREE, drawn)


def test_the_tool_refuses_duplicates_in_its_arguments() -> None:
    with pytest.raises(AdminCommandFailedError, match=r"^Broker list contains duplicate entries: 5$"):
        check_generate_arguments([5, 2, 3, 4, 5], ["foo"])
    with pytest.raises(AdminCommandFailedError, match=r"^List of topics to reassign contains duplicate entries: foo$"):
        check_generate_arguments([5, 2], ["foo", "bar", "foo"])
    check_generate_arguments([5, 2], ["foo", "bar"])


@pytest.mark.parametrize(
    ("plan", "error", "message"),
    [
        ([], AdminCommandFailedError, "Partition reassignment list cannot be empty"),
        (
            [(FOO_0, ids(0)), (FOO_0, ids(1))],
            AdminCommandFailedError,
            "Partition reassignment contains duplicate topic partitions foo-0",
        ),
        (
            [(FOO_0, ids(0, 0)), (FOO_1, ids(1))],
            AdminCommandFailedError,
            "Partition replica lists may not contain duplicate entries: foo-0 contains multiple entries for 0",
        ),
        ([(BAR_0, ids(0))], UnknownTopicOrPartitionError, "Topic bar not found."),
        ([(FOO_0, ids(0, 4))], AdminCommandFailedError, "Unknown broker id 4"),
        # In the order of a Scala Set: as given up to four, by hash from five on.
        ([(FOO_0, ids(1, 7, 5)), (FOO_1, ids(0, 7))], AdminCommandFailedError, "Unknown broker id 7"),
        ([(FOO_0, ids(1, 7, 5)), (FOO_1, ids(0, 6, 3))], AdminCommandFailedError, "Unknown broker id 5"),
    ],
)
def test_a_plan_is_refused_before_anything_moves(
    plan: list[tuple[TopicPartition, Replicas]], error: type[RefusedError], message: str
) -> None:
    with pytest.raises(error) as refused:
        check_execute_arguments(plan, ["foo"], ids(0, 1))
    assert str(refused.value) == message


def test_the_command_in_java_names_the_first_unknown_broker_of_a_hash_set() -> None:
    """Kafka 3.9.1 named broker 2 of [4, 2, 3]; ids are their own hashes, in a table of 16 buckets."""
    for targets, unknown in ((ids(4, 2, 3), 2), (ids(20, 5, 33), 33)):
        with pytest.raises(AdminCommandFailedError, match=f"Unknown broker id {unknown}$"):
            check_brokers({FOO_0: targets}, ids(0), in_java=True)


def test_a_plan_that_makes_sense_passes() -> None:
    check_execute_arguments([(FOO_0, ids(0, 1)), (FOO_1, ids(1, 0))], ["foo"], ids(0, 1))
