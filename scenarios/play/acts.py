"""What was done to a cluster that is played with: steps of the scenario language, each with its time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML

from kcsim.scenarios.engine.single_steps import DECLARATIONS, SingleSteps, with_declarations
from kcsim.scenarios.engine.step_runner import FAILURES
from kcsim.scenarios.language.scenario_file import ScenarioFileError
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.value_types import duration_text, parse_duration


@dataclass(frozen=True, slots=True)
class Act:
    """One act.

    Attributes:
        at_ms: the time of the run at which it was done: after everything that happened until then.
        step: the step's text, as in a timetable without its hyphen: `kill: controller`.
        declares: topics, producers and groups that the step is the first to name, as a scenario file declares them.
    """

    at_ms: int
    step: str
    declares: Mapping[str, Any] = field(default_factory=dict)


def acts_until(acts: Sequence[Act], until_ms: int) -> list[Act]:
    """Return the acts that were done before a moment or at it."""
    return [act for act in acts if act.at_ms <= until_ms]


def step_at(act: Act) -> dict[str, Any]:
    """Return an act that could be done as a step of a timetable, with its time: `after` counts from that of the act."""
    step: dict[str, Any] = YAML(typ="safe").load(act.step)
    delay = step.pop("after", None)
    return {**step, "at": duration_text(act.at_ms + (0 if delay is None else parse_duration(delay)))}


def as_tree(scenario: Scenario, done: Sequence[Act]) -> dict[str, Any]:
    """Return a cluster and all that was done to it as a scenario file has them.

    Args:
        scenario: declares the cluster.
        done: without the acts that were refused.
    """
    whole = scenario.model_dump(by_alias=True, exclude_unset=True)
    declared = {key: whole[key] for key in DECLARATIONS if key in whole}
    for act in done:
        declared = with_declarations(declared, act.declares)
    timetable = sorted(map(step_at, done), key=lambda step: parse_duration(step["at"]))
    return {**declared, "timetable": timetable}


async def do_act(steps: SingleSteps, act: Act) -> str | None:
    """Do an act now. Returns: why it could not be done; None if it was done."""
    try:
        if act.declares:
            steps.declare(act.declares)
        await steps.do([act.step])
    except ScenarioFileError as error:
        return "; ".join(problem.message for problem in error.problems)
    except FAILURES as error:
        return str(error)
    return None
