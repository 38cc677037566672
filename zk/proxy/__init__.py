"""A proxy between a real ZooKeeper and its clients that injects faults into unmodified clients.

`frames` and `protocol` are pure; `breakpoints`, `recent_writes` and `sessions` hold state; `pause_gate`, `peer`,
`connection` and `proxy` run on an event loop, and `threaded` provides one. Left out: TLS, which the proxy does not decrypt
(such connections can only be cut, refused and held), and servers that require SASL of a client that closes a session
(`expire` does not authenticate).
"""

from kcsim.zk.proxy.breakpoints import Breakpoint, BreakpointMoment
from kcsim.zk.proxy.errors import NoSessionError, ProxyError, ProxyNotRunningError
from kcsim.zk.proxy.protocol import ProxiedWrite
from kcsim.zk.proxy.proxy import ZooKeeperProxy
from kcsim.zk.proxy.recent_writes import RecentWrites
from kcsim.zk.proxy.sessions import ProxiedSession
from kcsim.zk.proxy.threaded import ProxyThread

__all__ = [
    "Breakpoint",
    "BreakpointMoment",
    "NoSessionError",
    "ProxiedSession",
    "ProxiedWrite",
    "ProxyError",
    "ProxyNotRunningError",
    "ProxyThread",
    "RecentWrites",
    "ZooKeeperProxy",
]
