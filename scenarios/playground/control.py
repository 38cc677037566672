"""How another terminal acts on a running cluster: where its socket is, and one question to it with one answer.

Each is one line of JSON: {"verb": …, "arguments": {…}}, and {"answer": {…}} or {"error": …, "makes_no_sense": …}. The verbs
are those of remote_verbs.py. The sockets lie in the user's own directory, and whoever may enter that may do anything to the
cluster. A socket whose owner was killed is stale: nobody answers there, and the next cluster of that name takes its place.
"""

import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kcsim.scenarios.playground.user_directory import UserDirectoryError, user_directory

DEFAULT_CLUSTER = "default"
CLUSTER_NAME = r"[a-z0-9][a-z0-9-]{0,39}"
SUFFIX = ".sock"
ANSWER_WITHIN_S = 180.0
"""Longer than any verb takes: a broker that shuts down in order asks its controller several times over."""
PROBE_WITHIN_S = 2.0
BACKLOG = 16
CHUNK = 65_536


class ControlError(Exception):
    """A question to a running cluster could not be asked, or was not answered. Says why."""


class BadClusterNameError(ControlError):
    """Not a name that a cluster can have."""


class NoClusterError(ControlError):
    """No cluster of that name is up, as far as this user can see."""

    def __init__(self, cluster: str, running: list[str]) -> None:
        others = f"; up are: {', '.join(running)} (name one with --cluster)" if running else "; start one with kcsim up"
        super().__init__(f"no cluster named {cluster} is up{others}")
        self.cluster, self.running = cluster, running


class ClusterIsUpError(ControlError):
    """Another cluster has this name."""

    def __init__(self, cluster: str) -> None:
        super().__init__(f"a cluster named {cluster} is up already; stop it, or name this one with --cluster")
        self.cluster = cluster


class DeniedError(ControlError):
    """The cluster says no.

    Args:
        makes_no_sense: the question itself is wrong (an unknown verb, no such broker); else it only cannot be done now.
    """

    def __init__(self, reason: str, makes_no_sense: bool) -> None:
        super().__init__(reason)
        self.makes_no_sense = makes_no_sense


def call(
    verb: str, arguments: Mapping[str, Any], cluster: str = DEFAULT_CLUSTER, timeout_s: float = ANSWER_WITHIN_S
) -> dict[str, Any]:
    """Ask a running cluster to do something, and return its answer when it is done.

    Args:
        arguments: as the verb wants them; see remote_verbs.py.

    Raises: NoClusterError, BadClusterNameError, DeniedError; ControlError when it went away or was silent for too long.
    """
    with _asking(cluster, timeout_s) as connection:
        try:
            connection.sendall(json.dumps({"verb": verb, "arguments": dict(arguments)}).encode() + b"\n")
            line = _line_from(connection)
        except TimeoutError:
            raise ControlError(f"cluster {cluster} has not answered {verb} within {timeout_s:g} s") from None
        except OSError as error:
            raise ControlError(f"cluster {cluster} went away: {error.strerror or error}") from None
    if not line.endswith(b"\n"):
        raise ControlError(f"cluster {cluster} went down before it answered {verb}")
    told = json.loads(line)
    if "error" in told:
        raise DeniedError(told["error"], told["makes_no_sense"])
    answer: dict[str, Any] = told["answer"]
    return answer


@contextmanager
def _asking(cluster: str, timeout_s: float) -> Iterator[socket.socket]:
    path = _socket_path(cluster)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            raise NoClusterError(cluster, running_clusters()) from None
        except OSError as error:
            raise ControlError(f"cannot reach cluster {cluster} at {path}: {error.strerror or error}") from None
        yield connection


def _line_from(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(CHUNK):
        parts.append(part)
        if part.endswith(b"\n"):
            break
    return b"".join(parts)


def running_clusters() -> list[str]:
    """Names of this user's clusters that answer, sorted."""
    return sorted(path.stem for path in _control_directory().glob(f"*{SUFFIX}") if _somebody_listens(path))


@contextmanager
def claimed(cluster: str) -> Iterator[socket.socket]:
    """Take a cluster's name: its listening socket, gone when the context ends.

    Raises: ClusterIsUpError, BadClusterNameError, ControlError.
    """
    path = _socket_path(cluster)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _alone_in(path.parent):
            if _somebody_listens(path):
                raise ClusterIsUpError(cluster)
            path.unlink(missing_ok=True)  # a stale one: its owner was killed
            try:
                listening.bind(str(path))
            except OSError as error:
                raise ControlError(f"cannot listen at {path}: {error.strerror or error}") from None
            path.chmod(0o600)
            listening.listen(BACKLOG)
        try:
            yield listening
        finally:
            path.unlink(missing_ok=True)
    finally:
        listening.close()


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Of two clusters that start at once under one name, one comes first."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _somebody_listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.settimeout(PROBE_WITHIN_S)
        probe.connect(str(path))
        return True
    return False


def _socket_path(cluster: str) -> Path:
    if not re.fullmatch(CLUSTER_NAME, cluster):
        raise BadClusterNameError(
            f"{cluster!r} is no name of a cluster; write small letters, digits and hyphens, at most 40, as in try-it"
        )
    return _control_directory() / f"{cluster}{SUFFIX}"


def _control_directory() -> Path:
    try:
        return user_directory()
    except UserDirectoryError as error:
        raise ControlError(str(error)) from None
