"""Errors shared by every layer: whether a failed request took effect, the end of a killed task, and expired waits."""

from enum import Enum


class Outcome(Enum):
    """Whether a failed request took effect."""

    NOT_APPLIED = "not applied"
    UNKNOWN = "unknown"


class Killed(BaseException):
    """The task was stopped: its node was killed, or the code that spawned the task killed it.

    Killed is not a subclass of Exception, on every runtime. It is raised at the await where the task stands, and by every
    port of a killed node, so that no `finally` has an effect outside the process.
    """


class TimedOutError(Exception):
    """A bounded wait timed out. The message names the awaited condition and the last state seen."""
