"""The description of a cluster: its brokers, their settings, and the limits of its ZooKeeper."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kcsim.brokers.config import PROTOCOL_VERSION, BrokerConfig, Value
from kcsim.controller.capabilities import Release
from kcsim.controller.protections import ALL_ON, Protections
from kcsim.zk.servers.free_ports import free_ports

TICK_TIME_MS = 200
TICKS_OF_THE_LONGEST_SESSION = 20
"""The longest session time-out that ZooKeeper grants by default, in ticks."""


@dataclass(frozen=True, slots=True)
class BrokerSpec:
    """One broker. `settings` are its own: they take precedence over those of the cluster."""

    broker_id: int
    rack: str | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"broker-{self.broker_id}"


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The description of a cluster. `settings` has Kafka's dotted names; protections hold for every broker.

    Attributes:
        max_session_timeout_ms: ZooKeeper's maxSessionTimeout; None leaves it at 20 ticks.
        client_ports: by broker id, the TCP port on which Kafka's clients reach the broker; only in live runs.
            None: no broker is reached from outside the run.
        client_host: the host on which these ports are opened, and which the brokers advertise.
        zookeeper_proxy: the connect string by which brokers reach ZooKeeper, if a proxy stands between; only in live runs.
        has_brokers_elsewhere: whether brokers of other processes belong to the cluster, too.
        control_plane_over_tcp: whether controller and brokers reach each other at the client ports, with requests as bytes.
        replication_over_tcp: whether followers reach their leaders in the same way; only with control_plane_over_tcp.
        data_dir: where the logs of the only broker are kept in files; None: they are in memory, and end with the process.
        listener_proxies: whether real brokers reach each other through proxies, so that links can be cut.
        is_hardened: whether controllers and brokers do what Kafka's do not, to survive faults (controller/hardening.py).
        release: the release of Kafka whose behaviour the brokers have; None: that of the protocol version, but at least 2.8.
    """

    brokers: tuple[BrokerSpec, ...]
    settings: Mapping[str, Value]
    tick_time_ms: int = TICK_TIME_MS
    protections: Protections = ALL_ON
    max_session_timeout_ms: int | None = None
    client_ports: Mapping[int, int] | None = None
    control_plane_over_tcp: bool = False
    release: Release | None = None
    listener_proxies: bool = False
    client_host: str = "127.0.0.1"
    has_brokers_elsewhere: bool = False
    replication_over_tcp: bool = False
    data_dir: Path | None = None
    zookeeper_proxy: str | None = None
    is_hardened: bool = False

    @property
    def session_timeout_ms(self) -> int:
        """How long a broker's session lives without a heartbeat: the requested time, limited to what ZooKeeper grants."""
        default_ms = BrokerConfig().zookeeper_session_timeout_ms
        longest_ms = self.max_session_timeout_ms or TICKS_OF_THE_LONGEST_SESSION * self.tick_time_ms
        return min(int(self.settings.get("zookeeper.session.timeout.ms", default_ms)), longest_ms)

    def settings_of(self, broker: BrokerSpec) -> dict[str, Value]:
        """Return one broker's settings. Without a protocol version, that of the cluster's release, if there is one."""
        of_release = {} if self.release is None else {PROTOCOL_VERSION: self.release}
        return {**of_release, **self.settings, **broker.settings}

    def with_free_client_ports(self) -> "ClusterSpec":
        """Return this cluster with client ports on which no process listens at present."""
        ports = free_ports(len(self.brokers))
        return replace(self, client_ports={b.broker_id: port for b, port in zip(self.brokers, ports, strict=True)})


def max_session_timeout_ms(settings: Mapping[str, Value], tick_time_ms: int) -> int | None:
    """Return a maxSessionTimeout of ZooKeeper that grants the brokers' requested time; None if the settings have none."""
    requested = settings.get("zookeeper.session.timeout.ms")
    return max(TICKS_OF_THE_LONGEST_SESSION * tick_time_ms, requested) if isinstance(requested, int) else None
