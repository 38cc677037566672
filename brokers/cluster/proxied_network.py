"""The network between real brokers: a proxy in front of each listener, and the conditions of the links between nodes.

Links are cut and healed, and connections broken. Slow and lossy links, and breakpoints at requests, are not available.
"""

from dataclasses import dataclass

from kcsim.brokers.apache_kafka.listener_proxy import LinkState, ListenerProxy
from kcsim.brokers.network.breakpoints import RequestBreakpoint
from kcsim.brokers.network.link_conditions import LinkConditions, Links
from kcsim.eventlog.run_actions import ClusterError


@dataclass(frozen=True)
class ListenerConnection:
    """The open connections of one node to another's listener."""

    source: str
    proxy: ListenerProxy

    @property
    def ends(self) -> tuple[str, str]:
        """The nodes of the client and of the server."""
        return self.source, self.proxy.node

    def sever(self, _why: str) -> None:
        self.proxy.break_off(self.source)


class NoBreakpoints:
    """What a network of real brokers has in place of breakpoints: nothing sees which request has been delivered."""

    def arm(self, _breakpoint: RequestBreakpoint) -> None:
        """Raises: ClusterError."""
        raise ClusterError("connections break once a request has been delivered between simulated brokers only")


class ProxiedNetwork:
    """The proxies of all brokers.

    Attributes:
        conditions: of the links; the proxies follow each change.
        open_port: None: clients are nodes by their client ids, also those from outside the run.
        breakpoints: none can be armed.
    """

    def __init__(self) -> None:
        self.open_port = None
        self.breakpoints = NoBreakpoints()
        self.conditions = LinkConditions()
        self.conditions.watchers.append(self._notice_change)
        self._proxies: list[ListenerProxy] = []

    async def open_proxy(self, node: str, target_port: int) -> ListenerProxy:
        """Start the proxy of a broker."""
        proxy = ListenerProxy(node, target_port, self._state)
        await proxy.start()
        self._proxies.append(proxy)
        return proxy

    async def stop(self) -> None:
        for proxy in self._proxies:
            await proxy.stop()

    @property
    def nodes(self) -> list[str]:
        """The nodes with open connections, sorted."""
        return sorted({node for connection in self._connections() for node in connection.ends})

    def open_links(self, links: Links) -> list[ListenerConnection]:
        """Return the open connections that use any of these links."""
        return [one for one in self._connections() if one.ends in links or one.ends[::-1] in links]

    def _connections(self) -> list[ListenerConnection]:
        return [ListenerConnection(source, proxy) for proxy in self._proxies for source in sorted({*proxy.sources})]

    def _state(self, source: str, target: str) -> LinkState:
        cut = self.conditions.of(source, target).cut
        if cut is None:
            return LinkState.PASSES
        return LinkState.REFUSES if cut.refuses else LinkState.HOLDS

    def _notice_change(self) -> None:
        for proxy in self._proxies:
            proxy.notice_change()
