"""The words of a campaign that its commands take, and its tables have. Nothing else, so that it costs nothing to import."""

from enum import StrEnum


class View(StrEnum):
    """Who says that nobody serves a partition (outages.py)."""

    CLIENTS = "clients"
    ZOOKEEPER = "zookeeper"


class Traces(StrEnum):
    """Of which runs the events are kept."""

    NONE = "none"
    FAILING = "failing"  # with something wrong that is no known fault
    ALL = "all"


class TrialOutcome(StrEnum):
    """How a trial ended, the worst first."""

    LOST = "lost"  # nothing is known of the run: it took too long, or what it was drawn or judged by has failed
    CRASHED = "crashed"  # the simulator has failed
    ENDLESS = "endless"  # it was ended because it would not end
    UNDECIDED = "undecided"  # a step could not be done
    VIOLATED = "violated"  # known faults included
    HELD = "held"


DEFAULT_LIMIT_SECONDS = 120.0
"""By the wall clock, for one run."""
DEFAULT_FOR = "1s"
"""How long nobody has to serve a partition for a run to count as unavailable."""
