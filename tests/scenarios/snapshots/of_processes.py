"""Snapshots of clusters of processes."""

from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.runtime.wallclock import wall_clock_ms
from kcsim.scenarios.cli.kafka_tools.cluster_session import cluster_session
from kcsim.scenarios.cli.snapshot import READS_PER_SECOND
from kcsim.scenarios.snapshots.control_znodes import snapshot_of
from kcsim.scenarios.snapshots.live_znodes import LiveZnodes
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.zk.security import ClientSecurity
from kcsim.zk.servers.external import parse_connect_string


async def snapshot_of_cluster(cluster: ProcessCluster) -> ControlPlaneSnapshot:
    """Read the control state of a running cluster from its ZooKeeper."""
    where = parse_connect_string(cluster.connect_string)
    async with cluster_session(cluster.runtime, where, ClientSecurity()) as kafka_zk:
        client = kafka_zk.znodes.client
        return snapshot_of(await LiveZnodes(cluster.runtime, client, str(where), wall_clock_ms, READS_PER_SECOND).read())
