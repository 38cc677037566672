"""The live adapter of the ZooKeeper port: a real server, kazoo underneath, asyncio above.

`wire` and `watches` are pure, `connection` and `gate` alone import kazoo and run in its connection thread, `session` runs on
the event loop. Between the two cross only values, in the order in which the server sent them.
"""

from kcsim.zk.live.ledger import WriteLedger
from kcsim.zk.live.session import LiveSession, LiveZooKeeper

__all__ = ["LiveSession", "LiveZooKeeper", "WriteLedger"]
