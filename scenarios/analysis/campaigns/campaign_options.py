"""The enums and defaults of a campaign, for its commands and tables. Nothing else, so that it costs nothing to import."""

from enum import StrEnum


class Traces(StrEnum):
    """The runs whose events are kept."""

    NONE = "none"
    FAILING = "failing"  # runs with a failure that is no known bug
    ALL = "all"


class TrialOutcome(StrEnum):
    """How a trial ended, the worst first."""

    LOST = "lost"  # nothing is known of the run: it took too long, or drawing or judging it failed
    CRASHED = "crashed"  # the simulator failed
    ENDLESS = "endless"  # it was stopped because it would not end
    UNDECIDED = "undecided"  # a step could not be done
    VIOLATED = "violated"  # known bugs included
    HELD = "held"


DEFAULT_LIMIT_SECONDS = 120.0
"""The wall-clock limit of one run."""
DEFAULT_FOR = "1s"
"""A run counts as unavailable if some partition is not served for longer than this."""
