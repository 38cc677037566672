"""A cluster of simulated brokers on one ZooKeeper, with all actions and faults of scenario_cluster.py."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from kcsim.brokers.broker import Broker, BrokerStartError, broker_info
from kcsim.brokers.clients.clients import Address, ClientConfig, ClusterClient
from kcsim.brokers.clients.ledger import Ledger
from kcsim.brokers.clients.producer import Producer, ProducerSpec
from kcsim.brokers.cluster.answer_faults import AnswerFaults
from kcsim.brokers.cluster.broker_slots import BrokerSlot, BrokerSlots
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.controller_requests import ControllerRequests
from kcsim.brokers.cluster.environment import ClusterEnvironment
from kcsim.brokers.cluster.fleet import ConsumerFleet
from kcsim.brokers.cluster.network_faults import NetworkFaults
from kcsim.brokers.cluster.process_faults import ProcessFaults
from kcsim.brokers.cluster.scenario_cluster import Moment
from kcsim.brokers.cluster.server_faults import ServerFaults
from kcsim.brokers.cluster.state_watch import StateWatch
from kcsim.brokers.cluster.tool_session import open_tool
from kcsim.brokers.cluster.topic_admin import TopicAdmin
from kcsim.brokers.cluster.znode_edits import ZnodeEdits
from kcsim.brokers.cluster.zookeeper_faults import ZooKeeperFaults
from kcsim.brokers.config import NO_SETTINGS, SettingError, Value
from kcsim.brokers.injected_errors import InjectedErrors
from kcsim.brokers.log.record_memory import RecordMemory, RecordMemoryError, limit_mib
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.network.link_stream import LinkFaultContext
from kcsim.brokers.network.network import MemoryNetwork
from kcsim.brokers.network.process import Process
from kcsim.brokers.network.process_states import ProcessState
from kcsim.brokers.ports import BrokerPorts
from kcsim.brokers.stored_logs.stored_disk import StoredDisk
from kcsim.controller.capabilities import RELEASES, Release
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.protections import Protections
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import (
    RUN_STARTED_SEQ,
    SCENARIO,
    ClusterError,
    RunActionLog,
    process_state_fields,
)
from kcsim.runtime.ports import Promise
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition
from kcsim.zk.ports import ZooKeeper

FAULT_WITHIN_MS = 30_000
"""How long a fault that waits for something (a write, a reconnection) waits at most, in the time of the run."""


class Cluster:
    """Simulated brokers, each in a process of its own.

    Args:
        network_delay_ms: the one-way delay of a message between brokers.
    """

    def __init__(self, spec: ClusterSpec, environment: ClusterEnvironment, network_delay_ms: int = 0) -> None:
        runtime, log = environment.runtime, environment.log
        self.runtime = runtime
        self.log = log
        self.epoch_ms = environment.epoch_ms
        self._state_watch = StateWatch(runtime, log)
        self._actions = RunActionLog(log)
        self.servers = ServerFaults(self._actions, environment.members)
        tool = partial(open_tool, runtime, environment.zookeeper, log.sink(SCENARIO), environment.epoch_ms)
        self.topics = TopicAdmin(self._actions, tool)
        self.znodes = ZnodeEdits(self._actions, environment.admin)
        self._spec = spec
        self._client_ports = spec.client_ports
        self.acknowledged_records = environment.acknowledged_records
        self._observed_clients = environment.clients
        # The network has its own random generator, as each broker has, so that its draws do not depend on the others'.
        seed = log.events[RUN_STARTED_SEQ].seed
        self._slots = BrokerSlots(spec, seed, environment.disks)
        self._processes = ProcessFaults(runtime, log, self._actions, self._slots)
        self._zookeeper_faults = ZooKeeperFaults(runtime, self._actions, self._slots)
        self._record_memory = None if spec.client_ports is None else self._bounded_memory()
        numbers = random.Random(f"{seed} network")
        open_port = None if spec.client_ports is None else environment.open_port
        if spec.client_ports is not None and open_port is None:
            raise ClusterError(
                "brokers have TCP ports only on the wall clock: clients from outside do not live in virtual time"
            )
        if spec.control_plane_over_tcp and spec.client_ports is None:
            raise ClusterError("controller and brokers reach each other over TCP only where brokers have TCP ports")
        if spec.replication_over_tcp and not spec.control_plane_over_tcp:
            raise ClusterError("followers reach their leaders over TCP only where controller and brokers do so, too")
        self._network = MemoryNetwork(
            runtime,
            network_delay_ms,
            LinkFaultContext(numbers, log.sink),
            open_port,
            environment.open_control_plane if spec.control_plane_over_tcp else None,
        )
        self._zookeeper = environment.zookeeper
        self._clients: list[Process] = []
        self._injected_errors = InjectedErrors()
        self.network_faults = NetworkFaults(runtime, self._actions, self._network, self.broker_names)
        self.answer_faults = AnswerFaults(self._actions, self._injected_errors, self.network_faults.check)
        self.consumers = ConsumerFleet(runtime, log, self._actions, self.client_process, lambda: tuple(self.bootstrap))
        self._controller_requests = ControllerRequests(
            runtime, self._actions, self._active_controller, self._named_controller
        )
        _emit_switched_off(spec.protections, log)

    def _bounded_memory(self) -> RecordMemory:
        """Return the bound of the memory that records of clients may take up. Raises: ClusterError."""
        try:
            limit = limit_mib()
        except RecordMemoryError as error:
            raise ClusterError(str(error)) from None
        return RecordMemory(limit, (slot.disk for slot in self._slots), self.runtime.now_ms)

    # --- what is seen of it

    @property
    def state(self) -> ClusterState:
        return self._state_watch.state

    @property
    def broker_names(self) -> tuple[str, ...]:
        return self._slots.names

    @property
    def member_names(self) -> tuple[str, ...]:
        return self.servers.member_names

    @property
    def is_seen_from_outside(self) -> bool:
        return False

    @property
    def producing(self) -> "Cluster":
        return self

    @property
    def simulated(self) -> "Cluster":
        return self

    @property
    def client_connections(self) -> Mapping[str, int]:
        """Client id of each client from outside the run -> the number of its open connections."""
        return {} if self._observed_clients is None else self._observed_clients.connections

    def report_clients(self) -> None:
        if self._observed_clients is not None:
            self._observed_clients.report_all()

    async def catch_up(self) -> None:
        """Do nothing: what these brokers do is in the event log at once."""

    async def wait_until(self, condition: Callable[[], str | None], within_ms: int) -> None:
        await self._state_watch.wait_until(condition, within_ms)

    def broker(self, name: str) -> Broker:
        """Return the running broker of that name. Raises: ClusterError."""
        slot = self._slots.of(name)
        if slot.broker is None:
            raise ClusterError(f"{name} is not running")
        return slot.broker

    def reach_zookeeper_through(self, wrap: Callable[[ZooKeeper], ZooKeeper]) -> None:
        """Let brokers that are started from now on reach ZooKeeper through a wrapper of the caller."""
        self._zookeeper = wrap(self._zookeeper)

    # --- brokers' processes

    async def start(
        self, names: Sequence[str], settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None
    ) -> int:
        """Start brokers, all at once, and wait until each has registered.

        Args:
            settings: changes of these brokers' server.properties, which stay for later starts.
            release: the release of Kafka that they have from now on; None leaves it as it is.

        Raises: ClusterError when a broker already runs or refuses to start.
        """
        cause = self._actions.act_on_settings("start", ", ".join(names), settings, release)
        for name in names:
            slot = self._slots.of(name)
            slot.settings.update(settings)
            slot.release = release or slot.release
        boots = {name: self._boot(self._slots.of(name), cause) for name in names}
        failures = {name: error for name, boot in boots.items() if (error := await boot.wait()) is not None}
        if failures:
            raise ClusterError("; ".join(f"{name} does not start: {error}" for name, error in failures.items()))
        return cause

    def _boot(self, slot: BrokerSlot, cause: int) -> "Promise[BrokerStartError | None]":
        name = slot.spec.name
        if slot.process is not None and slot.process.state is not ProcessState.DEAD:
            raise ClusterError(f"{name} runs already")
        process = Process(name, self.runtime, self._zookeeper, self._network)
        sink = self.log.sink(name)
        try:
            config = self._slots.config_of(slot)
        except SettingError as error:
            raise ClusterError(f"{name} refuses to start: {error}") from None
        info = broker_info(BrokerId(slot.spec.broker_id), slot.spec.rack, config)
        errors, control_plane = self._injected_errors.at(name), process.control_plane
        memory = self._record_memory
        exit_process = partial(self._exit_process, slot, process)
        replication = control_plane if self._spec.replication_over_tcp else None
        ports = BrokerPorts(
            process, process.network, sink, self.epoch_ms, errors, control_plane, memory, exit_process, replication
        )
        broker = Broker(info, config, ports, process, slot.disk, slot.numbers)
        slot.process, slot.broker = process, broker
        started = sink.emit(EventKind.PROCESS_STATE, cause, state=process.state.value)
        booted: Promise[BrokerStartError | None] = self.runtime.promise()

        async def boot() -> None:
            try:
                await broker.startup(started)
            except BrokerStartError as error:
                failed = sink.emit(EventKind.BROKER_START_FAILED, started, broker_id=broker.broker_id, detail=str(error))
                sink.emit(EventKind.PROCESS_STATE, failed, state="stopped")
                slot.process = slot.broker = None
                booted.resolve(error)
            else:
                booted.resolve(None)

        process.spawn("startup", boot())
        return booted

    async def stop(self, name: str) -> int:
        """Stop a broker as SIGTERM does: orderly, with a controlled shutdown unless disabled. Raises: ClusterError."""
        slot, process = self._slots.running(name)
        assert slot.broker is not None
        cause = self._actions.act("stop", name)
        stopped = self._shut_down(slot.broker, process, cause)
        try:
            await stopped.wait(FAULT_WITHIN_MS + self._slots.config_of(slot).longest_controlled_shutdown_ms)
        except TimedOutError:
            # It may be frozen: its process ends after its shutdown.
            self.runtime.spawn(f"stop {name}", self._end_once_stopped(slot, process, stopped, cause))
            raise
        self._end_process(slot, process, cause)
        return cause

    def _shut_down(self, broker: Broker, process: Process, cause: int) -> "Promise[None]":
        """Begin to shut a broker down. The promise is resolved when it has."""
        stopped: Promise[None] = self.runtime.promise()

        async def shut_down() -> None:
            await broker.shutdown(cause)
            stopped.resolve(None)

        process.spawn("shutdown", shut_down())
        return stopped

    def _exit_process(self, slot: BrokerSlot, process: Process, why: str, cause: int) -> None:
        """Shut a broker down, and end its process, because of something that it has read itself."""
        assert slot.broker is not None
        if not slot.broker.replicas.is_shutting_down:
            stopped = self._shut_down(slot.broker, process, cause)
            detail = f"it ended by itself: {why}"
            self.runtime.spawn(f"exit {process.name}", self._end_once_stopped(slot, process, stopped, cause, detail))

    async def _end_once_stopped(
        self, slot: BrokerSlot, process: Process, stopped: "Promise[None]", cause: int, detail: str = ""
    ) -> None:
        await stopped.wait()
        self._end_process(slot, process, cause, detail)

    def _end_process(self, slot: BrokerSlot, process: Process, cause: int, detail: str = "") -> None:
        """End the process of a broker that has shut down."""
        if slot.process is not process:
            return  # it was killed meanwhile
        process.kill(cause)
        slot.process = slot.broker = None
        self.log.append(process.name, EventKind.PROCESS_STATE, cause, process_state_fields("stopped", detail))

    async def kill(self, name: str) -> int:
        return await self._processes.kill(name)

    def arm_kill(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        return self._processes.arm_kill(name, moment, path, nth)

    async def pause(self, name: str, for_ms: int | None = None) -> int:
        return await self._processes.pause(name, for_ms)

    def arm_pause(self, name: str, moment: Moment, path: str | None = None, nth: int = 1, for_ms: int | None = None) -> int:
        return self._processes.arm_pause(name, moment, path, nth, for_ms)

    async def resume(self, name: str) -> int:
        return await self._processes.resume(name)

    def disarm(self) -> None:
        self._processes.disarm()
        self._network.breakpoints.clear()
        self._injected_errors.disarm()

    async def close(self) -> None:
        """End all brokers and clients after the run, and close their sessions, so that none outlives the run."""
        brokers = [slot.process for slot in self._slots if slot.process is not None]
        processes = [*self._clients, *brokers]
        for session in [session for process in processes for session in process.retire()]:
            session.thaw()
            await session.close()

    # --- disks

    async def fail_log_dir(self, name: str, partitions: Collection[TopicPartition] | None = None) -> int:
        """Fail a log directory of a broker; when its last one fails, the broker dies.

        Args:
            partitions: the replicas that were in the directory, and no others; None: the first directory that still works,
                with all its replicas.

        Raises: ClusterError, also when the broker has no replica of one of these partitions.
        """
        slot, process = self._slots.running(name)
        disk, broker = slot.disk, self.broker(name)
        if missing := [str(tp) for tp in partitions or () if tp not in disk]:
            raise ClusterError(f"{name} has no replica of {', '.join(missing)}")
        cause = self._actions.fault("fail-log-dir", name)
        log_dir = disk.set_apart(sorted(partitions)) if partitions else disk.live_dirs[0]
        lost = disk.replicas(log_dir)
        failed: Promise[bool] = self.runtime.promise()

        async def fail() -> None:
            failed.resolve(await broker.fail_log_dir(log_dir, cause))

        process.spawn("LogDirFailureHandler", fail())
        lives_on = await failed.wait(FAULT_WITHIN_MS)
        self._actions.confirm(cause, "fail-log-dir", name, f"{log_dir} is lost with {len(lost)} replicas: {_listed(lost)}")
        if not lives_on:
            self._processes.apply_kill(slot, cause, "because all of its log directories have failed")
        return cause

    async def slow_follower(self, name: str, records_per_second: float | None) -> int:
        """Limit a broker's replication to this rate; None: no limit; 0: no replication. Raises: ClusterError."""
        slot, _ = self._slots.alive(name)
        if records_per_second is not None and records_per_second < 0:
            raise ClusterError(f"{name} cannot replicate {records_per_second} records a second")
        assert slot.broker is not None
        if records_per_second is None:
            cause = self._actions.act("slow-follower", name, "as fast as it goes again")
        else:
            cause = self._actions.fault("slow-follower", name, f"{records_per_second:g} records a second at most")
        slot.broker.data.fetchers.slow_down(records_per_second)
        if records_per_second is not None:
            leaders = len(slot.broker.data.fetchers.fetchers)
            self._actions.confirm(cause, "slow-follower", name, f"holds for what it fetches from {leaders} leaders, in all")
        return cause

    def vanished_log_dirs(self, name: str) -> list[str]:
        """Return a broker's log directories that somebody has deleted, and that have not failed yet."""
        return self._slots.of(name).disk.vanished

    # --- clients

    @property
    def bootstrap(self) -> list[Address]:
        """The addresses of all brokers, running or not: what clients use as bootstrap servers."""
        addresses = []
        for slot in self._slots:
            config = self._slots.config_of(slot)
            addresses.append((config.host_name, config.port_of(slot.spec.broker_id)))
        return addresses

    @property
    def damaged_files(self) -> list[str]:
        """What was damaged in the data directory, and was cut off when it was opened; a line for each file."""
        disks = (slot.disk for slot in self._slots)
        return [str(cut_off) for disk in disks if isinstance(disk, StoredDisk) for cut_off in disk.cut_off]

    @property
    def release(self) -> Release:
        """The newest release among its brokers: that of the commands."""
        releases = (self._slots.config_of(slot).controller.effective_release for slot in self._slots)
        return max(releases, key=RELEASES.index)

    @property
    def bootstrap_servers(self) -> str | None:
        return None if self._client_ports is None else ",".join(f"{host}:{port}" for host, port in self.bootstrap)

    def client_process(self, name: str) -> Process:
        """Return a new process for a client, on the same network as the brokers; it ends with the run."""
        process = Process(name, self.runtime, self._zookeeper, self._network)
        self._clients.append(process)
        return process

    def new_producer(self, spec: ProducerSpec, ledger: Ledger) -> Producer:
        """Return a producer that has not begun, on a process of its own."""
        process = self.client_process(spec.node)
        config = ClientConfig(spec.config.request_timeout_ms, spec.config.retry_backoff_ms)
        client = ClusterClient(process, self.bootstrap, spec.topics, config)
        return Producer(spec, process, client, ledger, self.epoch_ms)

    def replica_logs(self, tp: TopicPartition) -> dict[BrokerId, ReplicaLog]:
        """Return the logs of a partition by broker, also of brokers that do not run, from their disks. Read only."""
        disks = {BrokerId(slot.spec.broker_id): slot.disk for slot in self._slots}
        return {broker: disk.log(tp) for broker, disk in disks.items() if tp in disk}

    # --- requests to the controller

    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments. Return a result for each. Raises: ClusterError."""
        return await self._controller_requests.alter_partition_reassignments(targets)

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Return the ongoing reassignments of these partitions, or of all. Raises: ClusterError."""
        return await self._controller_requests.list_partition_reassignments(partitions)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> ElectionResults:
        """Elect leaders for these partitions, or for all. Return a result for each. Raises: ClusterError."""
        return await self._controller_requests.elect_leaders(election_type, partitions)

    def incomplete_metadata(self) -> str | None:
        """Return a sentence about running brokers whose metadata lack a live controller or a running broker.

        None if there is none. librdkafka's admin client asks a broker for the controller, and a broker without one in its
        metadata makes it wait for its next refresh of metadata, minutes later.
        """
        running = self._running_brokers()
        incomplete = [
            f"broker-{broker_id}"
            for broker_id, (broker, _) in sorted(running.items())
            if not all(map(broker.metadata.is_alive, {*running, broker.metadata.controller_id}))
        ]
        return f"metadata are incomplete on {', '.join(incomplete)}" if incomplete else None

    def _running_brokers(self) -> dict[BrokerId, tuple[Broker, Process]]:
        """Return the brokers whose processes run, with these, by id."""
        return {
            BrokerId(slot.spec.broker_id): (slot.broker, slot.process)
            for slot in self._slots
            if slot.broker is not None and slot.process is not None and slot.process.state is ProcessState.RUNNING
        }

    def _active_controller(self) -> tuple[Broker, Process]:
        holder = self.state.controller_id
        if holder is None:
            raise ClusterError("no broker is the controller")
        name = f"broker-{holder}"
        _, process = self._slots.running(name)
        return self.broker(name), process

    def _named_controller(self) -> tuple[Broker, Process]:
        """Return the controller by the metadata of the running brokers; the active one while they do not name one alike.

        It is another one if a person has written a broker's id into /controller.
        """
        running = self._running_brokers()
        named = {broker.metadata.controller_id for broker, _ in running.values()}
        only = named.pop() if len(named) == 1 else None
        return self._active_controller() if only not in running else running[only]

    # --- sessions and connections

    async def expire(self, name: str) -> int:
        return await self._zookeeper_faults.expire(name)

    async def disconnect(self, name: str, for_ms: int | None = None) -> int:
        return await self._zookeeper_faults.disconnect(name, for_ms)

    async def reconnect(self, name: str) -> int:
        return await self._zookeeper_faults.reconnect(name)


def _emit_switched_off(protections: Protections, log: EventLog) -> None:
    for missing in protections.off:
        fields = EventFields(rule=missing.name, detail=f"{missing.source}: {missing.without_it}")
        log.append(SCENARIO, EventKind.PROTECTION_OFF, RUN_STARTED_SEQ, fields)


def _listed(partitions: Sequence[TopicPartition]) -> str:
    return summarize(partitions) or "none"
