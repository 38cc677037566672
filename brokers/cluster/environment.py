"""The environment of a cluster: what exists before its first broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.cluster.server_faults import ZooKeeperMembers
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.network.client_link import OpensPorts
from kcsim.brokers.ports import OpensControlPlanes
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime
from kcsim.zk.ports import Session, ZooKeeper


class ObservedClients(Protocol):
    """The clients from outside the run, as the brokers' ports see them."""

    @property
    def connections(self) -> Mapping[str, int]:
        """Client id -> the number of its open connections."""
        ...

    def report_all(self) -> None:
        """Append the events that are summed up."""
        ...


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
        clients: such clients; None: there cannot be any.
        disks: by broker, those that were opened before the run began; the other brokers' logs are in memory.
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
    clients: ObservedClients | None = None
    disks: Mapping[str, Disk] = field(default_factory=dict)
