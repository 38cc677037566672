"""Where a command gets its brokers from: --brokers, or --zookeeper."""

from typing import TYPE_CHECKING

from kcsim.scenarios.commands.cluster_work import zookeeper_trouble_ends_the_command
from kcsim.scenarios.commands.ending import ExitStatus, give_up

if TYPE_CHECKING:
    from kcsim.scenarios.questions.cluster_reading import ClusterSeen


def cluster_of(brokers: str | None, zookeeper: str | None) -> "ClusterSeen":
    """The cluster of one of the two, or the end of the command."""
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.questions.broker_words import BadBrokersError, parse_brokers
    from kcsim.scenarios.questions.cluster_reading import ClusterSeen

    if (brokers is None) == (zookeeper is None):
        give_up("give either --brokers or --zookeeper", ExitStatus.USAGE)
    if zookeeper is not None:
        return cluster_at(zookeeper)
    assert brokers is not None
    try:
        return ClusterSeen(parse_brokers(brokers))
    except (BadBrokersError, RefusedError) as error:
        give_up(f"--brokers: {error}", ExitStatus.USAGE)


def cluster_at(zookeeper: str) -> "ClusterSeen":
    """The cluster that this ZooKeeper knows, or the end of the command."""
    from kcsim.scenarios.questions.cluster_reading import read_cluster

    with zookeeper_trouble_ends_the_command():
        return read_cluster(zookeeper)
