"""The factory behind the cluster fixtures."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
from kcsim.scenarios.testing.artefacts import Artefacts
from kcsim.scenarios.testing.cluster import ClusterForTest
from kcsim.scenarios.testing.cluster_environments import Brokers, checked_spec, live_cluster, simulated_cluster
from kcsim.scenarios.testing.errors import BadOptionError
from kcsim.scenarios.testing.options import PluginOptions
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.scenarios.testing.zookeepers import SkipOrFail


class ClusterFactory:
    """Makes clusters. Their runs end with the test.

    Args:
        new_root: makes a ZooKeeper root for a cluster whose call names no ZooKeeper.
    """

    def __init__(
        self,
        options: PluginOptions,
        artefacts: Artefacts,
        ends: ExitStack,
        name: str,
        new_root: Callable[[], ZooKeeperForTest],
        skip_or_fail: SkipOrFail,
    ) -> None:
        self._options = options
        self._artefacts = artefacts
        self._ends = ends
        self._name = name
        self._new_root = new_root
        self._skip_or_fail = skip_or_fail

    def __call__(
        self,
        brokers: Brokers = 3,
        *,
        racks: int | None = None,
        settings: Mapping[str, str | int | bool] | None = None,
        zookeeper: str | ZooKeeperForTest | None = None,
        seed: int | None = None,
        hardening: bool = False,
        start: bool = True,
    ) -> ClusterForTest:
        """Make a cluster, start its brokers, and wait until one of them is the controller.

        On a real ZooKeeper, where Kafka's clients reach the brokers, wait until the metadata of every broker name it, too.

        Args:
            brokers: how many (ids 1, 2, …), or a list of {"id": …, "rack": …}.
            racks: number of racks to spread the brokers over.
            settings: settings of every broker, under Kafka's dotted names.
            zookeeper: "simulated" for virtual time, or a ZooKeeper of the test. None: as --kcsim-zookeeper says.
            hardening: whether controller and brokers do what Kafka's do not, to survive faulty znodes.
            start: False: the test starts the brokers itself.
        """
        with self._skip_or_fail():
            spec = checked_spec(brokers, racks, settings or {}, hardening)
            drawn = self._options.seed if seed is None else seed
            root = self._root(zookeeper)
            if root is None:
                cluster = simulated_cluster(spec, self._name, drawn, self._artefacts)
            else:
                cluster = live_cluster(spec.with_free_client_ports(), self._name, drawn, root, self._artefacts)
        self._ends.callback(cluster.close)
        self._ends.callback(self._check_faults, cluster)
        if start:
            cluster.start()
            cluster.wait_for_controller()
            if not cluster.is_simulated:
                cluster.wait_for_metadata()
        return cluster

    def _check_faults(self, cluster: ClusterForTest) -> None:
        """Fail the test for an armed fault that nothing has triggered, unless it has failed before."""
        if self._artefacts.test_has_failed:
            return
        with self._skip_or_fail():
            cluster.check_that_faults_had_an_effect()

    def _root(self, requested: str | ZooKeeperForTest | None) -> ZooKeeperForTest | None:
        """Return the ZooKeeper root for a cluster; None: the cluster is in virtual time."""
        if isinstance(requested, ZooKeeperForTest):
            return requested
        if requested not in (None, ZooKeeperKind.SIMULATED):
            raise BadOptionError(
                f"zookeeper={requested!r}: a cluster is 'simulated', or on a ZooKeeper that a fixture has made"
            )
        simulated = requested or self._options.zookeeper == ZooKeeperKind.SIMULATED
        return None if simulated else self._new_root()
