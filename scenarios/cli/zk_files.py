"""The arguments of kcsim zk and kcsim import that name ZooKeeper's files, and the errors of those files."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.vocabulary import Zxid
    from kcsim.zk.files.data_directory import DataDirectory

T = TypeVar("T")


@contextmanager
def exit_on_file_errors() -> Iterator[None]:
    """End the command with one line when the files lack what is requested."""
    from kcsim.zk.files.data_directory import DataDirectoryError, NoSuchFilesError
    from kcsim.zk.files.snapshot import BadSnapshotError
    from kcsim.zk.files.transaction_log import BadLogError

    try:
        yield
    except NoSuchFilesError as error:
        fail(str(error), ExitStatus.USAGE)
    except (BadLogError, BadSnapshotError, DataDirectoryError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    except BrokenPipeError:
        raise  # the reader of our output has closed it, which is no fault of the files
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), ExitStatus.UNDECIDED)


def parse_option(option: str, parse: Callable[[str], T], text: str) -> T:
    """Read an option's value, or end the command."""
    from kcsim.zk.capture.zxid_or_time import BadZxidOrTimeError

    try:
        return parse(text)
    except BadZxidOrTimeError as error:
        fail(f"{option}: {error}", ExitStatus.USAGE)


def zxid_option(option: str, text: str, directory: "DataDirectory") -> "Zxid":
    """Return the transaction that a zxid or time denotes: the zxid itself, or the last transaction no later than the time.

    Raises: DataDirectoryError.
    """
    from kcsim.zk.capture.zxid_or_time import ACCEPTED_FORMATS, BadZxidOrTimeError, parse_time, parse_zxid

    if text.lower().startswith("0x"):
        return parse_option(option, parse_zxid, text)
    try:
        time_ms = parse_time(text)
    except BadZxidOrTimeError:
        fail(f"{option}: {text!r} is not {ACCEPTED_FORMATS}", ExitStatus.USAGE)
    return directory.last_zxid_at(time_ms)


def checked_chroot(text: str) -> str:
    """Return a --chroot as the prefix of every path: empty for the root."""
    if not text.startswith("/"):
        fail(f"--chroot: {text!r} does not begin with /", ExitStatus.USAGE)
    return text.rstrip("/")


def print_remarks(directory: "DataDirectory") -> None:
    """Print on stderr the remarks about the files that a reader has to know."""
    for remark in directory.remarks:
        print(remark, file=sys.stderr)


def check_output(option: str, path: Path) -> None:
    """Check before the work that a file can be written."""
    if path.is_dir():
        fail(f"{option}: {path} is a directory; name a file", ExitStatus.USAGE)
    if not path.parent.is_dir():
        fail(f"{option}: there is no directory {path.parent}", ExitStatus.USAGE)
