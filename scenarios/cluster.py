"""A cluster of simulated brokers on one ZooKeeper, and all that can be done to it (scenario_cluster.py)."""

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kcsim.brokers.broker import Broker, BrokerStartError
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.disk import Disk
from kcsim.brokers.replica_log import ReplicaLog
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.clients import Address
from kcsim.scenarios.consumers.fleet import ConsumerFleet
from kcsim.scenarios.controller_asks import ControllerAsks
from kcsim.scenarios.deeds import RUN_BEGAN, ClusterError
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.network import MemoryNetwork
from kcsim.scenarios.network_faults import NetworkFaults
from kcsim.scenarios.process import Breakpoint, Process, ProcessState, WriteMoment
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec, Moment, ScenarioCluster
from kcsim.scenarios.server_faults import ZooKeeperMembers
from kcsim.scenarios.stream import TroubleKit
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.operations import Check, Multi, MultiRead, Request
from kcsim.zk.ports import FaultableSession, Promise, Runtime, Session, ZooKeeper
from kcsim.zk.vocabulary import BrokerId, ReplicaAssignment, TopicPartition
from kcsim.zk.wording import named

FAULT_WITHIN_MS = 30_000
"""How long a fault that waits for something (a write, a reconnection) waits at most, in the time of the run."""


@dataclass
class _Slot:
    """A broker's place in the cluster: the same id, and the same disk, through all its incarnations."""

    spec: BrokerSpec
    disk: Disk
    numbers: random.Random
    process: Process | None = None
    broker: Broker | None = None


class Cluster(ScenarioCluster):
    """Brokers, each in a process of its own.

    Args:
        admin: the scenario's own ZooKeeper session, for znodes written by hand.
        members: the servers that may be faulted; None when they are not ours.
        network_delay_ms: how long a message between brokers is on its way.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        runtime: Runtime,
        log: EventLog,
        zookeeper: ZooKeeper,
        admin: Session,
        members: ZooKeeperMembers | None,
        epoch_ms: int,
        network_delay_ms: int = 0,
    ) -> None:
        super().__init__(runtime, log, zookeeper, admin, members, epoch_ms)
        self._config = BrokerConfig.of(spec.settings, spec.protections)
        # Everybody has a generator of its own: what the network, or a broker, draws does not depend on what others do.
        seed = log.events[RUN_BEGAN].seed
        dirs = self._config.log_dir_names
        self._slots = {
            b.name: _Slot(b, Disk(dirs, random.Random(f"{seed} {b.name} disk")), random.Random(f"{seed} {b.name}"))
            for b in spec.brokers
        }
        numbers = random.Random(f"{seed} network")
        self._network = MemoryNetwork(runtime, network_delay_ms, TroubleKit(numbers, log.sink))
        self._zookeeper = zookeeper
        self._clients: list[Process] = []
        self.network_faults = NetworkFaults(runtime, self._deeds, self._network, self.broker_names)
        self.consumers = ConsumerFleet(runtime, log, self._deeds, self.client_process, lambda: tuple(self.bootstrap))
        self._asks = ControllerAsks(runtime, self._deeds, self._holder_of_the_role)
        self._tell_switched_off(spec.protections)

    @property
    def broker_names(self) -> tuple[str, ...]:
        return tuple(self._slots)

    def broker(self, name: str) -> Broker:
        """The running broker of that name. Raises: ClusterError."""
        slot = self._slot(name)
        if slot.broker is None:
            raise ClusterError(f"{name} is not running")
        return slot.broker

    def reach_zookeeper_through(self, wrap: Callable[[ZooKeeper], ZooKeeper]) -> None:
        """Let the brokers that are started from now on reach ZooKeeper through a port of the caller's own."""
        self._zookeeper = wrap(self._zookeeper)

    # --- life of brokers

    async def start(self, names: Sequence[str]) -> int:
        """Start brokers, all at once, and wait until each has registered.

        Raises: ClusterError when one runs already or refuses to start.
        """
        cause = self._deeds.act("start", ", ".join(names))
        boots = [self._boot(self._slot(name), cause) for name in names]
        failures = [str(error) for boot in boots if (error := await boot.wait()) is not None]
        if failures:
            raise ClusterError("; ".join(failures))
        return cause

    def _boot(self, slot: _Slot, cause: int) -> "Promise[BrokerStartError | None]":
        name = slot.spec.name
        if slot.process is not None and slot.process.state is not ProcessState.DEAD:
            raise ClusterError(f"{name} runs already")
        process = Process(name, self.runtime, self._zookeeper, self._network)
        sink = self.log.sink(name)
        broker = Broker(
            BrokerId(slot.spec.broker_id),
            slot.spec.rack,
            self._config,
            process,
            process,
            process.network,
            slot.disk,
            sink,
            self._epoch_ms,
            slot.numbers,
        )
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
        """Stop a broker as SIGTERM does: in order, with a controlled shutdown unless disabled. Raises: ClusterError."""
        slot, process = self._running(name)
        assert slot.broker is not None
        cause = self._deeds.act("stop", name)
        stopped: Promise[None] = self.runtime.promise()

        async def shut_down(broker: Broker) -> None:
            await broker.shutdown(cause)
            stopped.resolve(None)

        async def see_out() -> None:
            await stopped.wait()
            self._end_process(slot, process, cause)

        process.spawn("shutdown", shut_down(slot.broker))
        try:
            await stopped.wait(FAULT_WITHIN_MS + self._config.longest_controlled_shutdown_ms)
        except TimedOutError:
            self.runtime.spawn(f"stop {name}", see_out())  # frozen, perhaps: it ends when it can
            raise
        self._end_process(slot, process, cause)
        return cause

    def _end_process(self, slot: _Slot, process: Process, cause: int) -> None:
        """A broker has shut down: its process goes, too."""
        if slot.process is not process:
            return  # it was killed meanwhile
        process.kill(cause)
        slot.process = slot.broker = None
        self.log.append(process.name, EventKind.PROCESS_STATE, cause, EventFields(state="stopped"))

    async def kill(self, name: str) -> int:
        """Kill a broker, as SIGKILL does; its session is left to expire. Raises: ClusterError."""
        slot, _ = self._alive(name)
        cause = self._deeds.fault("kill", name)
        self._strike_kill(slot, cause, "")
        return cause

    def arm_kill(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        """Kill a broker when it comes to a write to ZooKeeper; returns at once. Arguments as for arm_pause."""
        slot, _ = self._running(name)
        return self._arm("kill", slot, moment, path, nth, self._strike_kill)

    def _strike_kill(self, slot: _Slot, cause: int, where: str) -> None:
        process, slot.process, slot.broker = slot.process, None, None
        assert process is not None
        sessions = [f"0x{s.session_id:016x}" for s in process.live_sessions]
        fields = EventFields(state="dead")
        if where:
            fields["detail"] = where
        self.log.append(process.name, EventKind.PROCESS_STATE, cause, fields)
        detail = f"{process.name} is dead{where and ' ' + where}; session {', '.join(sessions) or 'none'} left to expire"
        self._deeds.confirm(cause, "kill", process.name, detail)
        process.kill(cause)

    async def pause(self, name: str) -> int:
        """Freeze a broker, as SIGSTOP or a long garbage collection does. Raises: ClusterError."""
        slot, _ = self._running(name)
        cause = self._deeds.fault("pause", name)
        self._strike_pause(slot, cause, "between two steps")
        return cause

    def arm_pause(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        """Freeze a broker when it comes to a write to ZooKeeper; returns at once.

        Args:
            moment: `before`: begun but not yet sent; `after`: applied, the answer not yet seen.
            path: only a write to this path or below it counts.
            nth: the first such write from now on, or a later one.
        """
        slot, _ = self._running(name)
        return self._arm("pause", slot, moment, path, nth, self._strike_pause)

    def _strike_pause(self, slot: _Slot, cause: int, where: str) -> None:
        process = slot.process
        assert process is not None
        process.pause(cause)
        self.log.append(process.name, EventKind.PROCESS_STATE, cause, EventFields(state="paused", detail=where))
        self._deeds.confirm(cause, "pause", process.name, f"{process.name} is frozen {where}, its heartbeats with it")

    def _arm(
        self,
        fault: str,
        slot: _Slot,
        moment: Moment,
        path: str | None,
        nth: int,
        strike: Callable[[_Slot, int, str], None],
    ) -> int:
        assert slot.process is not None
        where = f"{moment} a write{f' to {path}' if path else ''}"
        cause = self._deeds.fault(fault, slot.spec.name, detail=f"armed: {where}")
        still_to_come = nth

        def matches(requests: Sequence[Request]) -> bool:
            nonlocal still_to_come
            if self.is_disarmed:
                return False
            if any(_touches(request, path) for request in requests):
                still_to_come -= 1
            return still_to_come == 0

        slot.process.break_at(Breakpoint(WriteMoment(moment), matches, lambda: strike(slot, cause, where)))
        return cause

    async def resume(self, name: str) -> int:
        """Let a frozen broker go on. Raises: ClusterError."""
        slot = self._slot(name)
        if slot.process is None or slot.process.state is not ProcessState.PAUSED:
            raise ClusterError(f"{name} is not paused")
        cause = self._deeds.act("resume", name)
        self.log.append(name, EventKind.PROCESS_STATE, cause, EventFields(state="running"))
        slot.process.resume(cause)
        return cause

    def disarm(self) -> None:
        super().disarm()
        self._network.traps.clear()

    async def close(self) -> None:
        """The run is over: nobody acts any more, and no session of ours outlives it."""
        brokers = [slot.process for slot in self._slots.values() if slot.process is not None]
        processes = [*self._clients, *brokers]
        for session in [session for process in processes for session in process.retire()]:
            session.thaw()
            await session.close()

    # --- disks

    async def fail_log_dir(self, name: str, partitions: Collection[TopicPartition] | None = None) -> int:
        """Let a broker lose a log directory; with its last one the broker dies.

        Args:
            partitions: those that lay in it, and nothing else did; None: the first directory that still works, with all
                that lies there.

        Raises: ClusterError, also when the broker has no replica of one of these partitions.
        """
        slot, process = self._running(name)
        disk, broker = slot.disk, self.broker(name)
        if missing := [str(tp) for tp in partitions or () if tp not in disk]:
            raise ClusterError(f"{name} has no replica of {', '.join(missing)}")
        cause = self._deeds.fault("fail-log-dir", name)
        log_dir = disk.set_apart(sorted(partitions)) if partitions else disk.live_dirs[0]
        lost = disk.replicas(log_dir)
        failed: Promise[bool] = self.runtime.promise()

        async def fail() -> None:
            failed.resolve(await broker.fail_log_dir(log_dir, cause))

        process.spawn("LogDirFailureHandler", fail())
        lives_on = await failed.wait(FAULT_WITHIN_MS)
        self._deeds.confirm(cause, "fail-log-dir", name, f"{log_dir} is lost with {len(lost)} replicas: {_listed(lost)}")
        if not lives_on:
            self._strike_kill(slot, cause, "because all of its log directories have failed")
        return cause

    async def slow_follower(self, name: str, records_per_second: float | None) -> int:
        """Let a broker replicate no faster than this; None: as fast as it goes; 0: not at all. Raises: ClusterError."""
        slot, _ = self._alive(name)
        if records_per_second is not None and records_per_second < 0:
            raise ClusterError(f"{name} cannot replicate {records_per_second} records a second")
        assert slot.broker is not None
        if records_per_second is None:
            cause = self._deeds.act("slow-follower", name, "as fast as it goes again")
        else:
            cause = self._deeds.fault("slow-follower", name, f"{records_per_second:g} records a second at most")
        slot.broker.data.fetchers.slow_down(records_per_second)
        if records_per_second is not None:
            leaders = len(slot.broker.data.fetchers.fetchers)
            self._deeds.confirm(cause, "slow-follower", name, f"holds for what it fetches from {leaders} leaders, in all")
        return cause

    # --- clients

    @property
    def bootstrap(self) -> list[Address]:
        """Where the brokers listen, those that do not run included: what clients are given to begin with."""
        host = self._config.host_name
        return [(host, self._config.port_of(slot.spec.broker_id)) for slot in self._slots.values()]

    def client_process(self, name: str) -> Process:
        """A process for a client, on the same network as the brokers; it ends with the run."""
        process = Process(name, self.runtime, self._zookeeper, self._network)
        self._clients.append(process)
        return process

    def replica_logs(self, tp: TopicPartition) -> dict[BrokerId, ReplicaLog]:
        """The logs of a partition, by the broker on whose disk each is, whether or not that broker runs. Read only."""
        disks = {BrokerId(slot.spec.broker_id): slot.disk for slot in self._slots.values()}
        return {broker: disk.log(tp) for broker, disk in disks.items() if tp in disk}

    # --- asked of the controller

    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments; an answer for each. Raises: ClusterError."""
        return await self._asks.alter_partition_reassignments(targets)

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """What is being reassigned, of these or of all. Raises: ClusterError."""
        return await self._asks.list_partition_reassignments(partitions)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> ElectionResults:
        """Elect leaders for these or for all; an answer for each. Raises: ClusterError."""
        return await self._asks.elect_leaders(election_type, partitions)

    def _holder_of_the_role(self) -> tuple[Broker, Process]:
        holder = self.state.controller_id
        if holder is None:
            raise ClusterError("nobody holds the controller role")
        name = f"broker-{holder}"
        _, process = self._running(name)
        return self.broker(name), process

    # --- sessions and connections

    async def expire(self, name: str) -> int:
        """Let ZooKeeper end the broker's session although the broker lives. Raises: ClusterError."""
        session = self._session(name)
        cause = self._deeds.fault("expire", name)
        await session.expire(cause)
        self._deeds.confirm(cause, "expire", name, f"session 0x{session.session_id:016x} has ended")
        return cause

    async def disconnect(self, name: str, for_ms: int | None = None) -> int:
        """Cut a broker off from ZooKeeper, until `reconnect` or for a while; its session is not closed.

        Raises: ClusterError.
        """
        _, process = self._running(name)
        session = self._session(name)
        cause = self._deeds.fault("disconnect", name)
        process.refuse_connections(cause)
        try:
            await session.cut(cause)
        except TimedOutError:  # nothing was cut, so nobody will think of undoing it
            process.allow_connections()
            raise
        self._deeds.confirm(cause, "disconnect", name, f"connection of session 0x{session.session_id:016x} is cut")
        if for_ms is not None:
            self.runtime.spawn(f"reconnect {name}", self._reconnect_after(process, for_ms))
        return cause

    async def _reconnect_after(self, process: Process, for_ms: int) -> None:
        await self.runtime.sleep_ms(for_ms)
        if process.state is not ProcessState.DEAD:
            self._deeds.act("reconnect", process.name)
            process.allow_connections()

    async def reconnect(self, name: str) -> int:
        """Let a broker reach ZooKeeper again. Raises: ClusterError."""
        _, process = self._running(name)
        cause = self._deeds.act("reconnect", name)
        process.allow_connections()
        return cause

    # --- events and look-ups

    def _slot(self, name: str) -> _Slot:
        if name not in self._slots:
            raise ClusterError(f"no broker {name}; there are {', '.join(self._slots)}")
        return self._slots[name]

    def _alive(self, name: str) -> tuple[_Slot, Process]:
        slot = self._slot(name)
        if slot.process is None:
            raise ClusterError(f"{name} is not running")
        return slot, slot.process

    def _running(self, name: str) -> tuple[_Slot, Process]:
        slot, process = self._alive(name)
        if process.state is not ProcessState.RUNNING:
            raise ClusterError(f"{name} is {process.state.value}")
        return slot, process

    def _session(self, name: str) -> FaultableSession:
        _, process = self._alive(name)
        if not process.live_sessions:
            raise ClusterError(f"{name} has no ZooKeeper session")
        return process.live_sessions[-1]


def _listed(partitions: Sequence[TopicPartition]) -> str:
    return named(partitions) or "none"


def _touches(request: Request, path: str | None) -> bool:
    if isinstance(request, Multi):
        return any(_touches(op, path) for op in request.ops if not isinstance(op, Check))
    if isinstance(request, MultiRead):
        return False
    return path is None or request.path == path or request.path.startswith(path.rstrip("/") + "/")
