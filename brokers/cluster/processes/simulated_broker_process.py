"""One simulated broker as a child process: `kcsim broker`, started, signalled and restarted in the same place.

The process is guarded (zk/servers/guard.py): paused or not, it does not outlive this process, however this process ends.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kcsim.brokers.apache_kafka.errors import BrokerExitedError
from kcsim.brokers.cluster.processes.broker_traces import trace_path
from kcsim.brokers.config import NO_SETTINGS, PROTOCOL_VERSION, Value
from kcsim.brokers.guarded_broker import GuardedBroker
from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION, Release, default_release
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.zk.servers.errors import PortTakenError
from kcsim.zk.servers.free_ports import is_free
from kcsim.zk.servers.guarded_process import GuardedProcess
from kcsim.zk.servers.guarded_processes import GuardedProcesses

HOST = "127.0.0.1"
COMMAND = (sys.executable, "-m", "kcsim.scenarios", "broker")
LOG_DIRS = "log.dirs"
CONSOLE = "console.txt"
REGISTERED = EventKind.BROKER_REGISTERED.encode()
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class SimulatedBrokerSpec:
    """The arguments that a broker's process gets at each start.

    Attributes:
        zookeeper: the connect string.
        zookeeper_proxy: that of the proxy through which the broker's own sessions go.
        port: of 127.0.0.1, where it listens.
        advertised_port: what it registers instead, if a proxy stands in front of it.
        without: names of protections that are switched off.
    """

    broker_id: int
    zookeeper: str
    zookeeper_proxy: str
    port: int
    settings: Mapping[str, Value] = field(default_factory=dict)
    rack: str | None = None
    advertised_port: int | None = None
    without: Sequence[str] = ()
    release: Release | None = None
    is_hardened: bool = False

    @property
    def log_dir_names(self) -> list[str]:
        """Names for as many log directories as the setting log.dirs has."""
        return [f"logs-{number}" for number, _ in enumerate(str(self.settings.get(LOG_DIRS, "")).split(","), 1)]

    def arguments(self, trace: Path, data: Path) -> list[str]:
        """Return the arguments of `kcsim broker`. Args: trace: where the event log is kept. data: where records are."""
        words = ["--id", str(self.broker_id), "--zookeeper", self.zookeeper, "--execute"]
        words += ["--zookeeper-proxy", self.zookeeper_proxy]
        words += ["--listen", f"{HOST}:{self.port}", "--trace", str(trace)]
        words += [] if self.rack is None else ["--rack", self.rack]
        advertised = {} if self.advertised_port is None else {"advertised.port": self.advertised_port}
        log_dirs = {LOG_DIRS: ",".join(self.log_dir_names)}
        for name, value in {**self.settings, **advertised, **log_dirs}.items():
            words += ["--setting", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
        words += [] if self.release is None else ["--release", self.release]
        words += ["--data", str(data)]
        for protection in self.without:
            words += ["--without", protection]
        words += ["--hardening"] if self.is_hardened else []
        return words


class SimulatedBrokerProcess(GuardedBroker):
    """A broker and its directory: what it prints, its traces, and its records in data/.

    Pausing and resuming it raise BrokerExitedError if it has ended.

    Args:
        directory: this broker's own; created if it does not exist, and never deleted here.
        guarded: the guard of the process.
    """

    can_change_release = True

    def __init__(self, spec: SimulatedBrokerSpec, directory: Path, guarded: GuardedProcesses) -> None:
        super().__init__(spec.broker_id, GuardedProcess(f"broker-{spec.broker_id}", guarded))
        self.address = f"{HOST}:{spec.port}"
        self.logs = directory
        self._data = directory / "data"
        names = spec.log_dir_names
        self.log_dirs = (self._data,) if len(names) == 1 else tuple(self._data / name for name in names)
        self._spec = spec
        self._console_start = 0
        self._starts = 0

    @property
    def release(self) -> Release:
        version = str(self._spec.settings.get(PROTOCOL_VERSION, DEFAULT_PROTOCOL_VERSION))
        return self._spec.release or default_release(version)

    def last_lines(self, count: int) -> list[str]:
        """Return the last lines that the process has printed since its last start."""
        with (self.logs / CONSOLE).open("rb") as file:
            file.seek(self._console_start)
            return file.read().decode(errors="replace").splitlines()[-count:]

    async def start(self, settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None) -> None:
        """Start the process, for the first time or again. Return when it runs, long before the broker is up.

        Args:
            settings: changes of the broker's settings, which stay for later starts.
            release: the release of Kafka that it has from now on; None: as it was.

        Raises: PortTakenError.
        """
        self._process.require_not_running()
        self._spec = replace(self._spec, settings={**self._spec.settings, **settings}, release=release or self._spec.release)
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        if not is_free(self._spec.port):
            raise PortTakenError(self._spec.port, self.name)
        self.logs.mkdir(parents=True, exist_ok=True)
        console = self.logs / CONSOLE
        self._console_start = console.stat().st_size if console.is_file() else 0
        self._starts += 1
        self._process.start([*COMMAND, *self._spec.arguments(self._trace, self._data)], console)

    async def wait_until_up(self, timeout_s: float) -> None:
        """Return when the broker has registered. Raises: BrokerExitedError if it ends instead, TimedOutError."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        while not self._has_registered():
            state = self.state
            if not isinstance(state, str):
                raise self._exited(state)
            if loop.time() >= end:
                raise self._timed_out(timeout_s, "register")
            await asyncio.sleep(POLL_S)

    def _has_registered(self) -> bool:
        trace = self._trace
        return trace.is_file() and REGISTERED in trace.read_bytes()

    @property
    def _trace(self) -> Path:
        return trace_path(self.logs, self.name, self._starts)

    def _exited(self, status: int | None) -> BrokerExitedError:
        assert status is not None, "a broker that was never started is not waited for"
        reason = " ".join(self.last_lines(1)).removeprefix("kcsim: ").removeprefix(f"{self.name} does not start: ")
        return BrokerExitedError(self.name, status, reason, self.logs / CONSOLE)

    def _timed_out(self, timeout_s: float, what: str) -> TimedOutError:
        last = " ".join(self.last_lines(1)) or "(empty)"
        return TimedOutError(f"waited {timeout_s:g} s for {self.name} to {what}; last line: {last}")
