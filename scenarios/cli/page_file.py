"""The file of an HTML page that a command writes."""

import os
from pathlib import Path

from kcsim.scenarios.cli.command_exit import ExitStatus, fail


def check_page_file(option: str, file: Path, force: bool) -> None:
    """End the command with status 64 if the page cannot be written there. To be called before any work.

    Args:
        option: names the file in the message.
        force: whether a file that is there is written over.
    """
    if file.exists() and not force:
        fail(f"{option}: {file} is there already; name another file, or write over it with --force", ExitStatus.USAGE)
    if file.is_dir() or not file.absolute().parent.is_dir():
        what = "is a directory" if file.is_dir() else f"there is no directory {file.parent}"
        fail(f"{option}: {file}: {what}", ExitStatus.USAGE)


def write_page_file(option: str, file: Path, page: str) -> None:
    """Write the whole page or nothing: a partial page would open in a browser and show a part only."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        try:
            beside.write_text(page, encoding="utf-8")
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        fail(f"{option}: {file}: {error.strerror or error}", ExitStatus.UNDECIDED)
