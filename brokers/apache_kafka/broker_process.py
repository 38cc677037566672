"""One Apache Kafka broker as a child process: start, stop, kill, pause, resume, and restart in the same directory.

The process is guarded (zk/servers/guard.py): paused or not, it does not outlive this process, however this process ends. The
broker's files stay in its directory, which belongs to the caller, so that a later start finds the broker's log.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from kcsim.brokers.apache_kafka.errors import BrokerExitedError
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.apache_kafka.log_files import (
    BROKER_LOG4J,
    CONSOLE,
    DIRECTORY_PROPERTY,
    SERVER_LOG,
    jvm_options,
    reason_in,
)
from kcsim.brokers.apache_kafka.properties import (
    HOST,
    NO_SETTINGS,
    KafkaBrokerSpec,
    Value,
    properties_text,
    server_properties,
)
from kcsim.brokers.guarded_broker import GuardedBroker
from kcsim.controller.capabilities import Release
from kcsim.errors import TimedOutError
from kcsim.zk.servers.errors import PortTakenError
from kcsim.zk.servers.free_ports import free_ports, is_free
from kcsim.zk.servers.guarded_process import GuardedProcess
from kcsim.zk.servers.guarded_processes import GuardedProcesses

MAIN_CLASS = "kafka.Kafka"
HEAP_MB = 256
POLL_S = 0.02
NO_LOG = "the reason is unknown, because its libs folder has no binding of slf4j to log4j (slf4j-log4j12 or slf4j-reload4j)"

# ApiVersions (key 18) version 0, correlation id 0, client id "kcsim", preceded by its length. Any broker answers it.
API_VERSIONS_REQUEST = b"\x00\x00\x00\x0f" + b"\x00\x12\x00\x00" + b"\x00\x00\x00\x00" + b"\x00\x05kcsim"


class KafkaBroker(GuardedBroker):
    """A broker and its directory: server.properties, log4j.properties, logs/ and the log directories data-1, data-2, …

    Its exit status after an orderly shutdown is 143. Pausing and resuming it raise BrokerExitedError if it has ended.
    """

    can_change_release = False

    def __init__(
        self,
        installation: KafkaInstallation,
        spec: KafkaBrokerSpec,
        directory: Path,
        port: int | None = None,
        guarded: GuardedProcesses | None = None,
    ) -> None:
        """Prepare the broker; nothing is started or written yet.

        Args:
            directory: this broker's own; created if it does not exist, and never deleted here.
            port: of 127.0.0.1; None takes a free one. The port stays the same from start to start.
            guarded: the guard of the process; None creates a guard for this broker alone. A guard shared by several brokers
                saves one process per broker, and its directory, which is deleted when this process ends, may contain the
                brokers' directories.

        Raises: OwnSettingError, UnusableDirectoryError.
        """
        super().__init__(spec.broker_id, GuardedProcess(f"broker-{spec.broker_id}", guarded, what="kafka"))
        self.release = Release(".".join(map(str, installation.release)))
        self.directory = directory.absolute()
        self.port = free_ports(1)[0] if port is None else port
        self.log_dirs = tuple(self.directory / f"data-{number}" for number in range(1, spec.log_dirs + 1))
        self.logs = self.directory / "logs"
        self._installation = installation
        self._spec = spec
        self._properties()  # raises early
        self._log_starts: dict[Path, int] = {}

    def _properties(self) -> dict[str, str]:
        return server_properties(self._spec, self.port, self.log_dirs, self._installation.version)

    # --- state ------------------------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """host:port of the broker's listener, for bootstrap.servers."""
        return f"{HOST}:{self.port}"

    @property
    def log_path(self) -> Path:
        """The broker's server.log or, if the installation cannot write log files, the file with its JVM's output."""
        return self.logs / (SERVER_LOG if self._installation.writes_logs else CONSOLE)

    def last_lines(self, count: int) -> list[str]:
        """Return the last lines of server.log since the last start, or of the JVM's output if server.log has none."""
        return self._written().splitlines()[-count:]

    def _written(self) -> str:
        """Return what the broker has logged since its last start, or what its JVM printed if it failed before logging."""
        return self._since_start(self.log_path) or self._since_start(self.logs / CONSOLE)

    def _since_start(self, path: Path) -> str:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            file.seek(self._log_starts.get(path, 0))
            return file.read().decode(errors="replace")

    # --- starting ---------------------------------------------------------------------------------------------------------

    async def start(self, settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None) -> None:
        """Start the process, for the first time or again. Return when the process runs, long before the broker is up.

        Args:
            settings: changes of server.properties, which stay for later starts.
            release: None: it is that of the installation.

        Raises: PortTakenError, OwnSettingError.
        """
        assert release is None, f"{self.name} has the release of its installation"
        self._process.require_not_running()
        self._spec = replace(self._spec, settings={**self._spec.settings, **settings})
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        if not is_free(self.port):
            raise PortTakenError(self.port, self.name)
        self.logs.mkdir(parents=True, exist_ok=True)
        properties, log4j = self.directory / "server.properties", self.directory / "log4j.properties"
        properties.write_text(properties_text(self._properties()))
        log4j.write_text(BROKER_LOG4J)
        console = self.logs / CONSOLE
        self._log_starts = {path: path.stat().st_size for path in (self.log_path, console) if path.is_file()}
        command = [
            str(self._installation.java.executable),
            *jvm_options(log4j, HEAP_MB),
            "-XX:+ExitOnOutOfMemoryError",
            f"-XX:ErrorFile={self.logs}/hs_err_pid%p.log",
            f"-D{DIRECTORY_PROPERTY}={self.logs}",
            "-cp",
            os.pathsep.join(map(str, self._installation.jars())),
            MAIN_CLASS,
            str(properties),
        ]
        self._process.start(command, console)

    async def wait_until_up(self, timeout_s: float) -> None:
        """Return when the broker answers requests. By then it is registered in ZooKeeper.

        Raises: BrokerExitedError if the process ends instead, TimedOutError.
        """
        if not await answers_within(self.port, lambda: isinstance(self.state, str), timeout_s):
            state = self.state
            raise self._timed_out(timeout_s, "answer requests") if isinstance(state, str) else self._exited(state)

    # --- errors -----------------------------------------------------------------------------------------------------------

    def _exited(self, status: int | None) -> BrokerExitedError:
        assert status is not None, "a broker that was never started is not waited for"
        reason = reason_in(self._written()) if self._installation.writes_logs else NO_LOG
        return BrokerExitedError(self.name, status, reason, self.log_path)

    def _timed_out(self, timeout_s: float, what: str) -> TimedOutError:
        last = " ".join(self.last_lines(1)) or "(empty)"
        return TimedOutError(f"waited {timeout_s:g} s for {self.name} to {what}; last seen: {self.state}, last line: {last}")


async def answers_within(port: int, is_running: Callable[[], bool], timeout_s: float) -> bool:
    """Return whether a broker on this port of 127.0.0.1 answers a request before its process ends and the time is up."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    answer = loop.create_task(_first_answer(port), name=f"answer at port {port}")
    try:
        while not answer.done() and is_running() and loop.time() < end:
            await asyncio.wait([answer], timeout=POLL_S)
        return answer.done()
    finally:
        answer.cancel()


async def _first_answer(port: int) -> None:
    """Return when a broker on this port of 127.0.0.1 has answered a request.

    A broker listens long before it answers; requests that arrive in the meantime are answered then.
    """
    while True:
        try:
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(API_VERSIONS_REQUEST)
                await reader.readexactly(4)
                return
            finally:
                writer.close()
        except (OSError, asyncio.IncompleteReadError):  # nothing listens yet, or the listener has closed the connection
            await asyncio.sleep(POLL_S)
