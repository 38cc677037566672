"""Asks a server for its status with ZooKeeper's four letter words.

Source: ZooKeeper 3.9 Administrator's Guide, "The Four Letter Words". Only `srvr` is allowed by every default configuration.
"""

import re
import socket
import ssl
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """The role of a serving member. A member that does not serve has none."""

    STANDALONE = "standalone"
    LEADER = "leader"
    FOLLOWER = "follower"
    OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The answer to `srvr`. `mode` is None when the member is up and does not serve (no quorum)."""

    text: str
    mode: Mode | None
    version: str | None  # such as 3.9.5


def ask(host: str, port: int, word: str, timeout_s: float, tls: ssl.SSLContext | None = None) -> str:
    """Send one word and return the whole answer. Raises: OSError when there is no answer in time."""
    with ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection((host, port), timeout=timeout_s))
        if tls is not None:
            connection = stack.enter_context(tls.wrap_socket(connection, server_hostname=host))
        connection.sendall(word.encode())
        answer = b""
        while received := connection.recv(65536):
            answer += received
    return answer.decode(errors="replace")


def ask_server(host: str, port: int, timeout_s: float = 2.0, tls: ssl.SSLContext | None = None) -> ServerStatus:
    """Send `srvr` and return the answer. Raises: OSError when the server does not answer in time."""
    text = ask(host, port, "srvr", timeout_s, tls)
    if not text:  # Docker's port forwarding accepts connections before the server in the container does
        raise ConnectionResetError("closed without an answer")
    mode = re.search(rf"^Mode: ({'|'.join(Mode)})$", text, re.MULTILINE)  # not read-only: such a member has no quorum
    version = re.search(r"^Zookeeper version: (\d+(?:\.\d+)*)", text)
    return ServerStatus(text, Mode(mode[1]) if mode else None, version[1] if version else None)
