"""A partition's assignment as a controller knows it, where the topic's znode says something else by now."""

from collections.abc import Sequence

from kcsim.scenarios.analysis.folding.controller_action import ControllerView
from kcsim.scenarios.analysis.folding.controller_assignment_view import ControllerAssignmentView
from kcsim.scenarios.analysis.folding.timeline import Timeline, TopicTimeline
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicState

CONTROLLER, ANOTHER = "broker-1", "broker-2"
TERM = ControllerView(epoch=1, since=3)


def assigned(*replicas: int) -> ReplicaAssignment:
    return ReplicaAssignment(tuple(map(BrokerId, replicas)))


def known_after(
    written: Sequence[tuple[int, ReplicaAssignment]], noted: Sequence[tuple[int, str, bool]]
) -> ControllerAssignmentView:
    versions: list[tuple[int, int, int | None, TopicState | None]] = [
        (seq, 0, None, TopicState({0: assignment})) for seq, assignment in written
    ]
    return ControllerAssignmentView(Timeline(topics={"orders": TopicTimeline(versions, list(noted))}), "orders", 0)


def test_a_controller_knows_the_assignment_that_was_stored_when_it_first_saw_the_topic() -> None:
    """It reads the topic's znode then, and does not look at what others write into it later."""
    seen = known_after([(10, assigned(1, 2)), (30, assigned(3, 1))], [(20, CONTROLLER, True)])
    assert seen.assignment(CONTROLLER, TERM, 40) == assigned(1, 2)


def test_what_another_controller_saw_is_not_known_to_this_one() -> None:
    seen = known_after([(10, assigned(1, 2)), (30, assigned(3, 1))], [(20, ANOTHER, True)])
    assert seen.assignment(CONTROLLER, TERM, 40) == assigned(3, 1)


def test_a_topic_that_is_seen_again_after_its_deletion_is_read_anew() -> None:
    """The controller forgets the old assignment with the topic."""
    noted = [(20, CONTROLLER, True), (30, CONTROLLER, False), (50, CONTROLLER, True)]
    seen = known_after([(10, assigned(1, 2)), (40, assigned(3, 1)), (60, assigned(2, 3))], noted)
    assert seen.assignment(CONTROLLER, TERM, 25) == assigned(1, 2)
    assert seen.assignment(CONTROLLER, TERM, 70) == assigned(3, 1)
