"""The ZooKeepers that this user's kcsim processes run at present. Admin commands write to them without --execute.

A process that starts a ZooKeeper registers it in a file of its own, which is locked as long as the process runs. The lock
ends with its process, however that ends, so a registration without a lock is invalid.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcsim.scenarios.cli.up_cluster.user_directory import UserDirectoryError, user_directory
from kcsim.zk.servers.external import Address, ConnectString, parse_connect_string

PREFIX = "zookeeper-"
SUFFIX = ".connect"
LOOPBACK = ("localhost", "::1")


@contextmanager
def register_servers(connect: str) -> Iterator[None]:
    """Register these servers (below the chroot, if there is one) as ours, while the context lasts.

    Raises: BadConnectStringError, UserDirectoryError.
    """
    parse_connect_string(connect)
    directory = user_directory()
    handle, name = tempfile.mkstemp(prefix=PREFIX, dir=directory)
    entry = Path(f"{name}{SUFFIX}")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(connect)
            file.flush()
            os.rename(name, entry)  # locked before it can be found: no other process takes it for a stale one
            _remove_stale(directory)
            yield
    finally:
        entry.unlink(missing_ok=True)
        Path(name).unlink(missing_ok=True)


def is_registered(connect: str) -> bool:
    """Return whether a running kcsim of this user has registered these very servers, and the chroot or one above it.

    Raises: BadConnectStringError.
    """
    wanted = normalize_connect_string(connect)
    try:
        directory = user_directory()
    except UserDirectoryError:
        return False  # then no process can have registered anything
    return any(_covers(normalize_connect_string(text), wanted) for text in map(_registered_text, _files(directory)) if text)


def _covers(registered: ConnectString, wanted: ConnectString) -> bool:
    is_below = wanted.chroot == registered.chroot or wanted.chroot.startswith(f"{registered.chroot}/")
    return is_below and set(wanted.addresses) <= set(registered.addresses)


def normalize_connect_string(connect: str) -> ConnectString:
    """Parse a connect string so that two names of one server are equal. Raises: BadConnectStringError."""
    where = parse_connect_string(connect)
    hosts = (address.host.lower() for address in where.addresses)
    same = ("127.0.0.1" if host in LOOPBACK else host for host in hosts)
    return ConnectString(tuple(Address(h, a.port) for h, a in zip(same, where.addresses, strict=True)), where.chroot)


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"{PREFIX}*{SUFFIX}"))


def _registered_text(path: Path) -> str | None:
    """Return the registered connect string of a file; None if its process has ended."""
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
        if _registered_text(path) is None:
            path.unlink(missing_ok=True)
