"""The answers that a reader may type, and their meaning."""

import pytest

from kcsim.scenarios.lessons.answers import AnswerKind, parse_answer

BROKERS = ("broker-1", "broker-2", "broker-3", "nobody")
ISRS = ("[1, 2, 3]", "[1, 3]", "[3]", "[]")
ORDER = ("elect → shrink", "shrink → elect")


@pytest.mark.parametrize(
    ("typed", "kind", "choices", "meant"),
    [
        ("b", AnswerKind.BROKER, BROKERS, "broker-2"),
        ("B)", AnswerKind.BROKER, BROKERS, "broker-2"),
        ("2", AnswerKind.BROKER, BROKERS, "broker-2"),
        ("broker 2", AnswerKind.BROKER, BROKERS, "broker-2"),
        ("b2", AnswerKind.BROKER, BROKERS, "broker-2"),
        ("none", AnswerKind.BROKER, BROKERS, "nobody"),
        ("7", AnswerKind.BROKER, BROKERS, "broker-7"),
        ("1,3", AnswerKind.BROKERS, ISRS, "[1, 3]"),
        ("3 1", AnswerKind.BROKERS, ISRS, "[1, 3]"),
        ("[3, 1]", AnswerKind.BROKERS, ISRS, "[1, 3]"),
        ("none", AnswerKind.BROKERS, ISRS, "[]"),
        ("broker-3, broker-1", AnswerKind.BROKERS, ISRS, "[1, 3]"),
        ("3,1", AnswerKind.REPLICAS, ("[1, 3]", "[3, 1]"), "[3, 1]"),
        ("2", AnswerKind.NUMBER, ("1", "2"), "2"),
        ("+2", AnswerKind.NUMBER, ("1", "2"), "2"),
        ("y", AnswerKind.YES_NO, ("yes", "no"), "yes"),
        ("b", AnswerKind.YES_NO, ("yes", "no"), "no"),
        ("6", AnswerKind.SECONDS, ("0 s", "6 s"), "6 s"),
        ("6 seconds", AnswerKind.SECONDS, ("0 s", "6 s"), "6 s"),
        ("shrink, elect", AnswerKind.ORDER, ORDER, "shrink → elect"),
        ("susp", AnswerKind.WORD, ("connected", "suspended"), "suspended"),
    ],
)
def test_a_letter_or_the_answer_itself_as_people_write_it(
    typed: str, kind: AnswerKind, choices: tuple[str, ...], meant: str
) -> None:
    assert parse_answer(typed, kind, choices) == meant


@pytest.mark.parametrize(
    ("typed", "kind", "choices"),
    [
        ("z", AnswerKind.BROKER, BROKERS),
        ("who knows", AnswerKind.BROKER, BROKERS),
        ("many", AnswerKind.NUMBER, ("1", "2")),
        ("perhaps", AnswerKind.YES_NO, ("yes", "no")),
        ("one, two", AnswerKind.BROKERS, ISRS),
        ("soon", AnswerKind.SECONDS, ("0 s", "6 s")),
        ("elect", AnswerKind.ORDER, ORDER),
        ("c", AnswerKind.WORD, ("connected", "closed")),  # "c" is the beginning of both choices
    ],
)
def test_what_is_no_answer_is_not_taken_for_one(typed: str, kind: AnswerKind, choices: tuple[str, ...]) -> None:
    assert parse_answer(typed, kind, choices) is None


def test_a_letter_means_the_choice_beside_it_even_where_numbers_are_asked_for() -> None:
    assert parse_answer("a", AnswerKind.NUMBER, ("3", "4")) == "3"
