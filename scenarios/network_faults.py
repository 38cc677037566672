"""What can be done to the network of a run: cut it, slow it down, make it lose things, break connections, heal it.

Of the same kind, what was done to a link last is what counts for it; different kinds add up. ZooKeeper is not on this
network: `disconnect` (cluster.py) cuts a broker off from that.
"""

from collections.abc import Callable, Collection
from functools import partial

from kcsim.scenarios.deeds import ClusterError, Deeds
from kcsim.scenarios.link_conditions import (
    EVERYWHERE,
    PERFECT,
    Breaking,
    Change,
    Cut,
    Kind,
    LinkCondition,
    Links,
    Lossy,
    Slow,
    Trouble,
)
from kcsim.scenarios.network import MemoryNetwork, Trap
from kcsim.zk.ports import Runtime

PARTITION, SLOW_LINK, LOSSY_LINK, BREAK, HEAL = "partition", "slow-link", "lossy-link", "break-connections", "heal"


class NetworkFaults:
    """The faults. Each returns the seq of its Fault or AdminAct, and raises ClusterError when it would have no effect.

    Args:
        brokers: names of all brokers, running or not; other nodes are known once they run, or are expected.
    """

    def __init__(self, runtime: Runtime, deeds: Deeds, network: MemoryNetwork, brokers: Collection[str]) -> None:
        self._runtime = runtime
        self._deeds = deeds
        self._network = network
        self._expected = set(brokers)

    def expect(self, nodes: Collection[str]) -> None:
        """These will be on the network, and may be named before they are."""
        self._expected.update(nodes)

    def partition(self, links: Links, refuses: bool = False, for_ms: int | None = None) -> int:
        """Let nothing pass any more, for a while or until `heal`: connections stall, and new ones cannot be made.

        Args:
            refuses: who sends something is told at once, and its connection breaks; else nobody is told anything.
        """
        detail = f"{links}{', refusing' if refuses else ''}"
        cause = self._inflict(PARTITION, links, "cut", lambda cause: Cut(cause, refuses), detail, for_ms)
        assert cause is not None
        return cause

    def slow(self, links: Links, delay_ms: int, jitter_ms: int = 0, for_ms: int | None = None) -> int | None:
        """Let everything take `delay_ms` longer, up to `jitter_ms` more or less.

        Returns: None for a delay of 0 where nothing is slow: nothing was done, and the run is the same as without it.
        """
        if not 0 <= jitter_ms <= delay_ms:
            raise ClusterError(f"a delay of {delay_ms} ms cannot vary by {jitter_ms} ms")

        def trouble(cause: int) -> Slow | None:
            return Slow(cause, delay_ms, jitter_ms) if delay_ms else None

        jitter = f", up to {jitter_ms} ms more or less" if jitter_ms else ""
        return self._inflict(SLOW_LINK, links, "slow", trouble, f"{links}, {delay_ms} ms longer{jitter}", for_ms)

    def lossy(self, links: Links, probability: float, for_ms: int | None = None) -> int | None:
        """Let what is sent be lost with this probability, each time it is sent. Returns: as `slow`, for probability 0."""
        _check_probability(probability)

        def trouble(cause: int) -> Lossy | None:
            return Lossy(cause, probability) if probability else None

        return self._inflict(LOSSY_LINK, links, "lossy", trouble, f"{links}, {_percent(probability)} lost", for_ms)

    def breaking(self, links: Links, probability: float, for_ms: int | None = None) -> int | None:
        """Let a connection break with this probability when a request has been delivered over it, before the answer.

        Whoever sent it cannot know whether it arrived, and sends it again: so requests are duplicated.

        Returns: as `slow`, for probability 0.
        """
        _check_probability(probability)

        def trouble(cause: int) -> Breaking | None:
            return Breaking(cause, probability) if probability else None

        detail = f"{links}, {_percent(probability)} of requests break it once delivered"
        return self._inflict(LOSSY_LINK, links, "breaking", trouble, detail, for_ms)

    def break_connections(self, links: Links) -> int:
        """Break the connections that are open, once: what is on its way there is lost. New ones can be made at once."""
        self._check(links)
        there = self._network.open_links(links)
        if not there:
            raise ClusterError(f"{BREAK} has no effect: no connection is open {links}")
        cause = self._deeds.fault_on_links(BREAK, str(links))
        for link in there:
            link.sever("the network has reset the connection")
        self._deeds.confirm_on_links(cause, BREAK, f"{_counted(len(there), 'connection')} broken {links}")
        return cause

    def break_once_delivered(self, links: Links, request: str) -> int:
        """Break the connection on which the next such request is delivered, before it is answered; returns at once.

        Args:
            links: the request goes from a source of these to a target.
            request: LeaderAndIsr, Fetch, Produce, …
        """
        self._check(links)
        cause = self._deeds.fault_on_links(BREAK, f"armed: {links}, once {request} has been delivered")
        self._network.traps.append(Trap(links, request, partial(self._deeds.confirm_on_links, cause, BREAK), cause))
        return cause

    def heal(self, links: Links = EVERYWHERE) -> int:
        """Let these links be as they should. What is being sent again arrives when it is sent for the next time."""
        self._check(links)
        wrong = [link for link, condition in self._conditions_of(links).items() if condition != PERFECT]
        if not wrong:
            raise ClusterError(f"{HEAL} has no effect: nothing is wrong {links}")
        self._network.conditions.change(Change(links))
        return self._deeds.act(HEAL, None, f"{links}, {_counted(len(wrong), 'link')} in trouble")

    def is_well(self) -> bool:
        """Whether nothing is wrong with any link."""
        return all(condition == PERFECT for condition in self._conditions_of(EVERYWHERE).values())

    # --- how

    def _inflict(
        self,
        fault: str,
        links: Links,
        kind: Kind,
        trouble: Callable[[int], Trouble | None],
        detail: str,
        for_ms: int | None,
    ) -> int | None:
        self._check(links)
        wanted = trouble(0)
        changed = sum(getattr(condition, kind) != wanted for condition in self._conditions_of(links).values())
        if not changed and wanted is None:
            return None
        if not changed:
            raise ClusterError(f"{fault} has no effect: it is so already {detail}")
        cause = self._deeds.fault_on_links(fault, detail)
        change = Change(links, kind, trouble(cause))
        self._network.conditions.change(change)
        connections = _counted(len(self._network.open_links(links)), "open connection")
        self._deeds.confirm_on_links(cause, fault, f"{detail}: {_counted(changed, 'link')}, {connections} on them")
        if for_ms is not None:
            self._runtime.spawn(f"end of {fault}", self._take_back_after(change, for_ms))
        return cause

    async def _take_back_after(self, change: Change, for_ms: int) -> None:
        await self._runtime.sleep_ms(for_ms)
        before = self._conditions_of(change.links)
        self._network.conditions.take_back(change)
        after = self._conditions_of(change.links)
        healed = sum(after[link] != before[link] for link in before)
        if healed:
            self._deeds.act(HEAL, None, f"{change.links}, {_counted(healed, 'link')}, after {for_ms} ms")

    def _conditions_of(self, links: Links) -> dict[tuple[str, str], LinkCondition]:
        return self._network.conditions.of_all(links, self._nodes())

    def _nodes(self) -> set[str]:
        return {*self._expected, *self._network.nodes}

    def _check(self, links: Links) -> None:
        nodes = self._nodes()
        for name in sorted((links.sources or set()) | (links.targets or set())):
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
