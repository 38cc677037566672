"""The cluster of kcsim up that a command's options name, by cluster name or by ZooKeeper."""

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


@contextmanager
def exit_on_control_errors() -> Iterator[None]:
    """Turn the errors of requests to a running cluster into the end of a command."""
    from kcsim.scenarios.cli.up_cluster.control import BadClusterNameError, ControlError, DeniedError

    try:
        yield
    except BadClusterNameError as error:
        fail(f"--cluster: {error}", ExitStatus.USAGE)
    except DeniedError as error:
        fail(str(error), ExitStatus.USAGE if error.invalid_request else ExitStatus.UNDECIDED)
    except ControlError as error:
        fail(str(error), ExitStatus.UNDECIDED)
