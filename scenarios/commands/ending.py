"""How a command ends: exit statuses, and the one line that says why."""

import sys
from enum import IntEnum, StrEnum
from typing import NoReturn


class ExitStatus(IntEnum):
    """What the shell gets to know."""

    HELD = 0  # all expectations held, or the command did what was asked
    VIOLATED = 1  # an expectation was violated; of `zk diff`: there are differences
    UNDECIDED = 2  # something that was needed is missing or failed
    USAGE = 64  # the command or a file makes no sense; nothing was started
    INTERRUPTED = 130  # Ctrl-C


class Output(StrEnum):
    """--output: for people, or for programs."""

    TABLE = "table"
    JSON = "json"


class Finished(Exception):
    """A command has come to its end. Carries the exit status; passes the command-line library untouched."""

    def __init__(self, status: int) -> None:
        super().__init__(f"exit status {status}")
        self.status = status


def give_up(message: str, status: ExitStatus) -> NoReturn:
    """Say why on stderr, and end."""
    print(f"kcsim: {message}" if status is not ExitStatus.USAGE else message, file=sys.stderr)
    raise Finished(status)
