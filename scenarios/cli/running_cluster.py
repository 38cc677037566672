"""The cluster of kcsim up that a command's options name, by cluster name or by ZooKeeper, or the one that is up."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors
from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.scenarios.cli.kafka_tools.controller_api import RunningCluster


def running_cluster(cluster: str | None, zookeeper: str | None, what: str) -> "RunningCluster":
    """Return the cluster, or end the command.

    Args:
        cluster: its name, if the command names it.
        zookeeper: otherwise the connect string of its ZooKeeper.
        what: the kind of request to its controller, in the plural, for the message: "unclean elections".
    """
    from kcsim.scenarios.cli.kafka_tools.controller_api import RunningCluster, find_cluster_on

    if cluster is not None:
        return RunningCluster(cluster)
    assert zookeeper is not None
    with exit_on_zookeeper_errors(), exit_on_control_errors():
        found = find_cluster_on(zookeeper)
    if found is None:
        fail(
            f"{what} go through the controller's API, for which there is no znode (Kafka's tool wants --bootstrap-server),"
            f" and no cluster of kcsim up runs on {zookeeper}",
            ExitStatus.UNDECIDED,
        )
    return found


def only_cluster(cluster: str | None) -> str:
    """Return the name of the cluster that a command is about: as given, else `default` if that is up, else the only one.

    Raises: ControlError, if none is up.
    """
    from kcsim.scenarios.cli.up_cluster.control import DEFAULT_CLUSTER, NoClusterError, running_clusters

    if cluster is not None:
        return cluster
    running = running_clusters()
    if DEFAULT_CLUSTER in running:
        return DEFAULT_CLUSTER
    if len(running) > 1:
        fail(f"several clusters are up: {', '.join(running)}; name one with --cluster", ExitStatus.USAGE)
    if not running:
        raise NoClusterError(None, [])
    return running[0]


def zookeeper_or_running_cluster(zookeeper: str | None) -> str | None:
    """Return --zookeeper, else the connect string of the cluster that is up; None if none is."""
    from kcsim.scenarios.cli.up_cluster.control import ControlError, NoClusterError, running_clusters

    if zookeeper is not None:
        return zookeeper
    from kcsim.scenarios.cli.kafka_tools.controller_api import RunningCluster

    try:
        with exit_on_control_errors(passed=NoClusterError):
            running = running_clusters()
            if len(running) > 1:
                fail(f"several clusters are up: {', '.join(running)}; name the ZooKeeper of one", ExitStatus.USAGE)
            return RunningCluster(only_cluster(None)).connect_string()
    except ControlError:
        return None


def checked_location(zookeeper: str | None, cluster: str | None) -> str | None:
    """Return --zookeeper, if neither option is given the connect string of the cluster that is up, else None."""
    if zookeeper is not None and cluster is not None:
        fail("give either --zookeeper or --cluster", ExitStatus.USAGE)
    if cluster is not None:
        return None
    found = zookeeper_or_running_cluster(zookeeper)
    if found is None:
        fail("give either --zookeeper or --cluster, or start a cluster with kcsim up", ExitStatus.USAGE)
    return found


@contextmanager
def exit_on_control_errors(passed: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn the errors of requests to a running cluster into the end of a command, but those of the type `passed`."""
    from kcsim.scenarios.cli.up_cluster.control import BadClusterNameError, ControlError, DeniedError

    try:
        yield
    except passed:
        raise
    except BadClusterNameError as error:
        fail(f"--cluster: {error}", ExitStatus.USAGE)
    except DeniedError as error:
        fail(str(error), ExitStatus.USAGE if error.invalid_request else ExitStatus.UNDECIDED)
    except ControlError as error:
        fail(str(error), ExitStatus.UNDECIDED)
