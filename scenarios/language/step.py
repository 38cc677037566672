"""What every step of a timetable has: when it is done, and a name for whom it was done to."""

from pydantic import Field, model_validator

from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.words import Alias, Duration, wrong


class Step(Model):
    """Something done, as soon as the step before it is done unless `at` or `after` says otherwise."""

    at: Duration | None = Field(None, description="Not before so long after the timetable began.")
    after: Duration | None = Field(None, description="So long after the step before was done.")

    @model_validator(mode="after")
    def _one_time(self) -> "Step":
        if self.at is not None and self.after is not None:
            raise wrong("a step is timed by at or by after, not by both", "after")
        return self


class NamingStep(Step):
    """A step done to one broker or server, which can be given a name for later."""

    as_: Alias | None = Field(None, description="Call whoever it was by this name from now on.")
