"""The directory in which processes of one user find each other. Other users have no access to it."""

import os
import stat
import tempfile
from pathlib import Path


class UserDirectoryError(Exception):
    """There is no directory with access for this user alone. The message names the directory and the problem."""


def user_directory() -> Path:
    """Return $XDG_RUNTIME_DIR/kcsim, or kcsim-UID in the temporary directory; create it if necessary.

    Raises: UserDirectoryError.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    place = Path(runtime) / "kcsim" if runtime else Path(tempfile.gettempdir()) / f"kcsim-{os.geteuid()}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError as error:
        raise UserDirectoryError(f"no directory to be found by: {place}: {error.strerror or error}") from None
    # In a shared temporary directory, another user may have created it first.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UserDirectoryError(
            f"{place} is not a directory that belongs to you alone (mode 0700); remove it, or make it so"
        )
    return place
