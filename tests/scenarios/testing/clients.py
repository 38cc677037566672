"""A client of ZooKeeper as other people write them, for the fixtures to be tried on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient

SESSION_S = 2.0


@contextmanager
def client(connect_string: str, timeout_s: float = SESSION_S) -> Iterator[Any]:
    """A started client, closed in the end."""
    kazoo = KazooClient(connect_string, timeout=timeout_s)
    kazoo.start()
    try:
        yield kazoo
    finally:
        kazoo.stop()
        kazoo.close()
