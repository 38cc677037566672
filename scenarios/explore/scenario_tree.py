"""Load a scenario tree as its file would be loaded, without writing it as text."""

from pydantic import ValidationError

from kcsim.scenarios.explore.generator import Tree
from kcsim.scenarios.language.known_names import alias_problems, collect_known_names
from kcsim.scenarios.language.scenario_file import LoadedScenario, ScenarioFileError
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.yaml_reader import FileProblem

TIMETABLE = "timetable"
"""Stands for the file's name: the line of a step is its number in the timetable, from 1."""


def loaded(tree: Tree) -> LoadedScenario:
    """Return the loaded scenario. Raises: ScenarioFileError when the tree is not a valid scenario."""
    problems: list[str] = []
    try:
        scenario = Scenario.model_validate(
            tree, context=collect_known_names(tree, lambda _mapping, _key, message: problems.append(message))
        )
    except ValidationError as error:
        raise ScenarioFileError([FileProblem(TIMETABLE, None, str(error))]) from None
    problems += [message for _, _, message in alias_problems(tree[TIMETABLE])]
    if problems:
        raise ScenarioFileError([FileProblem(TIMETABLE, None, message) for message in problems])
    return LoadedScenario(TIMETABLE, scenario, tuple(range(1, len(scenario.timetable) + 1)))
