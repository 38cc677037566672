"""kcsim scenario: a new user finds a scenario, creates one, and learns whether it is well formed."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.engine.python_api import run
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.new_scenario import FIRST, BadNameError, text_for
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario, load_text
from kcsim.scenarios.language.schema import json_schema
from tests.scenarios.language.json_schema import accepts
from tests.scenarios.scenario_library import of_library, small_library
from tests.tiers import tiered


def kcsim(*args: str) -> Result:
    return CliRunner().invoke(app, ["scenario", *args])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty directory and return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- new -------------------------------------------------------------------------------------------------------------------


def test_a_new_scenario_is_named_and_runs_as_it_is() -> None:
    result = kcsim("new", "my-failover")
    assert (result.exit_code, result.stdout) == (
        0,
        "my-failover.yaml: written. Next: kcsim run my-failover.yaml --zookeeper simulated\n",
    )
    scenario = load_scenario(Path("my-failover.yaml")).scenario
    assert scenario.name == "my-failover"
    ran = run(scenario)
    assert ran.held, str(ran)


@pytest.mark.parametrize("seed", tiered(range(5), fast=5))
def test_the_first_scenario_holds_whatever_the_seed(seed: int) -> None:
    ran = run(load_scenario(FIRST).scenario, seed=seed)
    assert ran.held, str(ran)


def test_the_first_scenario_explains_itself() -> None:
    text = FIRST.read_text(encoding="utf-8")
    assert text.count("#") >= 15
    assert max(map(len, text.splitlines())) <= 125


@pytest.mark.parametrize("name", ["a", "a-name-that-is-much-longer-than-file"])
def test_the_commands_for_a_new_scenario_stand_in_one_column_and_name_its_file(name: str) -> None:
    head = [line for line in text_for(name).splitlines()[:5] if "kcsim " in line]
    assert [line.index("kcsim ") for line in head] == [head[0].index("kcsim ")] * 3
    assert [line.partition("kcsim ")[2].split(" --")[0] for line in head] == [
        *(f"scenario check {name}.yaml", f"run {name}.yaml", f"run {name}.yaml")
    ]


def test_nothing_is_overwritten() -> None:
    Path("mine.yaml").write_text("mine")
    result = kcsim("new", "mine")
    assert (result.exit_code, result.stderr) == (64, "mine.yaml: is there already; name another with -o\n")
    assert Path("mine.yaml").read_text() == "mine"


def test_it_can_be_written_elsewhere() -> None:
    Path("sub").mkdir()
    assert kcsim("new", "mine", "-o", "sub/other.yaml").exit_code == 0
    assert load_scenario(Path("sub/other.yaml")).scenario.name == "mine"
    result = kcsim("new", "mine", "-o", "nowhere/other.yaml")
    assert (result.exit_code, result.stderr) == (64, "nowhere/other.yaml: cannot be written: No such file or directory\n")


@pytest.mark.parametrize("name", tiered(library_names(), fast=10))
def test_a_copy_of_another_differs_by_its_name_only(name: str) -> None:
    copied = load_text(text_for("mine", name), "mine.yaml").scenario
    assert copied.name == "mine"
    assert copied.model_copy(update={"name": name}) == of_library(name).scenario


def test_what_there_is_to_copy_is_listed() -> None:
    result = kcsim("new", "mine", "--from", "controler-race")
    assert (result.exit_code, result.stderr.endswith("did you mean controller-race?\n")) == (64, True)
    assert not Path("mine.yaml").exists()


@pytest.mark.parametrize(
    ("name", "near"), [("My Failover", "my-failover"), ("a_b", "a-b"), ("Ärger", "rger"), ("x.yaml", "x-yaml")]
)
def test_a_name_that_cannot_be_one_is_refused_with_the_nearest_that_can(name: str, near: str) -> None:
    with pytest.raises(BadNameError, match=f"did you mean {near}\\?"):
        text_for(name)
    assert kcsim("new", name).exit_code == 64


def test_for_an_editor_the_schema_is_written_beside_it() -> None:
    assert kcsim("new", "mine", "--editor").exit_code == 0
    first, *_ = Path("mine.yaml").read_text(encoding="utf-8").splitlines()
    assert first == "# yaml-language-server: $schema=kcsim-scenario.schema.json"
    schema = json.loads(Path("kcsim-scenario.schema.json").read_text(encoding="utf-8"))
    assert schema == json_schema()
    assert accepts(schema, YAML(typ="safe").load(Path("mine.yaml").read_text(encoding="utf-8")))


# --- list, check -----------------------------------------------------------------------------------------------------------


def test_the_library_can_be_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_library(tmp_path, monkeypatch, "consumer-crash-range", "consumer-crash-sticky", "controller-race")
    found = [entry["name"] for entry in json.loads(kcsim("list", "Consumer", "sticky", "--output", "json").stdout)]
    assert found == ["consumer-crash-sticky"]
    result = kcsim("list", "bicycle")
    assert (result.exit_code, result.stderr) == (64, "no scenario speaks of bicycle; `kcsim scenario list` has all\n")


def test_a_check_says_what_there_is_to_be_judged() -> None:
    kcsim("new", "mine")
    result = kcsim("check", "mine.yaml")
    steps, expectations = result.stdout.partition(": ok, ")[2].split(", ")[:2]
    assert (steps, expectations) == ("10 steps", "4 expectations")
    assert result.stdout.endswith(" invariants\n")


FALSE_GREEN = """\
name: false-green
description: The first scenario that everybody writes.
cluster: {brokers: 3}
timetable:
  - start: all
  - wait: {controller: any}
  - kill: controller
expect:
  - {claim: A broker runs., running: broker-1}
"""


def test_a_check_warns_of_what_looks_like_a_mistake_unless_it_is_static(elsewhere: Path) -> None:
    (elsewhere / "mine.yaml").write_text(FALSE_GREEN, encoding="utf-8")
    result = kcsim("check", "mine.yaml")
    assert result.exit_code == 0
    assert result.stderr.startswith("mine.yaml:7: warning: kill: the expectations are judged at the moment of this fault")
    assert kcsim("check", "--static", "mine.yaml").stderr == ""


def test_a_scenario_that_holds_without_its_faults_is_found_out(elsewhere: Path) -> None:
    text = FALSE_GREEN.replace("running: broker-1", "controller: any")
    (elsewhere / "mine.yaml").write_text(text, encoding="utf-8")
    result = kcsim("check", "--without-faults", "mine.yaml")
    assert result.exit_code == 3
    claim = "without kill in line 7: all 1 expectations hold, so none of them depends on a fault\n"
    assert result.stdout.endswith(claim)
    result = kcsim("check", "--static", "--without-faults", "controller-failover")
    assert result.exit_code == 0
    assert "expectations do not hold; these hold all the same: Nothing that it wrote after its freeze" in result.stdout


def test_a_list_says_of_each_scenario_what_its_file_says() -> None:
    """The list reads only the beginning of each file."""
    listed = json.loads(kcsim("list", "--output", "json").stdout)
    loaded = [load_scenario(find_scenario(name)).scenario for name in library_names()]
    assert listed == [
        {
            "name": scenario.name,
            "description": scenario.description,
            "brokers": len(scenario.cluster.members()),
            "zookeepers": scenario.zookeeper.members,
        }
        for scenario in loaded
    ]
