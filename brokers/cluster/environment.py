"""The environment of a cluster: what exists before its first broker."""

from dataclasses import dataclass, field

from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.cluster.server_faults import ZooKeeperMembers
from kcsim.brokers.ports import OpensControlPlanes, OpensPorts
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime
from kcsim.zk.ports import Session, ZooKeeper


@dataclass(frozen=True, slots=True)
class ClusterEnvironment:
    """What a cluster runs on.

    Attributes:
        zookeeper: opens sessions for brokers and for tools.
        admin: the scenario's own ZooKeeper session, for znodes written by hand.
        members: the ZooKeeper servers that faults may be injected into; None if the run did not start them.
        epoch_ms: wall-clock time of the run's start, in ms since 1970.
        open_port: opens the ports of brokers for clients from outside the run; None: it cannot be done here.
        open_control_plane: opens the way of the requests between controller and brokers over TCP; None: it cannot be done.
        acknowledged_records: those that brokers have acknowledged to such clients.
    """

    runtime: Runtime
    log: EventLog
    zookeeper: ZooKeeper
    admin: Session
    members: ZooKeeperMembers | None
    epoch_ms: int
    open_port: OpensPorts | None = None
    open_control_plane: OpensControlPlanes | None = None
    acknowledged_records: AcknowledgedRecords = field(default_factory=AcknowledgedRecords)
