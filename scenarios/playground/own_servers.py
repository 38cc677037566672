"""Which ZooKeepers this user's kcsim runs at the moment: there, admin commands write without being told to twice.

Whoever starts one announces it in a file of its own, locked as long as it runs: a lock goes with its process, however that
ends, so that an announcement nobody holds counts for nothing.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcsim.scenarios.playground.user_directory import UserDirectoryError, user_directory
from kcsim.zk.servers.external import Address, ConnectString, parse_connect_string

PREFIX = "zookeeper-"
SUFFIX = ".connect"
LOOPBACK = ("localhost", "::1")


@contextmanager
def announce(connect: str) -> Iterator[None]:
    """Let others know, while the context lasts, that these servers (below the chroot, if there is one) are ours.

    Raises: BadConnectStringError, UserDirectoryError.
    """
    parse_connect_string(connect)
    directory = user_directory()
    handle, name = tempfile.mkstemp(prefix=PREFIX, dir=directory)
    announced = Path(f"{name}{SUFFIX}")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(connect)
            file.flush()
            os.rename(name, announced)  # locked before it can be found: nobody takes it for a stale one
            _remove_stale(directory)
            yield
    finally:
        announced.unlink(missing_ok=True)
        Path(name).unlink(missing_ok=True)


def is_ours(connect: str) -> bool:
    """Say whether a running kcsim of this user has announced these very servers, and the chroot or one above it.

    Raises: BadConnectStringError.
    """
    asked = normalized(connect)
    try:
        directory = user_directory()
    except UserDirectoryError:
        return False  # then nobody can have announced anything
    return any(_covers(normalized(text), asked) for text in map(_announcement, _files(directory)) if text)


def _covers(announced: ConnectString, asked: ConnectString) -> bool:
    is_below = asked.chroot == announced.chroot or asked.chroot.startswith(f"{announced.chroot}/")
    return is_below and set(asked.addresses) <= set(announced.addresses)


def normalized(connect: str) -> ConnectString:
    """Take a connect string apart so that two names of one server are equal. Raises: BadConnectStringError."""
    where = parse_connect_string(connect)
    hosts = (address.host.lower() for address in where.addresses)
    same = ("127.0.0.1" if host in LOOPBACK else host for host in hosts)
    return ConnectString(tuple(Address(h, a.port) for h, a in zip(same, where.addresses, strict=True)), where.chroot)


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"{PREFIX}*{SUFFIX}"))


def _announcement(path: Path) -> str | None:
    """What a file announces; None if nobody stands behind it any more."""
    try:
        with path.open(encoding="utf-8") as file:
            return None if _can_lock(file.fileno()) else file.read()
    except FileNotFoundError:
        return None


def _can_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_stale(directory: Path) -> None:
    for path in _files(directory):
        if _announcement(path) is None:
            path.unlink(missing_ok=True)
