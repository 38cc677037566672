"""The picture of a page: the cluster at that point of the run, without the answer to the question, in any width."""

import pytest

from kcsim.scenarios.lessons.page_picture import picture_lines
from tests.scenarios.lessons.lesson_fixtures import played
from tests.scenarios.lessons.lesson_names import NAMES


def picture(lesson: str, page: int, width: int = 80) -> list[str]:
    return list(picture_lines(played(lesson).scenes[page - 1].picture, width))


def test_it_shows_a_dead_controller_that_is_still_named() -> None:
    assert picture("controller-election", 3) == [
        "  /controller        broker-2, which is dead",
        "  /controller_epoch  1",
        "  Broker    Process  Session     Registered  Role",
        "  broker-1  running  connected   yes         -",
        "  broker-2  dead     still open  yes         -",
        "  broker-3  running  connected   yes         -",
    ]


def test_it_shows_what_a_former_controller_believes_and_does_not_know() -> None:
    lines = picture("zombie-controller", 3)
    assert "  broker-3  running  connected (gone)  no          believes: controller, epoch 1" in lines
    assert lines[-1].startswith("  (gone): ZooKeeper has expired the session")


def test_it_shows_partitions_in_a_lesson_about_partitions() -> None:
    lines = picture("unclean-election", 2)
    assert "  ledger-0        3      1  [3]  [2, 3]    leader is dead" in lines


def test_it_shows_consumers_and_no_brokers_in_a_lesson_about_groups() -> None:
    assert picture("consumer-rebalances", 3) == [
        "  Group    State   Generation",
        "  billing  Stable           2",
        "  Consumer     Process  Consumes",
        "  consumer-a0  running  t0-0, t1-0, t2-0",
        "  consumer-a1  dead     nothing",
        "  consumer-a2  running  t0-1, t1-1, t2-1",
    ]


@pytest.mark.parametrize(
    ("lesson", "page", "line"),
    [
        ("controller-election", 2, "  /controller_epoch  ?"),
        ("unclean-election", 4, "  clicks-0   ?           3  [2]  [2, 3]"),
        ("unclean-election", 5, "  clicks-0        2      3  ?    [2, 3]"),
        ("session-states", 2, "  broker-2  running  suspended  ?           -"),
        ("zombie-controller", 2, "  broker-3  frozen   ?          no          believes: controller, epoch 1"),
        ("elections-without-end", 2, "  /admin/preferred_replica_election  ?"),
        ("consumer-rebalances", 5, "  search   Stable  ?"),
    ],
)
def test_it_leaves_open_what_the_page_asks_about_it(lesson: str, page: int, line: str) -> None:
    assert line in picture(lesson, page)


@pytest.mark.parametrize("lesson", NAMES)
@pytest.mark.parametrize("width", [80, 50, 30])
def test_it_fits_the_terminal(lesson: str, width: int) -> None:
    """A table that is too wide becomes a list of its rows."""
    for page in range(len(played(lesson).scenes)):
        assert [line for line in picture(lesson, page + 1, width) if len(line) > width] == []


def test_on_a_narrow_terminal_a_table_becomes_a_list() -> None:
    lines = picture("zombie-controller", 2, width=50)
    assert lines[2:4] == ["  Brokers", "    broker-1: running; connected; registered;"]
    assert lines[-3:-1] == [
        "    broker-3: frozen; session ?; not registered;",
        "      believes: controller, epoch 1",
    ]
