"""The end of a command: its exit status, and the one-line reason."""

import sys
from enum import IntEnum, StrEnum
from typing import NoReturn


class ExitStatus(IntEnum):
    """The exit status of a command, with its meaning."""

    meaning: str

    def __new__(cls, value: int, meaning: str = "") -> "ExitStatus":
        status = int.__new__(cls, value)
        status._value_ = value
        status.meaning = meaning
        return status

    HELD = 0, "All expectations held, or the command did what was requested."
    VIOLATED = 1, "An expectation or an invariant was violated; nothing else."
    UNDECIDED = 2, "It could not be decided, or not be done: something necessary is missing or failed."
    NEGATIVE = 3, "The answer is no: what was compared differs, or a state does not hold."
    REFUSED = 4, "The request was refused, with Kafka's message."
    DRY_RUN = 5, "A dry run: nothing was written. `--execute` does it."
    USAGE = 64, "The command line or a file is invalid. Nothing was started."
    INTERRUPTED = 130, "The command was interrupted: Ctrl-C, SIGTERM or SIGHUP."


INTERRUPTED_LINE = "kcsim: interrupted"


class OutputFormat(StrEnum):
    """--output: for people or for programs."""

    TABLE = "table"
    JSON = "json"


class CommandExit(Exception):
    """The end of a command, with its exit status. The command-line library passes this exception on unchanged."""

    def __init__(self, status: int) -> None:
        super().__init__(f"exit status {status}")
        self.status = status


def fail(message: str, status: ExitStatus) -> NoReturn:
    """Print the reason on stderr and end the command."""
    print(f"kcsim: {message}" if status is not ExitStatus.USAGE else message, file=sys.stderr)
    raise CommandExit(status)
