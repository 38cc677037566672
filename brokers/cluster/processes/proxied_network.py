"""The network between brokers in processes: a proxy in front of each listener, and the conditions of the links.

Links are cut, slow, lossy, and healed; connections are broken. What is lost is sent again as by TCP, so that it is late: all
after it waits. Left out: breakpoints at requests, and connections that break because of too many losses.
"""

from dataclasses import dataclass
from random import Random

from kcsim.brokers.apache_kafka.listener_proxy import LinkState, ListenerProxy
from kcsim.brokers.network.breakpoints import RequestBreakpoint
from kcsim.brokers.network.link_conditions import LinkConditions, Links
from kcsim.brokers.network.link_stream import LONGEST_PAUSE_MS, SENDING
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
    """What a network of processes has in place of breakpoints: nothing sees which request has been delivered."""

    def arm(self, _breakpoint: RequestBreakpoint) -> None:
        """Raises: ClusterError."""
        raise ClusterError("a proxy between brokers does not see which request has been delivered")


class ProxiedNetwork:
    """The proxies of all brokers.

    Args:
        numbers: the random numbers for losses and jitter.

    Attributes:
        conditions: of the links; the proxies follow each change.
        open_port: None: clients are nodes by their client ids, also those from outside the run.
        breakpoints: none can be armed.
        sizes_all: everything that passes the proxies is bytes.
    """

    sizes_all = True

    def __init__(self, numbers: Random) -> None:
        self._numbers = numbers
        self.open_port = None
        self.breakpoints = NoBreakpoints()
        self.conditions = LinkConditions()
        self.conditions.watchers.append(self._notice_change)
        self._proxies: list[ListenerProxy] = []

    async def open_proxy(self, node: str, target_port: int, port: int | None = None) -> ListenerProxy:
        """Start the proxy of a broker. Args: port: where it listens; None takes a free one. Raises: OSError."""
        proxy = ListenerProxy(node, target_port, self, port)
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

    def state(self, source: str, target: str) -> LinkState:
        """Return what the link from one node to another does with bytes now."""
        cut = self.conditions.of(source, target).cut
        if cut is None:
            return LinkState.PASSES
        return LinkState.REFUSES if cut.refuses else LinkState.HOLDS

    def delay_ms(self, source: str, target: str) -> int:
        """Return how long something takes that is sent now from one node to another, with all its retransmissions."""
        condition = self.conditions.of(source, target)
        delay_ms, pause_ms = 0, SENDING.first_ms
        if condition.lossy is not None:
            for _ in range(SENDING.times):
                if self._numbers.random() >= condition.lossy.probability:
                    break
                delay_ms, pause_ms = delay_ms + pause_ms, min(2 * pause_ms, LONGEST_PAUSE_MS)
        if (slow := condition.slow) is not None:
            jitter_ms = self._numbers.randint(-slow.jitter_ms, slow.jitter_ms) if slow.jitter_ms else 0
            delay_ms += slow.delay_ms + jitter_ms
        return delay_ms

    def bytes_per_s(self, source: str, target: str) -> int | None:
        """Return how much may pass on each connection from one node to another; None: any amount."""
        rate = self.conditions.of(source, target).rate
        return None if rate is None else rate.bytes_per_s

    def _notice_change(self) -> None:
        for proxy in self._proxies:
            proxy.notice_change()
