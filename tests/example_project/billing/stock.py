"""A stock that several clerks take from, under a lock. It has the classic bug: see stock_fixed.py."""

from kazoo.client import KazooClient


def take(client: KazooClient, goods: int) -> int:
    """Take some goods, and return how many are left."""
    with client.Lock("/stock-lock"):
        data, _ = client.get("/stock")
        left = int(data) - goods
        client.retry(client.set, "/stock", str(left).encode())  # a retry may come after the lock is somebody else's
        return left
