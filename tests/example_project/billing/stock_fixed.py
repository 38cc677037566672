"""A stock that several clerks take from, under a lock; the version of the znode fences off whoever has lost it."""

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError


def take(client: KazooClient, goods: int) -> int:
    """Take some goods, and return how many are left."""
    while True:
        with client.Lock("/stock-lock"):
            data, stat = client.get("/stock")
            left = int(data) - goods
            try:
                client.retry(client.set, "/stock", str(left).encode(), stat.version)
            except BadVersionError:  # somebody took the lock, and of the goods, while we were away
                continue
            return left
