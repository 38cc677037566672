"""A scenario tree as the model that is run: what its file would load as, without the way through text."""

from pydantic import ValidationError

from kcsim.scenarios.exploring.generator import Tree
from kcsim.scenarios.language.model_file import Problem
from kcsim.scenarios.language.names_in_file import misnamed, names_known
from kcsim.scenarios.language.scenario_file import LoadedScenario, ScenarioFileError
from kcsim.scenarios.language.schema import Scenario

TIMETABLE = "timetable"
"""Stands for the file's name: a step that cannot be done is told by its place in the timetable, from 1."""


def loaded(tree: Tree) -> LoadedScenario:
    """The scenario as it is run. Raises: ScenarioFileError when the tree makes no sense."""
    problems: list[str] = []
    try:
        scenario = Scenario.model_validate(
            tree, context=names_known(tree, lambda _mapping, _key, told: problems.append(told))
        )
    except ValidationError as error:
        raise ScenarioFileError([Problem(TIMETABLE, None, str(error))]) from None
    problems += [told for _, _, told in misnamed(tree[TIMETABLE])]
    if problems:
        raise ScenarioFileError([Problem(TIMETABLE, None, told) for told in problems])
    return LoadedScenario(TIMETABLE, scenario, tuple(range(1, len(scenario.timetable) + 1)))
