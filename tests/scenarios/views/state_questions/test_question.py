"""The grammar of questions about states: each documented form, and what is offered for one that is nearly right."""

import pytest

from kcsim.scenarios.cli.why import why
from kcsim.scenarios.views.state_questions.question import (
    StateForm,
    StateQuestionError,
    is_state_question,
    parse_question,
)
from kcsim.scenarios.views.trace.time_point import BadTimePointError
from kcsim.vocabulary import TopicPartition

SUBJECTS = {"PARTITION": "orders-0", "BROKER": "broker-2", "TOPIC": "orders", "CONSUMER": "c-1"}


def with_subjects(form: StateForm) -> str:
    return " ".join(SUBJECTS.get(word, word) for word in form.value.split())


@pytest.mark.parametrize("form", StateForm)
def test_each_form_is_read_with_and_without_a_time(form: StateForm) -> None:
    assert parse_question(with_subjects(form)).form is form
    assert parse_question(with_subjects(form)).at.is_the_end
    assert parse_question(f"why is {with_subjects(form)} at 6.4s?").at.t_ms == 6400


@pytest.mark.parametrize("form", [form for form in StateForm if not form.value.startswith("BROKER ")])
def test_each_form_is_in_the_help(form: StateForm) -> None:
    assert form.value in (why.__doc__ or "")


def test_subjects_are_read() -> None:
    question = parse_question("broker-2 not in isr of my-topic-12")
    assert (question.broker, question.partition) == (2, TopicPartition("my-topic", 12))
    assert parse_question("consumer c-1 owns nothing").consumer == "consumer-c-1"


def test_an_event_is_no_question_about_a_state() -> None:
    assert [is_state_question(text) for text in ("212", "last:ElectionWon", "orders-0 offline")] == [False, False, True]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("orders-0 ofline", "did you mean 'orders-0 offline'?"),
        ("broker-2 froze", "did you mean 'broker-2 frozen'?"),
        ("broker-2 not in irs of orders-0", "did you mean 'broker-2 not in isr of orders-0'?"),
        ("no controler at 3s", "did you mean 'no controller'?"),
        ("topic orders not deletd", "did you mean 'topic orders not deleted'?"),
        ("one two three four", "write one of: PARTITION offline; "),
    ],
)
def test_what_is_nearly_a_question_gets_the_nearest_one(text: str, hint: str) -> None:
    with pytest.raises(StateQuestionError) as error:
        parse_question(text)
    assert hint in str(error.value)


def test_a_time_that_is_none_is_an_error() -> None:
    with pytest.raises(BadTimePointError):
        parse_question("no controller at noon")
