"""Each query of the vocabulary, asked of one run, and the error for a run that does not answer it."""

import pytest
from pydantic import TypeAdapter

from kcsim.scenarios.language.value_types import KnownNames
from kcsim.scenarios.lessons.answering import NoAnswerError, answer
from kcsim.scenarios.lessons.answers import LessonAnswer
from kcsim.scenarios.lessons.choices import choices
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.lessons.queries import AnyQuery, Query
from tests.scenarios.lessons.lesson_fixtures import played

QUERY: TypeAdapter[Query] = TypeAdapter(AnyQuery)
ANY_NAME = KnownNames(aliases=None, consumers=None, groups=None)

DIED_AND_WON = {"died": {"kind": "ProcessState", "state": "dead"}, "won": {"kind": "ElectionWon"}}


def query_of(value: object) -> Query:
    """Return a query written as in a lesson; its names are not looked up in a scenario here."""
    return QUERY.validate_python(value, context=ANY_NAME)


def asked(run: LessonRun, query: object, first: int = 0, asked_at: int = 0) -> LessonAnswer:
    """Return the answer to a query about the run from the event `first` on, asked at the event `asked_at`."""
    return answer(run, query_of(query), asked_at, first, len(run.events) - 1)


@pytest.mark.parametrize(
    ("lesson", "query", "right"),
    [
        ("leaders-and-isr", "controller", "broker-1"),
        ("leaders-and-isr", "controller-epoch", "1"),
        ("leaders-and-isr", "registered", "[1, 2, 3, 4]"),
        ("leaders-and-isr", "offline-partitions", "0"),
        ("leaders-and-isr", "under-replicated", "0"),
        ("leaders-and-isr", "leader of orders-0", "broker-2"),
        ("leaders-and-isr", "leader-epoch of orders-0", "3"),
        ("leaders-and-isr", "isr of orders-0", "[2, 3, 4]"),
        ("leaders-and-isr", "stored-isr of orders-0", "[4, 3, 2]"),
        ("leaders-and-isr", "replicas of orders-0", "[2, 3, 4]"),
        ("leaders-and-isr", "preferred of orders-0", "broker-2"),
        ("leaders-and-isr", "name of old-leader", "broker-2"),
        ("leaders-and-isr", "process of old-leader", "running"),
        ("leaders-and-isr", "existence of /brokers/ids/2", "yes"),
        ("leaders-and-isr", "existence of /brokers/ids/9", "no"),
        ("leaders-and-isr", "data of /controller_epoch", "1"),
        ("leaders-and-isr", "version of /controller_epoch", "1"),
        ("leaders-and-isr", "children of /brokers/ids", "4"),
        ("session-states", "session of broker-2", "connected"),
        ("consumer-rebalances", "owner of t1-1 in search", "consumer-b0"),
        ("consumer-rebalances", "owner of t1-1 in billing", "consumer-a2"),
        ("consumer-rebalances", "owner of t1-1", "consumer-a2, consumer-b0"),
        ("consumer-rebalances", "owned of a2", "t0-1, t1-1, t2-1"),
        ("consumer-rebalances", "generation of search", "3"),
        ("consumer-rebalances", "group-state of search", "Stable"),
        ("leaders-and-isr", {"count": {"kind": "ProcessState", "state": "dead"}}, "2"),
        ("leaders-and-isr", {"happened": {"kind": "ControllerResigned"}}, "no"),
        ("leaders-and-isr", {"value": "leader", "of": {"kind": "LeaderElection"}}, "broker-2"),
        ("leaders-and-isr", {"value": "rule", "of": {"kind": "LeaderElection"}}, "NewPartition"),
        (
            "leaders-and-isr",
            {"first": {"died": {"kind": "ProcessState", "state": "dead"}, "won": {"kind": "ElectionWon"}}},
            "won",
        ),
        (
            "leaders-and-isr",
            {"order": {"died": {"kind": "ProcessState", "state": "dead"}, "won": {"kind": "ElectionWon"}}},
            "won → died",
        ),
        ("zombie-controller", {"write": {"kind": "ZkWrite", "op": "multi", "path": "/controller"}}, "applied"),
        ("zombie-controller", {"write": {"kind": "ZkWrite", "node": "first", "op": "delete"}}, "refused"),
    ],
)
def test_the_run_answers(lesson: str, query: object, right: str) -> None:
    assert asked(played(lesson).run, query).text == right


def test_a_question_looks_at_its_own_stretch_of_the_run() -> None:
    run = played("leaders-and-isr").run
    deaths = [event.seq for event in run.events if event.kind == "ProcessState" and event.state == "dead"]
    query = {"count": {"kind": "ProcessState", "state": "dead"}}
    assert asked(run, query, first=deaths[0] + 1).text == "1"


def test_a_rise_is_from_when_the_question_was_asked() -> None:
    run = played("leaders-and-isr").run
    returned = next(e.seq for e in run.events if e.kind == "IsrExpanded")
    assert asked(run, {"rise": "leader-epoch of orders-0"}, asked_at=returned).text == "2"


def test_the_former_leader_leads_until_the_election_is_written_down() -> None:
    run = played("leaders-and-isr").run
    second = [event.seq for event in run.events if event.kind == "LeaderElection"][1]
    written = next(e.seq for e in run.events[second:] if e.kind == "ZnodeChanged" and (e.path or "").endswith("/state"))
    leader = query_of("leader of orders-0")
    assert [answer(run, leader, 0, 0, seq).text for seq in (second, written)] == ["broker-2", "broker-3"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"value": "leader", "of": {"kind": "LogDirFailed"}}, "there is no LogDirFailed from #0"),
        ({"value": "error", "of": {"kind": "RunStarted"}}, "#0, RunStarted, has nothing in its column error"),
        ({"write": {"kind": "ElectionWon"}}, "is no ZkWrite but ElectionWon"),
        ({"first": {"x": {"kind": "LogDirFailed"}, "y": {"kind": "IsrShrunk"}}}, "none of these happens"),
        ({"order": {"x": {"kind": "LogDirFailed"}, "y": {"kind": "ElectionWon"}}}, "there is no x"),
        ({"rise": "leader-epoch of orders-0"}, "leader-epoch of orders-0 was none and is 3"),
    ],
)
def test_a_run_that_has_no_answer_says_what_it_lacks(query: object, message: str) -> None:
    with pytest.raises(NoAnswerError, match=message.replace("(", r"\(")):
        asked(played("leaders-and-isr").run, query)


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ("leader of orders-0", ("broker-2", "broker-3", "broker-4", "nobody")),
        ("controller", ("broker-1", "broker-2", "broker-3", "broker-4", "nobody")),
        ("isr of orders-0", ("[2, 3, 4]", "[2, 3]", "[2, 4]", "[3, 4]", "[2]")),
        ({"happened": {"kind": "ElectionWon"}}, ("yes", "no")),
        ({"count": {"kind": "ElectionWon"}}, ("0", "1", "2", "3")),
        ("process of broker-2", ("running", "paused", "stopped", "dead")),
        (
            {"value": "rule", "of": {"kind": "LeaderElection"}},
            ("AliveAndInIsr", "NewPartition", "PreferredLeader"),
        ),
    ],
)
def test_choices_are_what_the_run_makes_plausible(query: object, offered: tuple[str, ...]) -> None:
    run = played("leaders-and-isr").run
    end = len(run.events) - 1
    asked_for = query_of(query)
    assert choices(run, asked_for, answer(run, asked_for, end, 0, end), end, None, "seed") == offered


def test_where_the_right_number_stands_depends_on_the_question_alone() -> None:
    run = played("leader-epochs").run
    epoch = query_of("leader-epoch of orders-0")
    end = len(run.events) - 1
    right = answer(run, epoch, end, 0, end)
    offered = {seed: choices(run, epoch, right, end, None, seed) for seed in "abcdefgh"}
    assert offered == {seed: choices(run, epoch, right, end, None, seed) for seed in "abcdefgh"}
    assert len({numbers.index(right.text) for numbers in offered.values()}) > 1


def test_the_choices_of_an_author_have_the_right_one_added_if_it_lacks() -> None:
    run = played("leaders-and-isr").run
    leader = query_of("leader of orders-0")
    right = answer(run, leader, 0, 0, len(run.events) - 1)
    assert choices(run, leader, right, 0, ["broker-9"], "") == ("broker-9", "broker-2")
    assert choices(run, leader, right, 0, ["broker-2", "broker-9"], "") == ("broker-2", "broker-9")
