"""Faults for clients of a real ZooKeeper that know nothing of them: a proxy in between.

`frames` and `protocol` are pure, `breakpoints` and `sessions` hold state, `door`, `peer`, `connection` and `proxy` run on an
event loop, and `threaded` brings one. Left out: TLS, of which nothing is understood (it can be cut, refused and held, no
more), and servers that demand SASL of whoever closes a session (`expire` does not authenticate itself).
"""

from kcsim.zk.proxy.breakpoints import Breakpoint, Moment
from kcsim.zk.proxy.errors import NoSessionError, ProxyError, ProxyNotRunningError
from kcsim.zk.proxy.protocol import ProxiedWrite
from kcsim.zk.proxy.proxy import ZooKeeperProxy
from kcsim.zk.proxy.sessions import ProxiedSession
from kcsim.zk.proxy.threaded import ProxyThread

__all__ = [
    "Breakpoint",
    "Moment",
    "NoSessionError",
    "ProxiedSession",
    "ProxiedWrite",
    "ProxyError",
    "ProxyNotRunningError",
    "ProxyThread",
    "ZooKeeperProxy",
]
