"""The source of a command's brokers: --brokers or --zookeeper."""

from typing import TYPE_CHECKING

from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors
from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.scenarios.cli.calculators.cluster_metadata import ClusterMetadata


def cluster_from_options(brokers: str | None, zookeeper: str | None) -> "ClusterMetadata":
    """Return the cluster that one of the two options describes, or end the command."""
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.cli.calculators.broker_list import BadBrokersError, parse_brokers
    from kcsim.scenarios.cli.calculators.cluster_metadata import ClusterMetadata

    if (brokers is None) == (zookeeper is None):
        fail("give either --brokers or --zookeeper", ExitStatus.USAGE)
    if zookeeper is not None:
        return cluster_from_zookeeper(zookeeper)
    assert brokers is not None
    try:
        return ClusterMetadata(parse_brokers(brokers))
    except (BadBrokersError, RefusedError) as error:
        fail(f"--brokers: {error}", ExitStatus.USAGE)


def cluster_from_zookeeper(zookeeper: str) -> "ClusterMetadata":
    """Return the cluster as its ZooKeeper has it, or end the command."""
    from kcsim.scenarios.cli.calculators.cluster_metadata import read_cluster

    with exit_on_zookeeper_errors():
        return read_cluster(zookeeper)
