"""What kcsim zk and kcsim import do with the files of a ZooKeeper: the arguments, and what is wrong with them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kcsim.scenarios.commands.ending import ExitStatus, give_up

if TYPE_CHECKING:
    from kcsim.zk.files.data_directory import DataDirectory
    from kcsim.zk.vocabulary import Zxid

T = TypeVar("T")


@contextmanager
def files_at_fault() -> Iterator[None]:
    """End the command with one line when the files do not give what is asked of them."""
    from kcsim.zk.files.data_directory import DataDirectoryError, NoSuchFilesError
    from kcsim.zk.files.snapshot import BadSnapshotError
    from kcsim.zk.files.transaction_log import BadLogError

    try:
        yield
    except NoSuchFilesError as error:
        give_up(str(error), ExitStatus.USAGE)
    except (BadLogError, BadSnapshotError, DataDirectoryError) as error:
        give_up(str(error), ExitStatus.UNDECIDED)
    except BrokenPipeError:
        raise  # nobody reads on, which is no fault of the files
    except OSError as error:
        give_up(f"{error.filename}: {error.strerror}" if error.filename else str(error), ExitStatus.UNDECIDED)


def parsed(option: str, parse: Callable[[str], T], text: str) -> T:
    """Read an option's value, or end the command."""
    from kcsim.scenarios.imported.moment import BadMomentError

    try:
        return parse(text)
    except BadMomentError as error:
        give_up(f"{option}: {error}", ExitStatus.USAGE)


def moment(option: str, text: str, directory: "DataDirectory") -> "Zxid":
    """The transaction that a moment stands for: itself, or the last no later than a time. Raises: DataDirectoryError."""
    from kcsim.scenarios.imported.moment import WHAT_IT_MAY_BE, BadMomentError, parse_time, parse_zxid

    if text.lower().startswith("0x"):
        return parsed(option, parse_zxid, text)
    try:
        time_ms = parse_time(text)
    except BadMomentError:
        give_up(f"{option}: {text!r} is not {WHAT_IT_MAY_BE}", ExitStatus.USAGE)
    return directory.last_zxid_at(time_ms)


def checked_chroot(text: str) -> str:
    """A --chroot as it stands before every path: empty for the root."""
    if not text.startswith("/"):
        give_up(f"--chroot: {text!r} does not begin with /", ExitStatus.USAGE)
    return text.rstrip("/")


def say_remarks(directory: "DataDirectory") -> None:
    """Tell on stderr what a reader has to know of the files."""
    for remark in directory.remarks:
        print(remark, file=sys.stderr)


def check_output(option: str, path: Path) -> None:
    """Find out beforehand that a file could not be written."""
    if path.is_dir():
        give_up(f"{option}: {path} is a directory; name a file", ExitStatus.USAGE)
    if not path.parent.is_dir():
        give_up(f"{option}: there is no directory {path.parent}", ExitStatus.USAGE)
