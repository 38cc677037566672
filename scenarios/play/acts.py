"""What was done to a cluster that is played with: steps of the scenario language, each with its time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML

from kcsim.scenarios.language.value_types import duration_text


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
    """Return an act that could be done as a step of a timetable, with its time."""
    step: dict[str, Any] = YAML(typ="safe").load(act.step)
    return {**step, "at": duration_text(act.at_ms)}
