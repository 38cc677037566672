"""Does the steps of a timetable that are about the network: turns each into a fault of the cluster's network."""

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.language.network_steps import BreakConnections, Heal, LossyLink, NetworkStep, Partition, SlowLink
from kcsim.scenarios.language.network_words import RACK, LinksMeant
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.words import ALL
from kcsim.scenarios.link_conditions import EVERYWHERE, Links, Side

Armed = tuple[int, str]
"""The seq of a fault that waits for its moment, and what has not happened as long as it has not struck."""


class NetworkRunner:
    """Does steps on a cluster.

    Args:
        racks: each rack with the names of its brokers.
        clients: nodes that are on the network only once a step has started them.
        nodes: who is meant now by names of brokers. Raises: ClusterError.
    """

    def __init__(
        self,
        cluster: Cluster,
        racks: Mapping[str, Sequence[str]],
        clients: Sequence[str],
        nodes: Callable[[Sequence[str]], list[str]],
    ) -> None:
        self._faults = cluster.network_faults
        self._faults.expect(clients)
        self._racks = racks
        self._clients = frozenset(clients)
        self._nodes = nodes

    def do(self, step: NetworkStep) -> Armed | None:
        """Do one step. Raises: ClusterError when it would have no effect. Returns: only if it waits for its moment."""
        match step:
            case Partition(partition=meant, for_=for_ms):
                self._faults.partition(self._links(meant), meant.refuse, for_ms)
            case SlowLink(slow_link=meant, for_=for_ms):
                self._faults.slow(self._links(meant), meant.delay, meant.jitter, for_ms)
            case LossyLink(lossy_link=meant, for_=for_ms):
                if meant.loss is not None:
                    self._faults.lossy(self._links(meant), meant.loss, for_ms)
                if meant.break_ is not None:
                    self._faults.breaking(self._links(meant), meant.break_, for_ms)
            case BreakConnections(break_connections=meant):
                if meant.once_delivered is not None:
                    links = self._links(meant)
                    seq = self._faults.break_once_delivered(links, meant.once_delivered)
                    return seq, f"no {meant.once_delivered} was delivered {links}"
                self._faults.break_connections(self._links(meant))
            case Heal(heal=meant):
                self._faults.heal(self._links(meant) if isinstance(meant, LinksMeant) else EVERYWHERE)
            case _:
                assert_never(step)
        return None

    def _links(self, meant: LinksMeant) -> Links:
        return Links(self._side(meant.sources), self._side(meant.targets), meant.is_both_ways)

    def _side(self, names: Sequence[str]) -> Side:
        if ALL in names:
            return None
        return frozenset(node for name in names for node in self._meant(name))

    def _meant(self, name: str) -> Sequence[str]:
        if name.startswith(RACK):
            return self._racks[name.removeprefix(RACK)]
        return (name,) if name in self._clients else self._nodes((name,))


def racks_of(scenario: Scenario) -> dict[str, list[str]]:
    """Each rack with the names of its brokers."""
    racks: dict[str, list[str]] = {}
    for broker in scenario.cluster.members():
        if broker.rack is not None:
            racks.setdefault(broker.rack, []).append(f"broker-{broker.id}")
    return racks


def clients_of(scenario: Scenario) -> list[str]:
    """The nodes that the producers and consumers of a scenario are on the network."""
    groups = scenario.workload.groups.values()
    consumers = [f"consumer-{name}" for group in groups for name in group.each_member()]
    return [*(f"producer-{name}" for name in scenario.workload.producers), *consumers]
