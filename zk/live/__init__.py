"""The live adapter of the ZooKeeper port: sessions with a real server, built on kazoo and asyncio.

`wire` and `watches` are pure. Only `connection` and `freezable_handler` import kazoo; they run in kazoo's connection thread.
`session` runs on the event loop. Only values pass between the thread and the loop, in the order in which the server sent
them.
"""

from kcsim.zk.live.ledger import WriteLedger
from kcsim.zk.live.session import LiveSession, LiveZooKeeper

__all__ = ["LiveSession", "LiveZooKeeper", "WriteLedger"]
