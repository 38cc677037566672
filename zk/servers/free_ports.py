"""Finds TCP ports of 127.0.0.1 for servers to listen on.

Port 0 is not used: the system takes those ports for outgoing connections too, and the port of a killed server could be taken
before the server's restart. The ports found here are below that range. Another process may still take a port before the
server binds it; the code that starts the server tries again then.
"""

import os
import socket

FIRST, LAST = 15_000, 32_000
"""The range of the ports: below the outgoing range of Linux (32,768 and up) and of macOS and Windows (49,152 and up)."""


def free_ports(count: int) -> list[int]:
    """Return this many ports on which no process listens at present. Raises: OSError if there are not enough."""
    start = int.from_bytes(os.urandom(4), "big")
    span = LAST - FIRST
    found: list[int] = []
    for step in range(span):
        port = FIRST + (start + step) % span
        if is_free(port):
            found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"no {count} free ports between {FIRST} and {LAST} on 127.0.0.1")


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        # ZooKeeper sets this too: a former server's connections in TIME_WAIT do not prevent the binding.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def refusal_of(host: str) -> str | None:
    """Return why no server of this machine could listen on a host; None if one could."""
    try:
        with socket.create_server((host, 0)):
            return None
    except OSError as error:
        return str(error.strerror or error)
