"""The scenario language and the event schema in the terminal: every word is explained, in lines that fit."""

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.scenario_words import all_words, explained
from kcsim.scenarios.language.conditions_model import PARTS
from kcsim.scenarios.language.language_reference import named_types, reachable
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.steps import VERBS


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_every_verb_and_every_condition_is_listed() -> None:
    printed = kcsim("scenario", "words").stdout
    lines = {line.strip() for line in printed.splitlines()}
    assert [word for word in (*VERBS, *map(hyphenated, PARTS), "as-recorded") if word not in lines] == []


def test_every_word_that_is_listed_or_named_is_explained() -> None:
    words = [word for entries in all_words().values() for word, _ in entries]
    named = [*named_types(), *(model.__name__ for model in reachable(Scenario))]
    assert [word for word in (*words, *named) if not explained(word)] == []


def test_a_step_is_shown_with_its_keys_their_values_and_their_types() -> None:
    printed = kcsim("scenario", "words", "pause").stdout
    assert "pause: Freeze brokers, as a long garbage collection does." in printed
    assert "  pause: BrokerNames, required" in printed
    assert "  for: Duration\n    How long they stay frozen" in printed
    assert "  Duration\n    A time with its unit: 500ms" in printed


def test_a_kind_of_event_is_shown_with_its_columns_and_their_values() -> None:
    printed = kcsim("events", "ProcessState").stdout
    assert printed.startswith("ProcessState: The process of a broker or client changed to `state`")
    assert "One of: running, dead, stopped, paused." in " ".join(printed.split())


def test_every_kind_of_event_is_listed() -> None:
    lines = {line.strip() for line in kcsim("events").stdout.splitlines()}
    assert {kind.value for kind in EventKind} <= lines


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("scenario", "words", "in-sinc"), "'in-sinc' is no word of the scenario language; did you mean in-sync?"),
        (("scenario", "words", "xyzzy"), "'xyzzy' is no word of the scenario language; `kcsim scenario words` lists them"),
        (("events", "Leader"), "'Leader' is no kind of event; did you mean LeaderElection?"),
        (("events", "Xyzzy"), "'Xyzzy' is no kind of event; `kcsim events` lists them"),
    ],
)
def test_another_word_is_refused_with_the_nearest_one(command: tuple[str, ...], message: str) -> None:
    result = kcsim(*command)
    assert (result.exit_code, message in result.stderr) == (64, True), result.stderr


@pytest.mark.parametrize("columns", [50, 80])
def test_the_text_is_wrapped_at_the_terminals_width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    printed = kcsim("scenario", "words").stdout + kcsim("events").stdout + kcsim("scenario", "words", "kill").stdout
    assert max(map(len, printed.splitlines())) <= columns
