"""Settings of a server that this process starts, and the zoo.cfg with them.

The defaults are for short runs on one machine: short ticks, so that sessions expire quickly, and a transaction log that is
written but not forced to the disk (its order and content are the same; a power cut may lose its end, but the log is not kept
after the run).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

LONGEST_NOTIFICATION_INTERVAL_MS = 2_000
SASL_PROVIDER = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a server. Names follow ZooKeeper's; None keeps ZooKeeper's own default.

    Attributes:
        tick_time_ms: a session's time-out is granted between min_session_timeout_ms (2 ticks) and max_session_timeout_ms
            (20 ticks).
        init_limit, sync_limit: in ticks: how long a member may take to join its leader, and to answer it afterwards. The
            other members abandon a paused leader after sync_limit.
        jute_max_buffer: bytes; the longest request, and the longest znode.
        force_sync: force each transaction to the disk before it is answered.
        snap_count: about how many transactions go into one log file before a snapshot is taken and the next one begins.
        sasl_users: names and passwords of the users that may authenticate with SASL (DIGEST-MD5); none: there is no SASL.
            Clients that do not authenticate are served, too, as far as the ACLs allow.
        read_only_mode: whether a member that is cut off from its ensemble serves clients that accept to read only. Sessions
            are local to their member then, as ZooKeeper requires for it since 3.5: they expire when they move to another.
        entries: more entries of zoo.cfg, such as {"secureClientPort": "2281"}. They replace those that this class writes.
    """

    tick_time_ms: int = 200
    min_session_timeout_ms: int | None = None
    max_session_timeout_ms: int | None = None
    init_limit: int = 50
    sync_limit: int = 10
    jute_max_buffer: int | None = None
    heap_mb: int = 256
    force_sync: bool = False
    pre_alloc_kb: int = 64
    snap_count: int | None = None
    sasl_users: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    read_only_mode: bool = False
    entries: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def jvm_options(self) -> list[str]:
        """Return the JVM's options: quick start, small memory use, and ZooKeeper's settings that are system properties."""
        properties = {
            "zookeeper.forceSync": "yes" if self.force_sync else "no",
            "zookeeper.preAllocSize": self.pre_alloc_kb,
            "zookeeper.snapCount": self.snap_count,
            "jute.maxbuffer": self.jute_max_buffer,
            "readonlymode.enabled": "true" if self.read_only_mode else None,
            # A member without a leader repeats its question to the others at intervals that double each time. ZooKeeper's
            # own limit, a minute, could keep a member on a busy machine out of the ensemble for that long.
            "zookeeper.fastleader.maxNotificationInterval": LONGEST_NOTIFICATION_INTERVAL_MS,
        }
        return [
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
            f"-Xmx{self.heap_mb}m",
            *(f"-D{name}={value}" for name, value in properties.items() if value is not None),
        ]


def zoo_cfg(
    settings: ServerSettings,
    data_dir: str,
    data_log_dir: str,
    client_address: str,
    client_port: int,
    servers: Mapping[int, str],
) -> str:
    """Return the text of a member's zoo.cfg.

    Args:
        servers: per member id its host:quorum-port:election-port; empty for a standalone server.
    """
    entries = {
        "dataDir": data_dir,
        "dataLogDir": data_log_dir,
        "clientPortAddress": client_address,
        "clientPort": client_port,
        "tickTime": settings.tick_time_ms,
        "minSessionTimeout": settings.min_session_timeout_ms,
        "maxSessionTimeout": settings.max_session_timeout_ms,
        "initLimit": settings.init_limit,
        "syncLimit": settings.sync_limit,
        "maxClientCnxns": 0,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
        "localSessionsEnabled": "true" if settings.read_only_mode else None,
        "localSessionsUpgradingEnabled": "true" if settings.read_only_mode else None,
        "authProvider.sasl": SASL_PROVIDER if settings.sasl_users else None,
        **{f"server.{number}": address for number, address in sorted(servers.items())},
        **settings.entries,
    }
    return "".join(f"{name}={value}\n" for name, value in entries.items() if value is not None)
