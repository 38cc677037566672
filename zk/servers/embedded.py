"""A real Apache ZooKeeper, run from the jars that PySpark contains: nothing but `pip install` is needed.

A standalone server serves some 0.4 s after the call, an ensemble of three after 1 to 4 s. These servers are temporary: the
servers and their data are removed when the process that started them ends, in whatever way it ends (guard.py).
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from kcsim.zk.security.jaas import server_section
from kcsim.zk.servers.configuration import ServerSettings, zoo_cfg
from kcsim.zk.servers.errors import NoJarsError, NotStartedError
from kcsim.zk.servers.free_ports import free_ports
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.zk.servers.java import Java, find_java
from kcsim.zk.servers.managed import HOST, ManagedZooKeeper
from kcsim.zk.servers.ports import State

# The rest of PySpark's 200 jars would only make the JVM's start slower.
JARS = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "netty-buffer-*.jar",
    "netty-codec-[0-9]*.jar",
    "netty-codec-base-*.jar",
    "netty-common-*.jar",
    "netty-handler-[0-9]*.jar",
    "netty-resolver-[0-9]*.jar",
    "netty-transport-[0-9]*.jar",
    "netty-transport-classes-epoll-*.jar",
    "netty-transport-native-unix-common-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-2*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "commons-io-*.jar",
    "commons-cli-*.jar",
)
OPTIONAL_JARS = frozenset({"netty-codec-base-*.jar"})  # separate from netty-codec since Netty 4.2; PySpark 4.0 has 4.1

LOGGING = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %-5p %c{1} [%t] %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
# One line for each of our own looks at it.
logger.words.name = org.apache.zookeeper.server.NIOServerCnxn
logger.words.level = warn
"""

STANDALONE_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
QUORUM_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class EmbeddedZooKeeper(ManagedZooKeeper):
    """A ZooKeeper in JVMs that this process starts; see ZooKeeperServers for the operations.

    `with EmbeddedZooKeeper() as zk: …zk.connect_string…`, or `async with`, or start() and stop().
    """

    def __init__(
        self,
        members: int = 1,
        settings: ServerSettings = ServerSettings(),  # noqa: B008 -- frozen
        client_ports: Sequence[int] | None = None,
        serving_timeout_s: float = 120.0,
        java: Java | None = None,
    ) -> None:
        """Prepare to start; nothing is started yet, and Java is searched only at the start.

        Args:
            members: 1, or an odd number of ensemble members.
            client_ports: one per member, on 127.0.0.1; None chooses free ports.
            java: the runtime; None takes the one that find_java finds.
        """
        super().__init__(JvmHost(settings, java), members, client_ports, serving_timeout_s)


class JvmHost:
    """Runs members as guarded JVMs, each in its own directory with zoo.cfg, data and log."""

    def __init__(self, settings: ServerSettings, java: Java | None) -> None:
        self._settings = settings
        self._java = java
        self._guarded: GuardedProcesses | None = None
        self._command: list[str] = []
        self._main = STANDALONE_MAIN

    @property
    def guarded(self) -> GuardedProcesses:
        if self._guarded is None:
            raise NotStartedError
        return self._guarded

    def prepare(self, client_ports: Mapping[str, int]) -> None:
        java = self._java or find_java()
        jars = zookeeper_jars()
        self._guarded = GuardedProcesses()
        logging = self.guarded.directory / "log4j2.properties"
        logging.write_text(LOGGING)
        jaas = self.guarded.directory / "jaas.conf"
        if self._settings.sasl_users:
            jaas.touch(mode=0o600)
            jaas.write_text(server_section(self._settings.sasl_users))
        self._command = [
            str(java.executable),
            *self._settings.jvm_options(),
            *([f"-Djava.security.auth.login.config={jaas}"] if self._settings.sasl_users else []),
            f"-Dlog4j2.configurationFile={logging}",
            f"-XX:ErrorFile={self.guarded.directory}/crash-%p.log",  # else in the user's directory
            f"-XX:ReplayDataFile={self.guarded.directory}/replay-%p.log",
            "-cp",
            ":".join(map(str, jars)),
        ]
        servers = quorum_addresses(len(client_ports)) if len(client_ports) > 1 else {}
        self._main = QUORUM_MAIN if servers else STANDALONE_MAIN
        for number, (name, port) in enumerate(client_ports.items(), start=1):
            home = self._home(name)
            data = home / "data"
            data.mkdir(parents=True)
            (data / "myid").write_text(f"{number}\n")
            (home / "zoo.cfg").write_text(zoo_cfg(self._settings, str(data), str(data), HOST, port, servers))

    def launch(self, name: str) -> None:
        self.guarded.start(name, [*self._command, self._main, str(self._home(name) / "zoo.cfg")], self.log_path(name))

    def kill(self, name: str) -> State:
        return self.guarded.kill(name)

    def pause(self, name: str) -> State:
        return self.guarded.pause(name)

    def resume(self, name: str) -> State:
        return self.guarded.resume(name)

    def states(self) -> Mapping[str, State]:
        return self.guarded.states()

    def log_path(self, name: str) -> Path:
        return self._home(name) / "zookeeper.log"

    def transaction_log_dir(self, name: str) -> Path | None:
        return self._home(name) / "data" / "version-2"

    def close(self) -> None:
        guarded, self._guarded = self._guarded, None
        if guarded is not None:
            guarded.close()

    def _home(self, name: str) -> Path:
        return self.guarded.directory / name


def zookeeper_jars() -> list[Path]:
    """Return those of PySpark's jars that a server needs. Raises: NoJarsError, which names the missing jars."""
    pyspark = find_spec("pyspark")  # finds it without importing it
    if pyspark is None or pyspark.origin is None:
        raise NoJarsError("this Python", ["pyspark"])
    directory = Path(pyspark.origin).parent / "jars"
    found = {pattern: sorted(directory.glob(pattern)) for pattern in JARS}
    if missing := [pattern for pattern, jars in found.items() if not jars and pattern not in OPTIONAL_JARS]:
        raise NoJarsError(str(directory), missing)
    return [jar for jars in found.values() for jar in jars]


def quorum_addresses(members: int) -> dict[int, str]:
    """Choose each member's quorum and election ports: member id -> host:port:port."""
    ports = free_ports(2 * members)
    return {n: f"{HOST}:{ports[2 * n - 2]}:{ports[2 * n - 1]}" for n in range(1, members + 1)}
