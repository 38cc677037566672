"""The control channel to a running cluster, from another terminal: the cluster's socket, one request and one answer.

Request and answer are one line of JSON each: {"verb": …, "arguments": {…}}, and {"answer": {…}} or {"error": …,
"invalid_request": …}. The verbs are those of control_commands.py. The sockets lie in the user's own directory; every process
that may enter this directory may do anything to the cluster. A socket whose owner was killed is stale: no process answers
there, and the next cluster of that name replaces it.
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

from kcsim.scenarios.cli.up_cluster.user_directory import UserDirectoryError, user_directory

DEFAULT_CLUSTER = "default"
CLUSTER_NAME = r"[a-z0-9][a-z0-9-]{0,39}"
SUFFIX = ".sock"
ANSWER_WITHIN_S = 180.0
"""Longer than any verb takes: in its controlled shutdown, a broker repeats its request to the controller several times."""
PROBE_WITHIN_S = 2.0
BACKLOG = 16
CHUNK = 65_536


class ControlError(Exception):
    """A request to a running cluster could not be made, or was not answered. The message says why."""


class BadClusterNameError(ControlError):
    """A cluster cannot have this name."""


class NoClusterError(ControlError):
    """No cluster of that name, or none at all, is up, as far as this user can see."""

    def __init__(self, cluster: str | None, running: list[str]) -> None:
        named = f" named {cluster}" if cluster is not None else ""
        others = f"; up are: {', '.join(running)} (name one with --cluster)" if running else "; start one with kcsim up"
        super().__init__(f"no cluster{named} is up{others}")
        self.cluster, self.running = cluster, running


class ClusterIsUpError(ControlError):
    """Another cluster has this name."""

    def __init__(self, cluster: str) -> None:
        super().__init__(f"a cluster named {cluster} is up already; stop it, or name this one with --cluster")
        self.cluster = cluster


class DeniedError(ControlError):
    """The cluster refuses the request.

    Args:
        invalid_request: the request itself is wrong (an unknown verb, no such broker); otherwise it cannot be done at
            present.
    """

    def __init__(self, reason: str, invalid_request: bool) -> None:
        super().__init__(reason)
        self.invalid_request = invalid_request


def send_request(
    verb: str, arguments: Mapping[str, Any], cluster: str = DEFAULT_CLUSTER, timeout_s: float = ANSWER_WITHIN_S
) -> dict[str, Any]:
    """Send a request to a running cluster, and return the answer when it is done.

    Args:
        arguments: arguments of the verb; see control_commands.py.

    Raises: NoClusterError, BadClusterNameError, DeniedError; ControlError when the cluster ended or did not answer in time.
    """
    with _connected(cluster, timeout_s) as connection:
        try:
            connection.sendall(json.dumps({"verb": verb, "arguments": dict(arguments)}).encode() + b"\n")
            line = _line_from(connection)
        except TimeoutError:
            raise ControlError(f"cluster {cluster} has not answered {verb} within {timeout_s:g} s") from None
        except OSError as error:
            raise ControlError(f"cluster {cluster} went away: {error.strerror or error}") from None
    if not line.endswith(b"\n"):
        raise ControlError(f"cluster {cluster} went down before it answered {verb}")
    reply = json.loads(line)
    if "error" in reply:
        raise DeniedError(reply["error"], reply["invalid_request"])
    answer: dict[str, Any] = reply["answer"]
    return answer


@contextmanager
def _connected(cluster: str, timeout_s: float) -> Iterator[socket.socket]:
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
    """Return the names of this user's clusters that accept connections, sorted."""
    return sorted(path.stem for path in _control_directory().glob(f"*{SUFFIX}") if _is_listening(path))


@contextmanager
def claim_cluster_name(cluster: str) -> Iterator[socket.socket]:
    """Claim a cluster's name by its listening socket, which is removed when the context ends.

    Raises: ClusterIsUpError, BadClusterNameError, ControlError.
    """
    path = _socket_path(cluster)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _directory_lock(path.parent):
            if _is_listening(path):
                raise ClusterIsUpError(cluster)
            path.unlink(missing_ok=True)  # a stale socket: its owner was killed
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
def _directory_lock(directory: Path) -> Iterator[None]:
    """Lock the directory, so that of two clusters that start at once under one name only one claims the name."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_listening(path: Path) -> bool:
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
