"""A cluster whose brokers are processes of their own, with the actions and faults of scenario_cluster.py.

The processes are those of a real Apache Kafka, or of `kcsim broker`. Each broker reaches ZooKeeper through a proxy of its
own, so that it can be cut off, expired, or killed or frozen in the middle of a write. What brokers do is read from
ZooKeeper's transaction log and from what they write into files; they are not queried.
"""

import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from kcsim.brokers.apache_kafka.errors import BrokerExitedError
from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.clients.clients import Address
from kcsim.brokers.clients.ledger import Ledger
from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.cluster.environment import ClusterEnvironment
from kcsim.brokers.cluster.fleet import ConsumerFleet
from kcsim.brokers.cluster.network_faults import NetworkFaults
from kcsim.brokers.cluster.processes.broker_process_states import (
    BROKER_PROCESS_TRANSITIONS,
    BrokerProcessInput,
    BrokerProcessState,
    next_broker_process_state,
)
from kcsim.brokers.cluster.processes.kafka_producer import KafkaProducer
from kcsim.brokers.cluster.processes.kafka_replica_logs import read_replica_log
from kcsim.brokers.cluster.processes.process_ports import AdminTools, BrokerProcess
from kcsim.brokers.cluster.processes.proxied_network import ProxiedNetwork
from kcsim.brokers.cluster.scenario_cluster import Moment
from kcsim.brokers.cluster.server_faults import ServerFaults
from kcsim.brokers.cluster.state_watch import StateWatch
from kcsim.brokers.cluster.tool_session import open_tool
from kcsim.brokers.cluster.topic_admin import TopicAdmin
from kcsim.brokers.cluster.znode_edits import ZnodeEdits
from kcsim.brokers.config import NO_SETTINGS, Value
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.network.process import NetworkOfRun, Process
from kcsim.controller.capabilities import RELEASES, Release
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventFields, EventKind, hexadecimal
from kcsim.eventlog.run_actions import SCENARIO, ArmedWrite, ClusterError, RunActionLog, process_state_fields
from kcsim.runtime.ports import Task
from kcsim.vocabulary import BrokerId, ReplicaAssignment, SessionId, TopicPartition
from kcsim.zk.proxy import Breakpoint, ProxiedSession, ProxiedWrite, ZooKeeperProxy

UP_WITHIN_MS = 60_000
"""How long a broker may take to be up: the start of a JVM, on a busy machine."""
SHUT_DOWN_WITHIN_MS = 120_000
LOOK_EVERY_MS = 50

Settle = Callable[[], Awaitable[None]]


class SessionEndAttributor(Protocol):
    """Called with a broker and the fault that causes its session to end; `is_expiry` if the fault itself ends it."""

    def __call__(self, broker: str, cause: int, *, is_expiry: bool = False) -> None: ...


@dataclass(frozen=True, slots=True)
class ProcessObserver:
    """How a cluster of processes learns what its brokers have done.

    Attributes:
        attribute_session_end: is called before a fault that will end a broker's session.
        settle: appends everything that has happened by now, so that a broker's actions come before its death in the log.
        sees_inside: whether the brokers report all that simulated brokers of this process would.
    """

    attribute_session_end: SessionEndAttributor
    settle: Settle
    sees_inside: bool = False


@dataclass
class ProcessSlot:
    """A broker's slot in the cluster: its id, disk and port, which stay the same through all its incarnations.

    Attributes:
        address: host:port where clients reach it.
    """

    process: BrokerProcess
    proxy: ZooKeeperProxy
    address: str
    state: BrokerProcessState = BrokerProcessState.STOPPED
    watch: Task | None = None
    fatal_fault: int | None = None  # the fault that may make it end by itself
    paused_by: int | None = None  # seq of the fault that has frozen it last

    @property
    def name(self) -> str:
        return self.process.name

    @property
    def is_alive(self) -> bool:
        """Whether the process runs or is paused, and nothing is about to end it."""
        return self.state in (BrokerProcessState.RUNNING, BrokerProcessState.PAUSED)

    def apply(self, given: BrokerProcessInput) -> None:
        """Change the state. Raises: IllegalBrokerProcessTransitionError."""
        self.state = next_broker_process_state(self.state, given)


class ProcessCluster:
    """Brokers in processes of their own, none of them started yet.

    Args:
        slots: one per broker.
        connect_string: of ZooKeeper itself, bypassing all proxies.
        consumer_network: the way of the scenario's consumers to the brokers; None: there are no consumers.

    Attributes:
        consumers: the scenario's consumers, in this process; None: they cannot reach the brokers.
        connect_string: for programs other than the brokers.
        network_faults: None until `inject_faults_into`.
        acknowledged_records: none; those of clients from outside the run are not seen.
    """

    def __init__(
        self,
        environment: ClusterEnvironment,
        slots: Sequence[ProcessSlot],
        tools: AdminTools,
        observer: ProcessObserver,
        connect_string: str,
        consumer_network: NetworkOfRun | None = None,
    ) -> None:
        runtime, log = environment.runtime, environment.log
        self.runtime = runtime
        self.log = log
        self._state_watch = StateWatch(runtime, log)
        self._actions = RunActionLog(log)
        self.servers = ServerFaults(self._actions, environment.members)
        tool = partial(open_tool, runtime, environment.zookeeper, log.sink(SCENARIO), environment.epoch_ms)
        self.topics = TopicAdmin(self._actions, tool)
        self.znodes = ZnodeEdits(self._actions, environment.admin)
        self._is_disarmed = False
        self.connect_string = connect_string
        self._slots = {slot.name: slot for slot in slots}
        self._tools = tools
        self._attribute_session_end = observer.attribute_session_end
        self._settle = observer.settle
        self._sees_inside = observer.sees_inside
        self.network_faults: NetworkFaults | None = None
        self._producers: list[KafkaProducer] = []
        self.consumers: ConsumerFleet | None = None
        if consumer_network is not None:
            new_process = partial(Process, runtime=runtime, zookeeper=environment.zookeeper, network=consumer_network)
            self.consumers = ConsumerFleet(runtime, log, self._actions, new_process, self._addresses)
        self._client_connections: Counter[str] = Counter()
        log.subscribe(self._count_connection)
        self.acknowledged_records = AcknowledgedRecords()

    def inject_faults_into(self, network: ProxiedNetwork) -> None:
        """Let faults be injected into the network between the brokers, whose proxies run."""
        self.network_faults = NetworkFaults(self.runtime, self._actions, network, self.broker_names)

    # --- what is seen of it

    @property
    def state(self) -> ClusterState:
        return self._state_watch.state

    @property
    def broker_names(self) -> tuple[str, ...]:
        return tuple(self._slots)

    @property
    def log_folders(self) -> Mapping[str, Path]:
        """The directory of each broker's own log files (server.log, controller.log, …); deleted after the run."""
        return {name: slot.process.logs for name, slot in self._slots.items()}

    @property
    def release(self) -> Release:
        return max((slot.process.release for slot in self._slots.values()), key=RELEASES.index)

    @property
    def member_names(self) -> tuple[str, ...]:
        return self.servers.member_names

    @property
    def client_connections(self) -> Mapping[str, int]:
        """Client id of each client from outside the run -> the number of its open connections; empty if it is not known."""
        return +self._client_connections

    def _count_connection(self, event: Event) -> None:
        if event.kind in (EventKind.CLIENT_CONNECTED, EventKind.CLIENT_DISCONNECTED, EventKind.CLIENT_CONNECTION_CLOSED):
            count = event.count or 1
            self._client_connections[event.client_id or ""] += count if event.kind is EventKind.CLIENT_CONNECTED else -count

    @property
    def is_seen_from_outside(self) -> bool:
        return not self._sees_inside

    @property
    def producing(self) -> "ProcessCluster":
        return self

    @property
    def simulated(self) -> None:
        return None

    async def wait_until(self, condition: Callable[[], str | None], within_ms: int) -> None:
        await self._state_watch.wait_until(condition, within_ms)

    async def catch_up(self) -> None:
        if self._sees_inside:  # else log lines of this moment are not written yet, and would come after what is done next
            await self._settle()

    async def settle(self) -> None:
        """Return when everything that has happened by now is in the event log."""
        await self._settle()

    # --- brokers' processes

    async def start(
        self, names: Sequence[str], settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None
    ) -> int:
        """Start brokers, all at once, and wait until each is up and registered.

        Args:
            settings: changes of these brokers' server.properties, which stay for later starts.
            release: the release of Kafka that they have from now on; None leaves it as it is.

        Raises: ClusterError.
        """
        for name in names:
            if release is not None and not self._slot(name).process.can_change_release:
                raise ClusterError("all real brokers are of one release, that of their installation")
            if (self._slot(name).state, BrokerProcessInput.START) not in BROKER_PROCESS_TRANSITIONS:
                raise ClusterError(f"{name} runs already")
        cause = self._actions.act_on_settings("start", ", ".join(names), settings, release)
        before = {name: self.state.registered.get(self._slots[name].process.broker_id) for name in names}
        for name in names:
            slot = self._slots[name]
            slot.proxy.allow()
            slot.proxy.release()  # it may have been frozen when it was killed
            await slot.process.start(settings, release)
            self._report(slot, BrokerProcessInput.START, cause)
            slot.watch = self.runtime.spawn(f"{name} watch", self._watch(slot))
        for name in names:
            await self._until_up(self._slots[name], before[name], cause)
        return cause

    async def _until_up(self, slot: ProcessSlot, former_epoch: int | None, cause: int) -> None:
        broker_id = slot.process.broker_id

        def not_registered() -> str | None:
            if slot.state is BrokerProcessState.DEAD:
                raise ClusterError(f"{slot.name} has ended: {_last_output(slot)}")
            epoch = self.state.registered.get(broker_id)
            return None if epoch not in (None, former_epoch) else f"{slot.name} is not registered"

        try:
            await slot.process.wait_until_up(UP_WITHIN_MS / 1000)
        except BrokerExitedError as error:
            fields = EventFields(broker_id=broker_id, detail=error.reason)
            self.log.append(slot.name, EventKind.BROKER_START_FAILED, cause, fields)
            raise ClusterError(str(error)) from None
        await self.wait_until(not_registered, UP_WITHIN_MS)

    async def _watch(self, slot: ProcessSlot) -> None:
        """Report a broker that ended by itself, for example because its last log directory failed."""
        while _has_process(slot):
            await self.runtime.sleep_ms(LOOK_EVERY_MS)
        if slot.is_alive:
            self._report(slot, BrokerProcessInput.EXIT, slot.fatal_fault, f"it ended by itself: {_last_output(slot)}")

    def _report(
        self, slot: ProcessSlot, given: BrokerProcessInput, cause: int | None, detail: ArmedWrite | str = ""
    ) -> None:
        """Change the state of a process, and append it to the event log."""
        slot.apply(given)
        fields = process_state_fields(slot.state.value, detail)
        self.log.append(slot.name, EventKind.PROCESS_STATE, cause, fields)

    async def stop(self, name: str) -> int:
        slot = self._running(name)
        cause = self._actions.act("stop", name)
        slot.apply(BrokerProcessInput.STOP)
        try:
            code = await slot.process.terminate(SHUT_DOWN_WITHIN_MS / 1000)
        except TimedOutError as error:
            slot.apply(BrokerProcessInput.STOP_TIMEOUT)
            raise ClusterError(str(error)) from None
        await self._settle()
        if slot.state is BrokerProcessState.STOPPING:  # else it was killed or frozen meanwhile, which is reported elsewhere
            self._report(slot, BrokerProcessInput.EXIT, cause, f"exit status {code}")
        return cause

    async def kill(self, name: str) -> int:
        slot = self._alive(name)
        cause = self._actions.fault("kill", name)
        await self._apply_kill(slot, cause, "")
        return cause

    def arm_kill(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        return self._arm("kill", name, moment, path, nth, self._apply_kill)

    async def _apply_kill(self, slot: ProcessSlot, cause: int, where: ArmedWrite | str) -> None:
        session = _session(slot)
        self._attribute_session_end(slot.name, cause)
        slot.apply(BrokerProcessInput.KILL)
        await slot.process.kill()
        await slot.proxy.cut()  # a write that was not let through yet is dropped
        await self._settle()
        self._report(slot, BrokerProcessInput.EXIT, cause, where)
        left = f"session {hexadecimal(session.session_id)}" if session else "no session"
        self._actions.confirm(cause, "kill", slot.name, f"{slot.name} is dead{where and f' {where}'}; {left} left to expire")

    async def pause(self, name: str, for_ms: int | None = None) -> int:
        slot = self._running(name)
        cause = self._actions.fault("pause", name)
        await self._apply_pause(slot, cause, "wherever it was", for_ms)
        return cause

    def arm_pause(self, name: str, moment: Moment, path: str | None = None, nth: int = 1, for_ms: int | None = None) -> int:
        return self._arm("pause", name, moment, path, nth, partial(self._apply_pause, for_ms=for_ms))

    async def _apply_pause(self, slot: ProcessSlot, cause: int, where: ArmedWrite | str, for_ms: int | None) -> None:
        self._attribute_session_end(slot.name, cause)
        slot.paused_by = cause
        await slot.process.pause()
        # What it sent before it was frozen may still arrive; a frozen process sends and receives nothing any more.
        slot.proxy.hold()
        await self._settle()
        self._report(slot, BrokerProcessInput.PAUSE, cause, where)
        if for_ms is not None:
            self.runtime.spawn(f"resume {slot.name}", self._resume_after(slot, cause, for_ms))
        self._actions.confirm(cause, "pause", slot.name, f"{slot.name} is frozen {where}, its heartbeats with it")

    def _arm(
        self,
        fault: str,
        name: str,
        moment: Moment,
        path: str | None,
        nth: int,
        apply: Callable[[ProcessSlot, int, ArmedWrite], object],
    ) -> int:
        slot = self._running(name)
        where = ArmedWrite(moment, path)
        cause = self._actions.arm(fault, name, where)
        still_to_come = nth

        def matches(writes: Sequence[ProxiedWrite]) -> bool:
            nonlocal still_to_come
            if self._is_disarmed:
                return False
            if any(_touches(write, path) for write in writes):
                still_to_come -= 1
            return still_to_come == 0

        slot.proxy.break_at(Breakpoint(moment, matches, lambda: apply(slot, cause, where)))
        return cause

    async def _resume_after(self, slot: ProcessSlot, cause: int, for_ms: int) -> None:
        """Resume a broker after this time, unless it was resumed or killed meanwhile."""
        await self.runtime.sleep_ms(for_ms)
        if slot.state is BrokerProcessState.PAUSED and slot.paused_by == cause:
            await self.resume(slot.name)

    async def resume(self, name: str) -> int:
        slot = self._slot(name)
        if slot.state is not BrokerProcessState.PAUSED:
            raise ClusterError(f"{name} is not paused")
        cause = self._actions.act("resume", name)
        self._report(slot, BrokerProcessInput.RESUME, cause)
        slot.proxy.release()
        await slot.process.resume()
        return cause

    def disarm(self) -> None:
        self._is_disarmed = True

    async def close(self) -> None:
        if self.consumers is not None:
            self.consumers.retire()
        for producer in self._producers:
            producer.close()
        for slot in self._slots.values():
            slot.apply(BrokerProcessInput.CLOSE)
            if slot.watch is not None:
                slot.watch.kill()
            await slot.process.close()
            await slot.proxy.stop()

    # --- disks

    async def fail_log_dir(self, name: str, partitions: Collection[TopicPartition] | None = None) -> int:
        """Delete the first log directory of a running broker. Raises: ClusterError, also if partitions are given."""
        if partitions:
            raise ClusterError("only a whole log directory can be taken from a real broker")
        slot = self._running(name)
        cause = self._actions.fault("fail-log-dir", name)
        slot.fatal_fault = cause
        lost = slot.process.log_dirs[0]
        shutil.rmtree(lost)
        self._actions.confirm(cause, "fail-log-dir", name, f"{lost} has vanished")
        return cause

    # --- requests to the controller

    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> dict[TopicPartition, ErrorCode]:
        detail = ", ".join(f"{tp} to {list(to)}" if to is not None else f"{tp} cancelled" for tp, to in targets.items())
        self._actions.act_on_partitions("alter-partition-reassignments", targets, detail)
        return await self._tools.alter_partition_reassignments(self.bootstrap(), targets)

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Return the ongoing reassignments of these partitions, or of all. Raises: ClusterError."""
        self._actions.act("list-partition-reassignments", None)
        return await self._tools.list_partition_reassignments(self.bootstrap(), partitions)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> ElectionResults:
        of = "all partitions" if partitions is None else ", ".join(map(str, partitions))
        self._actions.act_on_partitions("elect-leaders", partitions or (), f"{election_type} for {of}")
        return await self._tools.elect_leaders(self.bootstrap(), election_type, partitions)

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, running or not."""
        return ",".join(slot.address for slot in self._slots.values())

    def _addresses(self) -> tuple[Address, ...]:
        """Return the addresses of all brokers, running or not."""
        split = (slot.address.rpartition(":") for slot in self._slots.values())
        return tuple((host, int(port)) for host, _, port in split)

    def bootstrap(self) -> str:
        """Return the addresses of the running brokers, without proxies, for tools. Raises: ClusterError if none runs."""
        running = [slot for slot in self._slots.values() if slot.state is BrokerProcessState.RUNNING]
        if not running:
            raise ClusterError("no broker is running to send a request to")
        return ",".join(slot.process.address for slot in running)

    # --- producers

    def new_producer(self, spec: ProducerSpec, ledger: Ledger) -> KafkaProducer:
        """Return a producer that has not begun, which is a client of all brokers."""
        producer = KafkaProducer(spec, self.runtime, self.bootstrap_servers, self._partitions, ledger)
        self._producers.append(producer)
        return producer

    def _partitions(self, topic: str) -> list[TopicPartition]:
        return [tp for tp in self.state.of_topics.partitions() if tp.topic == topic]

    def replica_logs(self, tp: TopicPartition) -> dict[BrokerId, ReplicaLog]:
        """Return the logs of a partition by broker, read from the log directories of all brokers, running or not."""
        read = {
            BrokerId(slot.process.broker_id): read_replica_log(slot.process.log_dirs, tp) for slot in self._slots.values()
        }
        return {broker: log for broker, log in read.items() if log is not None}

    def report_clients(self) -> None:
        """Append nothing: of clients from outside the run, nothing is seen."""

    # --- sessions and connections

    async def expire(self, name: str) -> int:
        slot = self._alive(name)
        session = _session(slot)
        if session is None:
            raise ClusterError(f"{name} has no ZooKeeper session")
        cause = self._actions.fault("expire", name)
        self._attribute_session_end(name, cause, is_expiry=True)
        await slot.proxy.expire()
        await self._settle()
        self._actions.confirm(cause, "expire", name, f"session {hexadecimal(session.session_id)} has ended")
        return cause

    async def disconnect(self, name: str, for_ms: int | None = None) -> int:
        slot = self._running(name)
        session = _session(slot)
        if session is None:
            raise ClusterError(f"{name} has no ZooKeeper session")
        cause = self._actions.fault("disconnect", name)
        self._attribute_session_end(name, cause)
        slot.proxy.refuse()
        await slot.proxy.cut()
        self._actions.confirm(cause, "disconnect", name, f"connection of session {hexadecimal(session.session_id)} is cut")
        if for_ms is not None:
            self.runtime.spawn(f"reconnect {name}", self._reconnect_after(slot, for_ms))
        return cause

    async def _reconnect_after(self, slot: ProcessSlot, for_ms: int) -> None:
        await self.runtime.sleep_ms(for_ms)
        if _has_process(slot):
            self._actions.act("reconnect", slot.name)
            slot.proxy.allow()

    async def reconnect(self, name: str) -> int:
        slot = self._running(name)
        cause = self._actions.act("reconnect", name)
        slot.proxy.allow()
        return cause

    # --- look-ups

    def _slot(self, name: str) -> ProcessSlot:
        if name not in self._slots:
            raise ClusterError(f"no broker {name}; there are {', '.join(self._slots)}")
        return self._slots[name]

    def _alive(self, name: str) -> ProcessSlot:
        slot = self._slot(name)
        if not slot.is_alive:
            raise ClusterError(f"{name} is not running")
        return slot

    def _running(self, name: str) -> ProcessSlot:
        slot = self._alive(name)
        if slot.state is not BrokerProcessState.RUNNING:
            raise ClusterError(f"{name} is {slot.state.value}; resume it, or kill it")
        return slot


def session_owners(slots: Sequence[ProcessSlot]) -> Mapping[SessionId, str]:
    """Return session -> broker-N, for each session that a broker has been seen to open."""
    return {session.session_id: slot.name for slot in slots for session in slot.proxy.sessions}


def _has_process(slot: ProcessSlot) -> bool:
    return isinstance(slot.process.state, str)


def _last_output(slot: ProcessSlot) -> str:
    return " ".join(slot.process.last_lines(1)) or "it printed nothing"


def _session(slot: ProcessSlot) -> ProxiedSession | None:
    return next((session for session in reversed(slot.proxy.sessions) if not session.has_ended), None)


def _touches(write: ProxiedWrite, path: str | None) -> bool:
    if write.op == "check":
        return False
    return path is None or write.path == path or write.path.startswith(path.rstrip("/") + "/")
