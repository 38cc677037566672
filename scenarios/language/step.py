"""The fields that all steps of a timetable share: when and how often a step is executed, and a name for its target."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Unpack

from pydantic import Field, model_validator

from kcsim.scenarios.language.conditions_model import WaitFor
from kcsim.scenarios.language.model import Model, hyphenated
from kcsim.scenarios.language.python_keywords import Names, NamingStepKeywords, ScenarioPart, given, hyphenate_keys
from kcsim.scenarios.language.value_types import Alias, Duration, validation_error

TIMING = ("at", "after", "when", "times", "every", "if-possible", "as")
"""Keys that can be combined with any verb."""


class ScenarioStep(Model):
    """Something done, as soon as the step before it is done unless `at`, `after` or `when` says otherwise.

    Each step has a class method `part`, which returns the step as it would be written in a file: the function of the step's
    name in engine/python_api.py.
    """

    other_words: ClassVar[tuple[str, ...]] = ()
    """Verbs of other tools that mean this step; the message about such a verb names this step's verb."""

    key_hints: ClassVar[Mapping[str, str]] = {
        "within": "; it bounds a condition: write when: {controller: any, within: 20s}",
        "for": "; write a step that undoes this one, with `after: 10s`",
    }

    at: Duration | None = Field(
        None, description="The earliest time of the step, counted from the beginning of the timetable."
    )
    after: Duration | None = Field(None, description="The time to wait after the previous step is done.")
    when: WaitFor | None = Field(
        None,
        description="Do the step as soon as this condition is true. The timetable goes on meanwhile; it must become true.",
    )
    times: Annotated[int, Field(ge=1, le=10_000)] = Field(1, description="How many times to do the step.")
    every: Duration | None = Field(None, description="The interval between repetitions; none if not given.")
    if_possible: bool = Field(
        False, description="Skip the step where it cannot be done, instead of leaving the run undecided."
    )

    @classmethod
    def verb(cls) -> str:
        """Return the key that identifies the step in a file: the first field that the class itself declares."""
        return hyphenated(next(name for name in cls.__annotations__ if name in cls.model_fields))

    @property
    def target(self) -> Any:
        """The value of the verb's key: for most steps, the names of what the step is done to."""
        return getattr(self, next(name for name in type(self).model_fields if hyphenated(name) == self.verb()))

    @classmethod
    def _part(cls, target: Any, timing: Mapping[str, Any], **options: Any) -> ScenarioPart:
        return {cls.verb(): target, **given(**options), **hyphenate_keys(timing)}

    @model_validator(mode="after")
    def _one_time(self) -> "ScenarioStep":
        if self.at is not None and self.after is not None:
            raise validation_error("a step is timed by at or by after, not by both", "after")
        if self.every is not None and self.times == 1:
            raise validation_error("every goes with times: how often?", "every")
        return self


class NamingStep(ScenarioStep):
    """A step done to one broker or server, which can be given a name for later."""

    as_: Alias | None = Field(None, description="The name by which later steps refer to the node of this step.")


class PlainBrokersStep(NamingStep):
    """A step done to brokers, without options of its own."""

    @classmethod
    def part(cls, who: Names, **timing: Unpack[NamingStepKeywords]) -> ScenarioPart:
        return cls._part(who, timing)
