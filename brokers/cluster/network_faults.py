"""The faults of a run's network: links that are cut, slow or lossy, broken connections, and healing.

For each kind of fault, the latest change of a link counts; different kinds add up. ZooKeeper is not on this network:
`disconnect` (cluster.py) cuts a broker off from it.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Protocol

from kcsim.brokers.network.breakpoints import RequestBreakpoint
from kcsim.brokers.network.link_conditions import (
    CLIENTS,
    EVERYWHERE,
    PERFECT,
    LinkBreakage,
    LinkChange,
    LinkCondition,
    LinkConditions,
    LinkCut,
    LinkDelay,
    LinkFault,
    LinkFaultKind,
    LinkLoss,
    LinkRate,
    Links,
    is_client,
)
from kcsim.eventlog.events import EventFields
from kcsim.eventlog.run_actions import ClusterError, RunActionLog
from kcsim.runtime.ports import Runtime

PARTITION, SLOW_LINK, LOSSY_LINK, BREAK, HEAL = "partition", "slow-link", "lossy-link", "break-connections", "heal"


class BreakableLink(Protocol):
    """An open connection."""

    def sever(self, _why: str, /) -> None: ...


class ArmsBreakpoints(Protocol):
    """Breaks connections once a request has been delivered."""

    def arm(self, breakpoint_: RequestBreakpoint, /) -> None: ...


class FaultyNetwork(Protocol):
    """The network that faults are injected into: in memory, or the proxies between real brokers.

    Attributes:
        open_port: None: no client from outside the run has a node of its own kind.
        sizes_all: whether everything that is sent has a size, and not only what clients from outside the run exchange.
    """

    @property
    def open_port(self) -> object | None: ...
    @property
    def sizes_all(self) -> bool: ...
    @property
    def breakpoints(self) -> ArmsBreakpoints: ...
    @property
    def conditions(self) -> LinkConditions: ...

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes that are on the network now."""
        ...

    def open_links(self, links: Links) -> Sequence[BreakableLink]:
        """Return the open connections that use any of these links."""
        ...


class NetworkFaults:
    """The network's faults. Each returns the seq of its Fault or AdminAct; ClusterError is raised if it would do nothing.

    Args:
        brokers: names of all brokers, running or not; other nodes are known once they run or are expected.
    """

    def __init__(self, runtime: Runtime, actions: RunActionLog, network: FaultyNetwork, brokers: Collection[str]) -> None:
        self._runtime = runtime
        self._actions = actions
        self._network = network
        self._expected = set(brokers)
        self._client_ids: set[str] = set()  # the nodes of clients from outside that faults have named

    def expect(self, nodes: Collection[str]) -> None:
        """Allow faults to name these nodes before they are on the network."""
        self._expected.update(nodes)

    def partition(self, links: Links, refuses: bool = False, for_ms: int | None = None) -> int:
        """Cut links, for a while or until `heal`: connections stall, and new ones cannot be opened.

        Args:
            refuses: a sender gets an error at once, and its connection breaks; else messages are dropped silently.
        """
        detail = f"{links}{', refusing' if refuses else ''}"
        cause = self._apply(PARTITION, links, "cut", lambda cause: LinkCut(cause, refuses), detail, for_ms)
        assert cause is not None
        return cause

    def limit_rate(self, links: Links, bytes_per_s: int, for_ms: int | None = None) -> int:
        """Let no more bytes a second pass on each connection whose messages have a size."""
        if bytes_per_s < 1:
            raise ClusterError(f"{bytes_per_s} bytes a second are no rate; to let nothing pass, cut the links")
        with_clients = any(is_client(node) for link in links.among(self._nodes()) for node in link)
        if not with_clients and not self._network.sizes_all:
            raise ClusterError(f"what is sent {links} has no size: only clients from outside the run exchange bytes")
        detail = f"{links}, {bytes_per_s} bytes a second"
        cause = self._apply(SLOW_LINK, links, "rate", lambda cause: LinkRate(cause, bytes_per_s), detail, for_ms)
        assert cause is not None
        return cause

    def slow(self, links: Links, delay_ms: int, jitter_ms: int = 0, for_ms: int | None = None) -> int | None:
        """Delay everything by `delay_ms`, plus or minus up to `jitter_ms`.

        Returns: None for a delay of 0 where no link is slow: nothing was done, and the run is the same as without it.
        """
        if not 0 <= jitter_ms <= delay_ms:
            raise ClusterError(f"a delay of {delay_ms} ms cannot vary by {jitter_ms} ms")

        def make_fault(cause: int) -> LinkDelay | None:
            return LinkDelay(cause, delay_ms, jitter_ms) if delay_ms else None

        jitter = f", up to {jitter_ms} ms more or less" if jitter_ms else ""
        return self._apply(SLOW_LINK, links, "slow", make_fault, f"{links}, {delay_ms} ms longer{jitter}", for_ms)

    def lossy(self, links: Links, probability: float, for_ms: int | None = None) -> int | None:
        """Let each transmission be lost with this probability. Returns: as `slow`, for probability 0."""
        _check_probability(probability)

        def make_fault(cause: int) -> LinkLoss | None:
            return LinkLoss(cause, probability) if probability else None

        return self._apply(LOSSY_LINK, links, "lossy", make_fault, f"{links}, {_percent(probability)} lost", for_ms)

    def breaking(self, links: Links, probability: float, for_ms: int | None = None) -> int | None:
        """Let a connection break with this probability after a request was delivered over it, before the response.

        The sender cannot know whether the request arrived, and sends it again: so requests are duplicated.

        Returns: as `slow`, for probability 0.
        """
        _check_probability(probability)

        def make_fault(cause: int) -> LinkBreakage | None:
            return LinkBreakage(cause, probability) if probability else None

        detail = f"{links}, {_percent(probability)} of requests break it once delivered"
        return self._apply(LOSSY_LINK, links, "breaking", make_fault, detail, for_ms)

    def break_connections(self, links: Links) -> int:
        """Break the open connections once: what is on its way on them is lost. New ones can be opened at once."""
        self.check(links)
        there = self._network.open_links(links)
        if not there:
            raise ClusterError(f"{BREAK} has no effect: no connection is open {links}")
        cause = self._actions.fault_on_links(BREAK, str(links), links.fields)
        for link in there:
            link.sever("the network has reset the connection")
        self._actions.confirm_on_links(cause, BREAK, f"{_counted(len(there), 'connection')} broken {links}")
        return cause

    def break_once_delivered(self, links: Links, request: str, let_through: int = 0) -> int:
        """Break the connection over which the next such request is delivered, before it is answered; return at once.

        Args:
            links: the request goes from one of their sources to one of their targets.
            request: LeaderAndIsr, Fetch, Produce, …
            let_through: how many such requests are delivered and answered before.
        """
        self.check(links)
        if let_through < 0:
            raise ClusterError(f"{let_through} requests cannot be let through")
        armed: EventFields = {**links.fields, "breakpoint": "delivered", "event": request}
        before = f", after {let_through} others" if let_through else ""
        detail = f"armed: {links}, once {request} has been delivered{before}"
        cause = self._actions.fault_on_links(BREAK, detail, armed)
        confirm = partial(self._actions.confirm_on_links, cause, BREAK)
        self._network.breakpoints.arm(RequestBreakpoint(links, request, confirm, cause, let_through))
        return cause

    def heal(self, links: Links = EVERYWHERE) -> int:
        """Remove all faults of these links. A message that is being retransmitted arrives at its next retransmission."""
        self.check(links)
        wrong = [link for link, condition in self._conditions_of(links).items() if condition != PERFECT]
        if not wrong:
            raise ClusterError(f"{HEAL} has no effect: nothing is wrong {links}")
        self._network.conditions.change(LinkChange(links))
        return self._actions.act_on_links(HEAL, f"{links}, {_counted(len(wrong), 'link')} in trouble", links.fields)

    def is_well(self) -> bool:
        """Return True if no link has a fault."""
        return all(condition == PERFECT for condition in self._conditions_of(EVERYWHERE).values())

    # --- implementation

    def _apply(
        self,
        fault: str,
        links: Links,
        kind: LinkFaultKind,
        make_fault: Callable[[int], LinkFault | None],
        detail: str,
        for_ms: int | None,
    ) -> int | None:
        self.check(links)
        wanted = make_fault(0)
        changed = sum(getattr(condition, kind) != wanted for condition in self._conditions_of(links).values())
        if not changed and wanted is None:
            return None
        if not changed:
            raise ClusterError(f"{fault} has no effect: it is so already {detail}")
        cause = self._actions.fault_on_links(fault, detail, links.fields)
        change = LinkChange(links, kind, make_fault(cause))
        self._network.conditions.change(change)
        connections = _counted(len(self._network.open_links(links)), "open connection")
        confirmed = f"{detail}: {_counted(changed, 'link')}, {connections} on them"
        self._actions.confirm_on_links(cause, fault, confirmed, changed)
        if for_ms is not None:
            self._runtime.spawn(f"end of {fault}", self._take_back_after(change, for_ms, cause))
        return cause

    async def _take_back_after(self, change: LinkChange, for_ms: int, cause: int) -> None:
        await self._runtime.sleep_ms(for_ms)
        before = self._conditions_of(change.links)
        self._network.conditions.take_back(change)
        after = self._conditions_of(change.links)
        healed = sum(after[link] != before[link] for link in before)
        if healed:
            detail = f"{change.links}, {_counted(healed, 'link')}, after {for_ms} ms"
            self._actions.act_on_links(HEAL, detail, change.links.fields, cause)

    def _conditions_of(self, links: Links) -> dict[tuple[str, str], LinkCondition]:
        return self._network.conditions.of_all(links, self._nodes())

    def _nodes(self) -> set[str]:
        """Return all nodes; clients from outside the run are one of them."""
        clients = () if self._network.open_port is None else (CLIENTS, *self._client_ids)
        return {*self._expected, *self._network.nodes, *clients}

    def check(self, links: Links) -> None:
        """Raise ClusterError if links name nodes that are not on the network, or if there are none."""
        named = (links.sources or frozenset()) | (links.targets or frozenset())
        clients = {name for name in named if is_client(name)}
        if clients and self._network.open_port is None:
            raise ClusterError("no client from outside reaches this cluster: its brokers have no TCP ports")
        self._client_ids |= clients - {CLIENTS}
        nodes = self._nodes()
        for name in sorted(named):
            if name not in nodes:
                raise ClusterError(f"no {name} on the network; there are {', '.join(sorted(nodes))}")
        if not links.among(nodes):
            raise ClusterError(f"there is no link {links}")


def _check_probability(probability: float) -> None:
    if not 0 <= probability <= 1:
        raise ClusterError(f"{probability} is no probability, which lies between 0 and 1")


def _percent(probability: float) -> str:
    return f"{100 * probability:g}%"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
