"""No answer is written in a lesson: with another scenario below the same pages, other answers are right.

The pages stay the same; the cluster or its timetable changes.
"""

from typing import NamedTuple

import pytest

from tests.scenarios.lessons.lesson_fixtures import played, played_otherwise
from tests.scenarios.lessons.lesson_names import NAMES
from tests.tiers import tiered


class Change(NamedTuple):
    """A change: texts of the scenario with their replacements, and the right answer to a question before and after it."""

    lesson: str
    question: int
    before: str
    after: str
    texts: tuple[tuple[str, str], ...]


A_FIFTH_BROKER = (
    ("brokers: 4", "brokers: 5"),
    (
        "- kill: broker-4",
        "- start: broker-5\n  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3, 4, 5]}}\n  - kill: broker-4",
    ),
    ("brokers: [1, 2, 3], node: broker-1", "brokers: [1, 2, 3, 5], node: broker-1"),
)
CLICKS_IS_CLEAN_AS_WELL = (
    (", config: {unclean.leader.election.enable: 'true'}", ""),
    ("clicks-0: broker-2}", "clicks-0: none}"),
    ("clicks-0: 3}", "clicks-0: 2}"),
    ("clicks-0: [2]}", "clicks-0: [3]}"),
)
NOTES_HAS_TWO_REPLICAS = (
    ("{0: [2]}", "{0: [2, 4]}"),
    ("notes-0: none", "notes-0: broker-4"),
    ("at-least: 7", "at-least: 8"),
)
NOTHING_OF_IT_ON_THE_DEAD_ONE = (
    ("{0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}", "{0: [1, 3], 1: [3, 1], 2: [3, 1]}"),
    ("at-least: 9", "at-least: 6"),
    (
        "- wait: {leader: {orders-1: broker-3}, isr: {orders-0: [1, 3], orders-1: [1, 3], orders-2: [1, 3]}}",
        "- wait: {unregistered: broker-2}",
    ),
    ("      leader: {orders-0: none, orders-1: none, orders-2: none}\n", "      topics: none\n"),
    ("      leader-epoch: {orders-0: 3, orders-1: 3, orders-2: 3}\n", ""),
)
DEALT_ROUND_ROBIN = ("topics: [t0, t1, t2], settings", "topics: [t0, t1, t2], assignors: roundrobin, settings")
A_REGISTRATION_IS_DELETED = (("- zk-delete: /controller\n", "- zk-delete: /brokers/ids/3\n  - zk-delete: /controller\n"),)
BOTH_WAIT_FOR_BROKER_4 = (
    ("1: [2, 3, 5]", "1: [2, 4, 5]"),
    ("- wait: {leader: {orders-1: broker-3}}", "- wait: {event: {kind: BrokerChange, brokers: [1, 2, 3, 5]}}"),
)
THE_REQUEST_SUCCEEDS = (
    ("0: [3]", "0: [2]"),
    (
        "{event: {kind: ControllerEventFailed, event: ReplicaLeaderElection}}",
        "{znode: {path: /admin/preferred_replica_election, exists: false}}",
    ),
    ("at-least: 9", "at-least: 2"),
    (
        "- zk-delete: /admin/preferred_replica_election\n",
        """- zk-delete: /controller
    after: 1s
  - wait: {event: {kind: ControllerFailover, controller-epoch: 3, step: Starting the controller scheduler}}
  - zk-create: {path: /admin/preferred_replica_election, data: {version: 1, partitions: []}}
    after: 1s
""",
    ),
)

CHANGES = [
    Change("controller-election", 4, "5 s", "11 s", (("timeout.ms: 6000", "timeout.ms: 12000"),)),
    Change("watches", 6, "2", "3", A_FIFTH_BROKER),
    Change("leaders-and-isr", 1, "broker-2", "broker-4", (("0: [2, 3, 4]", "0: [4, 3, 2]"),)),
    Change("leaders-and-isr", 5, "broker-3", "broker-4", (("0: [2, 3, 4]", "0: [2, 4, 3]"),)),
    Change("unclean-election", 4, "broker-2", "nobody", CLICKS_IS_CLEAN_AS_WELL),
    Change("unclean-election", 6, "no", "yes", CLICKS_IS_CLEAN_AS_WELL),
    Change("controlled-shutdown", 3, "nobody", "broker-4", NOTES_HAS_TWO_REPLICAS),
    Change("controlled-shutdown", 5, "broker-4", "broker-2", (("1: [3, 4, 2]", "1: [3, 2, 4]"),)),
    Change("reassignment", 2, "[4, 5, 2, 3]", "[5, 3, 2]", (("[4, 5]", "[5, 3]"),)),
    Change("reassignment", 6, "4", "3", (("[4, 5]", "[5, 3]"),)),
    Change("deletion", 3, "yes", "no", NOTHING_OF_IT_ON_THE_DEAD_ONE),
    Change("zombie-controller", 4, "no", "yes", A_REGISTRATION_IS_DELETED),
    Change("session-states", 4, "5 s", "9 s", (("timeout.ms: 6000", "timeout.ms: 12000"),)),
    Change("consumer-rebalances", 1, "nothing", "t1-0, t2-1", (DEALT_ROUND_ROBIN,)),
    Change("consumer-rebalances", 4, "no", "yes", (("assignors: cooperative-sticky", "assignors: sticky"),)),
    Change("leader-epochs", 6, "2", "3", (("0: [2, 3, 4]", "0: [4, 2, 3]"),)),
    Change("total-loss", 2, "[3]", "[4]", BOTH_WAIT_FOR_BROKER_4),
    Change("total-loss", 6, "1", "2", BOTH_WAIT_FOR_BROKER_4),
    Change("elections-without-end", 2, "yes", "no", THE_REQUEST_SUCCEEDS),
    Change("elections-without-end", 3, "It resigns", "It is ready, and stays", THE_REQUEST_SUCCEEDS),
    Change("elections-without-end", 4, "no", "yes", THE_REQUEST_SUCCEEDS),
]


@pytest.mark.slow
@pytest.mark.parametrize("change", tiered(CHANGES, fast=5), ids=lambda change: f"{change.lesson}-{change.question}")
def test_another_scenario_has_another_right_answer(change: Change) -> None:
    changed = played_otherwise(change.lesson, *change.texts)
    assert (played(change.lesson).answer(change.question), changed.answer(change.question)) == (change.before, change.after)
    assert changed.questions[change.question - 1].right.text in changed.questions[change.question - 1].choices


def test_every_lesson_is_among_them() -> None:
    assert sorted({change.lesson for change in CHANGES}) == sorted(NAMES)


def test_the_text_changes_with_the_run() -> None:
    changed = played_otherwise("leaders-and-isr", ("0: [2, 3, 4]", "0: [4, 3, 2]"))
    assert "Its assignment is [2, 3, 4]" in " ".join(played("leaders-and-isr").scenes[0].text.split())
    assert "Its assignment is [4, 3, 2]" in " ".join(changed.scenes[0].text.split())
