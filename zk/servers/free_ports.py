"""Finds TCP ports of 127.0.0.1 for servers to listen on.

Port 0 is not used: the system takes those ports for outgoing connections too, and the port of a killed server could be taken
before the server's restart. The ports found here are below that range, and claimed, so that no process that looks for a port
here gets one before the server of another has bound it. A claim is the UDP port of the same number, which nothing else here
uses: it ends with the process, however that ends, and leaves no file. A program that chooses its port elsewhere may still
take it; the code that starts the server tries again then.
"""

import os
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"
FIRST, LAST = 15_000, 32_000
"""The range of the ports: below the outgoing range of Linux (32,768 and up) and of macOS and Windows (49,152 and up)."""
CLAIMS_KEPT = 64
"""So many of the last claims of free_ports are kept: a server is long up before as many others have been started."""
_claims: deque[int] = deque()
"""File descriptors: a claim belongs to the whole process."""


def free_ports(count: int) -> list[int]:
    """Return this many ports on which no process listens at present, and that none has claimed; claim them for a time.

    Raises: OSError if there are not enough.
    """
    found: list[int] = []
    for port in _candidates():
        with socket.socket(type=socket.SOCK_DGRAM) as claim:
            if is_free(port) and _binds(claim, port):
                found.append(port)
                _claims.append(claim.detach())
        while len(_claims) > max(CLAIMS_KEPT, count):
            os.close(_claims.popleft())
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports between {FIRST} and {LAST} on {HOST}")


@contextmanager
def claimed_port() -> Iterator[int]:
    """Yield a free port that no other caller gets meanwhile, in any process. Raises: OSError if there is none."""
    for port in _candidates():
        with socket.socket(type=socket.SOCK_DGRAM) as claim:
            if is_free(port) and _binds(claim, port):
                yield port
                return
    raise OSError(f"no free port between {FIRST} and {LAST} on {HOST}")


def _candidates() -> Iterator[int]:
    """Yield all ports of the range, from one on that is chosen at random."""
    start = int.from_bytes(os.urandom(4), "big")
    span = LAST - FIRST
    yield from (FIRST + (start + step) % span for step in range(span))


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        # ZooKeeper sets this too: a former server's connections in TIME_WAIT do not prevent the binding.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return _binds(probe, port)


def _binds(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind((HOST, port))
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
