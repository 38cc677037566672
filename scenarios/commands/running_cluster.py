"""The cluster of kcsim up that a command means: by its name, or by its ZooKeeper."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kcsim.scenarios.commands.cluster_work import zookeeper_trouble_ends_the_command
from kcsim.scenarios.commands.ending import ExitStatus, give_up

if TYPE_CHECKING:
    from kcsim.scenarios.admin.controller_api import RunningCluster


def running_cluster(cluster: str | None, zookeeper: str | None, what: str) -> "RunningCluster":
    """The cluster, or the end of the command.

    Args:
        cluster: its name, if it is given by that.
        zookeeper: else where it keeps its znodes.
        what: is asked of its controller, in the plural.
    """
    from kcsim.scenarios.admin.controller_api import RunningCluster, cluster_on

    if cluster is not None:
        return RunningCluster(cluster)
    assert zookeeper is not None
    with zookeeper_trouble_ends_the_command(), control_trouble_ends_the_command():
        found = cluster_on(zookeeper)
    if found is None:
        give_up(
            f"{what} go through the controller's API, for which there is no znode (Kafka's tool wants --bootstrap-server),"
            f" and no cluster of kcsim up runs on {zookeeper}",
            ExitStatus.UNDECIDED,
        )
    return found


@contextmanager
def control_trouble_ends_the_command() -> Iterator[None]:
    """Turn what can go wrong when a running cluster is asked into the end of a command."""
    from kcsim.scenarios.playground.control import BadClusterNameError, ControlError, DeniedError

    try:
        yield
    except BadClusterNameError as error:
        give_up(f"--cluster: {error}", ExitStatus.USAGE)
    except DeniedError as error:
        give_up(str(error), ExitStatus.USAGE if error.makes_no_sense else ExitStatus.UNDECIDED)
    except ControlError as error:
        give_up(str(error), ExitStatus.UNDECIDED)
