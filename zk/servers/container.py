"""ZooKeeper in Docker containers: the official image, or one that takes the same variables and volumes.

An ensemble has its own network with fixed addresses: the engine's name service is not needed, and a restarted member has its
old address. Clients connect to members on ports of 127.0.0.1. The data directories are this process's, mounted into the
containers, which run under the same user id: so the transaction logs can be read here. With an engine that maps container
user ids to other ones (rootless, userns-remap), the data stays inside the containers and transaction_log_dir is None.

All containers and networks have a label with the run's name, and nothing without this label is ever changed. The guard
removes them in the end by running this module, also if this process was killed.

This is the only file that imports docker, and it does so only when a container is requested.
"""

import io
import ipaddress
import json
import os
import sys
import tarfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kcsim.zk.servers.configuration import ServerSettings, zoo_cfg
from kcsim.zk.servers.errors import ImageMissingError, NoDockerError, NotStartedError, PortTakenError, ServerError
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.zk.servers.managed import HOST, ManagedZooKeeper
from kcsim.zk.servers.ports import PAUSED, UP, State

DEFAULT_IMAGE = "zookeeper:3.9"
IMAGE_VARIABLE = "KCSIM_ZOOKEEPER_IMAGE"
RUN_LABEL = "kcsim.zookeeper.run"
MEMBER_LABEL = "kcsim.zookeeper.member"
CLIENT_PORT, QUORUM_PORT, ELECTION_PORT = 2181, 2888, 3888
ENGINE_TIMEOUT_S = 60
CREATING = "creating"
"""The file that exists while containers are being created: the engine may complete a request after this process died."""
SETTLING_S = 5.0
NETWORK_ATTEMPTS = 5


class ContainerZooKeeper(ManagedZooKeeper):
    """A ZooKeeper in containers; see ZooKeeperServers for the operations."""

    def __init__(
        self,
        members: int = 1,
        settings: ServerSettings = ServerSettings(),  # noqa: B008 -- frozen
        client_ports: Sequence[int] | None = None,
        serving_timeout_s: float = 120.0,
        image: str | None = None,
    ) -> None:
        """Prepare to start; the engine is not contacted before the start.

        Args:
            client_ports: one per member, published on 127.0.0.1; None chooses free ports.
            image: None takes KCSIM_ZOOKEEPER_IMAGE, or else zookeeper:3.9. The engine must have the image: it is not pulled.
        """
        if settings.sasl_users:
            raise ValueError("servers in containers have no SASL; embedded ones have")
        chosen = image or os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE
        super().__init__(ContainerHost(settings, chosen), members, client_ports, serving_timeout_s)


class ContainerHost:
    """Runs members as containers."""

    def __init__(self, settings: ServerSettings, image: str) -> None:
        self._settings = settings
        self._image = image
        self._guarded: GuardedProcesses | None = None
        self._engine: Any = None
        self._containers: dict[str, Any] = {}
        self._client_ports: Mapping[str, int] = {}
        self._launched: dict[str, None] = {}  # in the order of their first launch
        self._log_writers: list[threading.Thread] = []
        self._shares_files = False

    @property
    def guarded(self) -> GuardedProcesses:
        if self._guarded is None:
            raise NotStartedError
        return self._guarded

    def prepare(self, client_ports: Mapping[str, int]) -> None:
        self._engine = connect()
        require_image(self._engine, self._image)
        self._shares_files = keeps_user_ids(self._engine.info().get("SecurityOptions") or [])
        run = f"kcsim-{os.getpid()}-{os.urandom(4).hex()}"
        self._guarded = GuardedProcesses(cleanup=removal_command(run))
        self._client_ports = client_ports
        creating = self.guarded.directory / CREATING
        creating.touch()
        try:
            self._create_all(run)
        finally:
            creating.unlink()

    def _create_all(self, run: str) -> None:
        client_ports = self._client_ports
        network, addresses = make_network(self._engine, run, list(client_ports)) if len(client_ports) > 1 else (None, {})
        servers = {n: f"{address}:{QUORUM_PORT}:{ELECTION_PORT}" for n, address in enumerate(addresses.values(), start=1)}
        for number, name in enumerate(client_ports, start=1):
            container = self._create(run, number, name, servers, self._placed(network, name, addresses))
            text = zoo_cfg(self._settings, "/data", "/datalog", "0.0.0.0", CLIENT_PORT, servers)
            container.put_archive("/conf", archive_of("zoo.cfg", text))
            self._containers[name] = container

    def _placed(self, network: Any, name: str, addresses: Mapping[str, str]) -> dict[str, Any]:
        """Return the options that give a member its address on the ensemble's network; empty for a standalone server."""
        if network is None:
            return {}
        endpoint = self._engine.api.create_endpoint_config(ipv4_address=addresses[name], aliases=[name])
        return {"network": network.name, "networking_config": {network.name: endpoint}}

    def _create(self, run: str, number: int, name: str, servers: Mapping[int, str], options: dict[str, Any]) -> Any:
        home = self._home(name)
        for directory in ("data", "datalog", "logs"):
            (home / directory).mkdir(parents=True)
        if self._shares_files:
            volumes = {str(home / d): {"bind": f"/{d}", "mode": "rw"} for d in ("data", "datalog", "logs")}
            options = {**options, "user": f"{os.getuid()}:{os.getgid()}", "volumes": volumes}
        return self._engine.containers.create(
            self._image,
            name=f"{run}-{name}",
            hostname=name,
            labels={RUN_LABEL: run, MEMBER_LABEL: name},
            ports={f"{CLIENT_PORT}/tcp": (HOST, self._client_ports[name])},
            environment=self._environment(number, servers),
            **options,
        )

    def _environment(self, number: int, servers: Mapping[int, str]) -> dict[str, str]:
        """Return the environment variables that the image's entry script needs in addition to zoo.cfg."""
        return {
            "ZOO_MY_ID": str(number),
            "ZOO_SERVERS": " ".join(f"server.{n}={address};{CLIENT_PORT}" for n, address in servers.items()),
            "ZK_SERVER_HEAP": str(self._settings.heap_mb),
            "JVMFLAGS": " ".join(self._settings.jvm_options()),
        }

    def launch(self, name: str) -> None:
        from docker.errors import APIError

        container = self._containers[name]
        # Attached before the start, so that no line is missed; the stream ends with the container.
        output = container.attach(stream=True)
        writer = threading.Thread(target=write_log, args=(output, self.log_path(name)), name=f"log of {name}", daemon=True)
        writer.start()
        self._log_writers.append(writer)
        try:
            container.start()
        except APIError as error:
            if "already allocated" in str(error) or "address already in use" in str(error):
                raise PortTakenError(self._client_ports[name], name) from None
            raise ServerError(f"{name} could not be started: {error.explanation or error}") from None
        self._launched[name] = None

    def kill(self, name: str) -> State:
        container = self._containers[name]
        was_paused = self._state(name) == PAUSED
        container.kill()
        if was_paused and self._state(name) == PAUSED:
            container.unpause()  # a paused process cannot end
        container.wait(timeout=ENGINE_TIMEOUT_S)
        return self._state(name)

    def pause(self, name: str) -> State:
        self._containers[name].pause()
        return self._state(name)

    def resume(self, name: str) -> State:
        self._containers[name].unpause()
        return self._state(name)

    def states(self) -> Mapping[str, State]:
        return {name: self._state(name) for name in self._launched}

    def _state(self, name: str) -> State:
        container = self._containers[name]
        container.reload()
        state = container.attrs["State"]
        if not state["Running"]:
            return int(state["ExitCode"])
        return PAUSED if state["Paused"] else UP

    def log_path(self, name: str) -> Path:
        return self._home(name) / "zookeeper.log"

    def transaction_log_dir(self, name: str) -> Path | None:
        return self._home(name) / "datalog" / "version-2" if self._shares_files else None

    def close(self) -> None:
        guarded, self._guarded = self._guarded, None
        self._containers.clear()
        self._launched.clear()
        if guarded is not None:
            guarded.close()
        for writer in self._log_writers:
            writer.join(timeout=5)
        self._log_writers.clear()
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _home(self, name: str) -> Path:
        return self.guarded.directory / name


def connect() -> Any:
    """Return a client of the engine that DOCKER_HOST names, or the local one. Raises: NoDockerError."""
    import docker
    from docker.errors import DockerException

    try:
        engine = docker.from_env(timeout=ENGINE_TIMEOUT_S)
        engine.ping()
    except DockerException as error:
        raise NoDockerError(str(error).splitlines()[0]) from None
    return engine


def require_image(engine: Any, image: str) -> None:
    """Check that the engine has the image. Raises: ImageMissingError."""
    from docker.errors import ImageNotFound

    try:
        engine.images.get(image)
    except ImageNotFound:
        raise ImageMissingError(image) from None


def keeps_user_ids(security_options: Iterable[str]) -> bool:
    """Return whether a user id in a container is the same outside: it is not if rootless, or with userns-remap."""
    return not any(option.startswith(("name=rootless", "name=userns")) for option in security_options)


def make_network(engine: Any, run: str, members: Sequence[str]) -> tuple[Any, dict[str, str]]:
    """Create a network for these members and choose each member's address on it.

    Fixed addresses need a network that was created with an explicit range: so the engine first chooses a free range, and is
    then asked for a network with that range. Another client may get the range in between, hence several attempts.
    """
    from docker.errors import APIError
    from docker.types import IPAMConfig, IPAMPool

    labels = {RUN_LABEL: run}
    for attempts_left in reversed(range(NETWORK_ATTEMPTS)):
        chosen = engine.networks.create(f"{run}-choice", driver="bridge", labels=labels)
        chosen.reload()
        subnet = chosen.attrs["IPAM"]["Config"][0]["Subnet"]
        chosen.remove()
        try:
            ipam = IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)])
            network = engine.networks.create(run, driver="bridge", labels=labels, ipam=ipam)
        except APIError:
            if attempts_left == 0:
                raise
            continue
        hosts = ipaddress.ip_network(subnet).hosts()
        next(hosts)  # the gateway
        return network, {name: str(next(hosts)) for name in members}
    raise AssertionError("unreachable: the last attempt returns or raises")


def archive_of(name: str, text: str) -> bytes:
    """Return a tar archive with one file that every user can read."""
    content = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def write_log(output: Iterable[bytes], path: Path) -> None:
    """Append a container's output to a file as it arrives, until the container ends."""
    with path.open("ab", buffering=0) as log:
        for part in output:
            log.write(part)


def removal_command(run: str) -> list[str]:
    """Return the command with which the guard removes a run's containers and networks, when this process may have ended."""
    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import remove_run; remove_run({json.dumps(run)})"
    return [sys.executable, "-c", program]


def remove_run(run: str) -> None:
    """Remove the containers and networks with this run's label; report failures on standard error.

    If the run was killed while it created them (CREATING is in the working directory), the engine may still be completing
    requests: then the removal is repeated until nothing new has appeared for SETTLING_S.
    """
    from docker.errors import DockerException

    patience_s = SETTLING_S if Path(CREATING).exists() else 0.0
    try:
        engine = connect()
        until = time.monotonic() + patience_s
        while (found := remove_found(engine, run)) or time.monotonic() < until:
            if found:
                until = time.monotonic() + patience_s
            else:
                time.sleep(0.1)
    except (DockerException, NoDockerError) as error:
        print(f"containers of {run} may be left behind (label {RUN_LABEL}={run}): {error}", file=sys.stderr)


def remove_found(engine: Any, run: str) -> int:
    """Remove the existing containers and networks of a run; return how many there were."""
    from docker.errors import NotFound

    wanted = {"label": f"{RUN_LABEL}={run}"}
    containers = engine.containers.list(all=True, filters=wanted, ignore_removed=True)
    for container in containers:
        with suppress(NotFound):
            container.remove(force=True, v=True)
    networks = engine.networks.list(filters=wanted)
    for network in networks:
        with suppress(NotFound):
            network.remove()
    return len(containers) + len(networks)
