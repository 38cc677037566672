"""A scenario stays the same from a file to a model and back to a file."""

from pathlib import Path

import pytest

from kcsim.scenarios.language.conditions_model import WaitFor
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import load_scenario, load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.value_types import duration_text, parse_duration
from kcsim.scenarios.language.yaml_text import WIDTH
from tests.scenarios.language.test_schema import EXPECTATIONS, STEPS, TOPICS
from tests.scenarios.scenario_files import WITH_WORKLOAD
from tests.scenarios.scenario_library import of_library
from tests.tiers import tiered


def again(scenario: Scenario) -> Scenario:
    return load_text(scenario.to_yaml(), "again.yaml").scenario


@pytest.mark.parametrize("name", tiered(library_names(), fast=10))
def test_the_library_says_the_same_when_it_is_written_again(name: str) -> None:
    scenario = of_library(name).scenario
    text = scenario.to_yaml()
    read_again = load_text(text, "again.yaml").scenario
    assert read_again == scenario
    assert read_again.to_yaml() == text
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("step", tiered(STEPS, fast=3))
def test_so_does_every_kind_of_step(step: str) -> None:
    scenario = load_text(WITH_WORKLOAD.replace("expect:", f"  - {step}\nexpect:"), "x.yaml").scenario
    assert again(scenario) == scenario


@pytest.mark.parametrize("expectation", EXPECTATIONS)
def test_so_does_every_kind_of_expectation(expectation: str) -> None:
    scenario = load_text(WITH_WORKLOAD.replace("  - controller: any\n", f"  - {expectation}\n"), "x.yaml").scenario
    assert again(scenario) == scenario


@pytest.mark.parametrize("topic", TOPICS)
def test_so_does_every_kind_of_topic(topic: str) -> None:
    scenario = load_text(WITH_WORKLOAD.replace("  topics:\n", f"  topics:\n    payments: {topic}\n"), "x.yaml").scenario
    assert again(scenario) == scenario


def test_what_is_as_it_would_be_anyway_is_not_written() -> None:
    text = load_text(WITH_WORKLOAD, "x.yaml").scenario.to_yaml()
    assert [
        word for word in ("zookeeper", "protections", "settings", "invariants", "if-possible", "times") if word in text
    ] == []


@pytest.mark.parametrize("part", ["afterwards: {}", "invariants: none", "invariants: {except: epochs-never-go-back}"])
def test_what_is_not_is_written(part: str) -> None:
    scenario = load_text(f"{WITH_WORKLOAD}{part}\n", "x.yaml").scenario
    assert again(scenario) == scenario
    assert part.partition(":")[0] in scenario.to_yaml()


AWKWARD = ["'true'", "'12'", "' spaces '", "'a: b'", "'#'", "'null'", '"tab\\tand\\nline"', "'{brace}'", "''", "'é'"]


@pytest.mark.parametrize("text", AWKWARD)
def test_text_stays_text_however_it_looks(text: str) -> None:
    step = f"  - zk-create: {{path: /x, data: {text}}}\n"
    scenario = load_text(WITH_WORKLOAD.replace("expect:", f"{step}expect:"), "x.yaml").scenario
    assert again(scenario) == scenario


@pytest.mark.parametrize("text", ["0s", "1ms", "1500ms", "2s", "90s", "1m", "1440m"])
def test_a_duration_is_written_in_a_unit_in_which_it_is_whole(text: str) -> None:
    assert duration_text(parse_duration(text)) == text


def test_a_long_description_is_read_as_one_line() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    text = WITH_WORKLOAD.replace("For a test.", words)
    scenario = load_text(text, "x.yaml").scenario
    assert max(map(len, scenario.to_yaml().splitlines())) <= WIDTH
    assert again(scenario).description == words


def test_files_can_be_written_and_read_as_any_other(tmp_path: Path) -> None:
    scenario = load_text(WITH_WORKLOAD, "x.yaml").scenario
    path = tmp_path / "written.yaml"
    path.write_text(scenario.to_yaml(), encoding="utf-8")
    loaded = load_scenario(path)
    assert (loaded.scenario, len(loaded.step_lines)) == (scenario, len(scenario.timetable))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [lines[line - 1].strip() for line in loaded.step_lines] == [
        "- start: all",
        "- wait: {controller: any, within: 10s}",
    ]


def test_a_condition_has_no_field_that_is_required_or_has_another_default_than_none(tmp_path: Path) -> None:
    """Fields that the file sets are distinguished from others by their default, which therefore must be None."""
    unlike = [n for n, f in WaitFor.model_fields.items() if n != "within" and (f.is_required() or f.default is not None)]
    assert unlike == []
