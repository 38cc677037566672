"""The factory behind the cluster fixtures."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from kcsim.scenarios.testing.artefacts import Artefacts
from kcsim.scenarios.testing.cluster import ClusterForTest
from kcsim.scenarios.testing.errors import BadOptionError
from kcsim.scenarios.testing.options import Options
from kcsim.scenarios.testing.worlds import Brokers, live_cluster, simulated_cluster, spec_of
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.scenarios.testing.zookeepers import InWords
from kcsim.scenarios.zookeeper_choice import ZooKeeperKind


class ClusterFactory:
    """Makes clusters; their runs end with the test.

    Args:
        new_root: makes a ZooKeeper for a cluster that says nothing of one.
    """

    def __init__(
        self,
        options: Options,
        artefacts: Artefacts,
        ends: ExitStack,
        name: str,
        new_root: Callable[[], ZooKeeperForTest],
        in_words: InWords,
    ) -> None:
        self._options = options
        self._artefacts = artefacts
        self._ends = ends
        self._name = name
        self._new_root = new_root
        self._in_words = in_words

    def __call__(
        self,
        brokers: Brokers = 3,
        *,
        racks: int | None = None,
        settings: Mapping[str, str | int | bool] | None = None,
        zookeeper: str | ZooKeeperForTest | None = None,
        seed: int | None = None,
        start: bool = True,
    ) -> ClusterForTest:
        """Make a cluster, start its brokers, and wait until one is the controller.

        Args:
            brokers: how many (ids 1, 2, …), or a list of {"id": …, "rack": …}.
            racks: spread them over so many.
            settings: of every broker, under Kafka's dotted names.
            zookeeper: "simulated": in virtual time; or a ZooKeeper of the test's. None: as --kcsim-zookeeper says.
            start: False: the test does that itself.
        """
        with self._in_words():
            spec, drawn = spec_of(brokers, racks, settings or {}), self._options.seed if seed is None else seed
            root = self._root(zookeeper)
            if root is None:
                cluster = simulated_cluster(spec, self._name, drawn, self._artefacts)
            else:
                cluster = live_cluster(spec, self._name, drawn, root, self._artefacts)
        self._ends.callback(cluster.close)
        if start:
            cluster.start()
            cluster.wait_for_controller()
        return cluster

    def _root(self, asked: str | ZooKeeperForTest | None) -> ZooKeeperForTest | None:
        """Where it lives; None: in virtual time."""
        if isinstance(asked, ZooKeeperForTest):
            return asked
        if asked not in (None, ZooKeeperKind.SIMULATED):
            raise BadOptionError(f"zookeeper={asked!r}: a cluster is 'simulated', or on a ZooKeeper that a fixture has made")
        simulated = asked or self._options.zookeeper == ZooKeeperKind.SIMULATED
        return None if simulated else self._new_root()
