"""A ZooKeeper client as users write them, for tests of the fixtures."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient

SESSION_S = 20.0
CONNECT_WITHIN_S = 300.0


@contextmanager
def client(connect_string: str, timeout_s: float = SESSION_S) -> Iterator[Any]:
    """Yield a started client, and close it in the end."""
    kazoo = KazooClient(connect_string, timeout=timeout_s)
    kazoo.start(CONNECT_WITHIN_S)
    try:
        yield kazoo
    finally:
        kazoo.stop()
        kazoo.close()
