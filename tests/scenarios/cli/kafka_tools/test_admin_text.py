"""The exact output, tabs included, of Kafka 2.8's TopicCommand, ReassignPartitionsCommand and election commands."""

import pytest

from kcsim.controller.admin.elections import RequestedElection
from kcsim.controller.admin.reassignments import MoveStatus
from kcsim.controller.admin.throttles import ThrottledEntities
from kcsim.controller.admin.topic_descriptions import DescribeReport, PartitionDescription, TopicDescription, is_reported
from kcsim.controller.capabilities import Release
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import SUCCESS, ApiError, ErrorCode
from kcsim.scenarios.cli.kafka_tools.election_text import election_exception, requested_election_lines, result_lines
from kcsim.scenarios.cli.kafka_tools.reassignment_text import cleared_lines, ongoing_lines, started_line, status_lines
from kcsim.scenarios.views.terminal.topic_text import description_json, description_lines
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

B1, B2, B3 = map(BrokerId, (1, 2, 3))
T0, T1, T10 = (TopicPartition("t", p) for p in (0, 1, 10))
BOTH = ReplicaAssignment((B1, B2))


def described(*partitions: PartitionDescription, marked: bool = False, minimum: int = 1) -> TopicDescription:
    return TopicDescription("t", {"a": "1", "b": "x y"}, minimum, marked, partitions)


# --- topics ----------------------------------------------------------------------------------------------------------------


def test_settings_are_listed_with_commas_and_a_topic_to_be_deleted_is_marked_on_every_line() -> None:
    topic = described(PartitionDescription(0, BOTH, B2, (B2, B1)), PartitionDescription(1, BOTH, None, ()), marked=True)
    assert list(description_lines([topic])) == [
        "Topic: t\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: a=1,b=x y\tMarkedForDeletion: true",
        "\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 2,1\tMarkedForDeletion: true",
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: \tMarkedForDeletion: true",
    ]


def test_a_topic_without_partitions_is_described_all_the_same() -> None:
    assert list(description_lines([described()])) == [
        "Topic: t\tPartitionCount: 0\tReplicationFactor: 0\tConfigs: a=1,b=x y"
    ]


def test_of_a_report_only_topics_with_something_to_show_are_in_the_json() -> None:
    fine = described(PartitionDescription(0, BOTH, B1, (B1, B2)))
    bad = described(PartitionDescription(0, BOTH, B1, (B1, B2)), PartitionDescription(1, BOTH, B1, (B1,)))
    found = description_json([fine, bad], DescribeReport.UNDER_REPLICATED)
    assert [[partition["partition"] for partition in topic["partitions"]] for topic in found] == [[1]]


@pytest.mark.parametrize(
    ("leader", "isr", "reports"),
    [
        (B1, (B1, B2), {DescribeReport.AT_MIN_ISR}),
        (B1, (B1,), {DescribeReport.UNDER_REPLICATED, DescribeReport.UNDER_MIN_ISR}),
        (B3, (B1, B2), {DescribeReport.UNAVAILABLE, DescribeReport.AT_MIN_ISR}),
        (None, (B1, B2), {DescribeReport.UNAVAILABLE, DescribeReport.UNDER_MIN_ISR, DescribeReport.AT_MIN_ISR}),
    ],
)
def test_what_deserves_attention(leader: BrokerId | None, isr: tuple[BrokerId, ...], reports: set[DescribeReport]) -> None:
    """Two replicas, min.insync.replicas 2; brokers 1 and 2 are live.

    Without a leader too few are in sync, whatever the ISR.
    """
    partition = PartitionDescription(0, BOTH, leader, isr)
    assert {report for report in DescribeReport if is_reported(partition, report, 2, {B1, B2})} == reports


# --- reassignments ---------------------------------------------------------------------------------------------------------


def test_the_status_of_a_move_is_one_of_three() -> None:
    """Partitions are listed in ascending order of their numbers, not of their names."""
    moves = {
        T10: MoveStatus((B1, B2), (B2, B1), is_under_way=False),
        T1: MoveStatus((B1,), (B1,), is_under_way=True),
        T0: MoveStatus((B1, B2), (B1, B2), is_under_way=False),
    }
    assert list(status_lines(moves)) == [
        "Status of partition reassignment:",
        "Reassignment of partition t-0 is complete.",
        "Reassignment of partition t-1 is still in progress.",
        "There is no active reassignment of partition t-10, but replica set is 1,2 rather than 2,1.",
    ]


def test_one_is_not_many() -> None:
    assert started_line([T0]) == "Successfully started partition reassignment for t-0"
    assert started_line([T10, T1]) == "Successfully started partition reassignments for t-1,t-10"
    assert list(cleared_lines(ThrottledEntities((B1,), ("t", "u")))) == [
        "Clearing broker-level throttles on broker 1",
        "Clearing topic-level throttles on topics t,u",
    ]


def test_only_who_comes_and_goes_is_named_among_what_moves() -> None:
    moving = {T1: ReplicaAssignment((B1, B2), (B2,)), T0: ReplicaAssignment((B2, B3), (), (B3,))}
    assert list(ongoing_lines(moving)) == [
        "Current partition reassignments:",
        "t-0: replicas: 2,3. removing: 3.",
        "t-1: replicas: 1,2. adding: 2.",
    ]


# --- elections -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "printed"),
    [(0, "Set()"), (4, "Set(t-0, t-1, t-2, t-3)"), (5, "HashSet(t-4, t-3, t-2, t-1, t-0)")],
)
def test_from_five_partitions_on_kafkas_language_calls_a_set_a_hash_set(count: int, printed: str) -> None:
    _, started = requested_election_lines(RequestedElection(tuple(TopicPartition("t", p) for p in range(count))))
    assert started == f"Successfully started preferred replica election for partitions {printed}"


@pytest.mark.parametrize(("release", "valid"), [(Release("2.8"), "t-0, u-0"), (Release("3.0"), "t-1")])
def test_each_outcome_of_an_election_has_its_line(release: Release, valid: str) -> None:
    """Kafka 2.8.2 lists the elected partitions twice; 3.0 corrected it."""
    results = {
        T0: SUCCESS,
        T1: ApiError(ErrorCode.ELECTION_NOT_NEEDED),
        T10: ApiError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "Failed to elect leader for partition t-10"),
        TopicPartition("u", 0): SUCCESS,
    }
    assert list(result_lines(ElectionType.PREFERRED, results, release)) == [
        "Successfully completed leader election (PREFERRED) for partitions t-0, u-0",
        f"Valid replica already elected for partitions {valid}",
        "Error completing leader election (PREFERRED) for partition: t-10:"
        " org.apache.kafka.common.errors.PreferredLeaderNotAvailableException:"
        " Failed to elect leader for partition t-10",
    ]


def test_an_error_without_words_of_its_own_is_shown_by_its_name() -> None:
    text = election_exception(ApiError(ErrorCode.REQUEST_TIMED_OUT))
    assert text == "org.apache.kafka.common.errors.UnknownServerException: REQUEST_TIMED_OUT"
