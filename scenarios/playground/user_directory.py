"""Where processes of one user find each other: a directory that nobody else may enter."""

import os
import stat
import tempfile
from pathlib import Path


class UserDirectoryError(Exception):
    """There is no directory that belongs to this user alone. Says which one was looked for, and what is wrong with it."""


def user_directory() -> Path:
    """$XDG_RUNTIME_DIR/kcsim, or kcsim-UID among the temporary files; made if need be. Raises: UserDirectoryError."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    place = Path(runtime) / "kcsim" if runtime else Path(tempfile.gettempdir()) / f"kcsim-{os.geteuid()}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError as error:
        raise UserDirectoryError(f"no directory to be found by: {place}: {error.strerror or error}") from None
    # In a temporary directory that all share, somebody else may have made it first.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UserDirectoryError(
            f"{place} is not a directory that belongs to you alone (mode 0700); remove it, or make it so"
        )
    return place
