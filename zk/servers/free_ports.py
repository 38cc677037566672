"""Finds TCP ports of 127.0.0.1 for servers to listen on.

Not by binding port 0: those ports are also what the system gives to outgoing connections, and one that a killed server has
left could be gone before its restart. Ours come from below that range. Between the finding and the server's own binding
somebody may still take one; whoever starts the server tries again then.
"""

import os
import socket

FIRST, LAST = 15_000, 32_000
"""Below the outgoing range of Linux (32,768 and up) and of macOS and Windows (49,152 and up)."""


def free_ports(count: int) -> list[int]:
    """Return this many ports that nobody listens on just now."""
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
    """Tell whether a server could listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        # As ZooKeeper does: connections of a former server that linger in TIME_WAIT are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
