"""The exit status of a command that ends with an exception, and the line that says why."""

import errno
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from kcsim.extras import extra_with, install_command
from kcsim.scenarios.cli.command_exit import INTERRUPTED_LINE, ExitStatus

OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of a write. Commands report the ones of files that options name; one without a file name is of the output."""
UNEXPECTED = "this is a defect of kcsim: please report it with the lines above"


def exit_status_of(command: Callable[[], object]) -> int:
    """Run a command, flush its output, and return its exit status. An exception is printed as one line on stderr.

    An unforeseen exception is printed with its traceback. Its status is 2: 1 means that an expectation was violated.
    Raises MemoryError, which cannot be reported in the usual way.
    """
    try:
        status = _status_of(command)
        try:
            _flush_stdout()
        except BrokenPipeError:  # the reader has left after the work was done
            _discard(sys.stdout)
        return status
    except MemoryError:
        raise
    except BaseException as error:
        return _report(error)


def _status_of(command: Callable[[], object]) -> int:
    try:
        command()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ExitStatus.HELD)
    return int(ExitStatus.HELD)


def _report(error: BaseException) -> int:
    if _is_interrupt(error):
        line: str | None = INTERRUPTED_LINE
        status = ExitStatus.INTERRUPTED
    else:
        line, status = _line_about(error), ExitStatus.UNDECIDED
    try:
        if line is None:
            traceback.print_exception(error)
            line = f"kcsim: {type(error).__name__}: {error}; {UNEXPECTED}"
        if line:
            print(line, file=sys.stderr, flush=True)
    except (OSError, ValueError):  # stderr is full or closed as well
        _discard(sys.stderr)
    _discard(sys.stdout)
    return int(status)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether an exception is a Ctrl-C, or was raised on account of one, as by an import that it interrupted."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _line_about(error: BaseException) -> str | None:
    """Return why the command could not go on; "" if nobody reads it, None for an error that nobody foresaw."""
    match error:
        case BrokenPipeError():
            return ""
        case UnicodeEncodeError():
            missing = ascii(error.object[error.start : error.start + 1])
            return f"kcsim: the output's encoding, {error.encoding}, has no character {missing}; set PYTHONIOENCODING=utf-8"
        case ModuleNotFoundError(name=str(name)) if extra := extra_with(name.partition(".")[0]):
            return f"kcsim: {name} is not installed: {install_command(extra)} brings it"
        case RecursionError():
            return "kcsim: the input is nested too deeply"
        case OSError():
            why = error.strerror or str(error)
            if error.filename is not None:
                return f"kcsim: {os.fsdecode(error.filename)}: {why}"
            return f"kcsim: standard output: {why}" if error.errno in OUTPUT_ERRORS else None
    return None


def _flush_stdout() -> None:
    if sys.stdout is not None:  # None: it was closed when the process began
        sys.stdout.flush()


def _discard(stream: TextIO | None) -> None:
    """Drop what is left of an output: Python would try to write it once more, and end with a status of its own."""
    if stream is None:  # it was closed when the process began
        return
    with suppress(OSError, ValueError):
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        stream.flush()
