"""What every step of a timetable has: when it is done and how often, and a name for whom it was done to."""

from typing import Annotated

from pydantic import Field, model_validator

from kcsim.scenarios.language.claims import WaitFor
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.words import Alias, Duration, wrong

TIMING = ("at", "after", "when", "times", "every", "if-possible", "as")
"""Keys that go with any verb."""


class Step(Model):
    """Something done, as soon as the step before it is done unless `at`, `after` or `when` says otherwise."""

    at: Duration | None = Field(None, description="Not before so long after the timetable began.")
    after: Duration | None = Field(None, description="So long after the step before was done.")
    when: WaitFor | None = Field(
        None, description="Not now, but as soon as this is true. The timetable goes on meanwhile; it must come true."
    )
    times: Annotated[int, Field(ge=1, le=10_000)] = Field(1, description="Do it so often.")
    every: Duration | None = Field(None, description="From one time to the next; at once if not given.")
    if_possible: bool = Field(
        False, description="Pass it over where it cannot be done, instead of leaving the run undecided."
    )

    @model_validator(mode="after")
    def _one_time(self) -> "Step":
        if self.at is not None and self.after is not None:
            raise wrong("a step is timed by at or by after, not by both", "after")
        if self.every is not None and self.times == 1:
            raise wrong("every goes with times: how often?", "every")
        return self


class NamingStep(Step):
    """A step done to one broker or server, which can be given a name for later."""

    as_: Alias | None = Field(None, description="Call whoever it was by this name from now on.")
