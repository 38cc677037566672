"""What was done to a cluster that is played with: steps of the scenario language, each with its time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from kcsim.scenarios.language.value_types import duration_text


@dataclass(frozen=True, slots=True)
class Act:
    """One act.

    Attributes:
        at_ms: the time of the run at which it was done: after everything that happened until then.
        step: the step's text, as in a timetable without its hyphen: `kill: controller`.
    """

    at_ms: int
    step: str


def acts_until(acts: Sequence[Act], until_ms: int) -> list[Act]:
    """Return the acts that were done before a moment or at it."""
    return [act for act in acts if act.at_ms <= until_ms]


def step_at(act: Act) -> dict[str, Any]:
    """Return an act that could be done as a step of a timetable, with its time."""
    step: dict[str, Any] = YAML(typ="safe").load(act.step)
    return {**step, "at": duration_text(act.at_ms)}
