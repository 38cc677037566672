"""What every cluster that a scenario is run on can be asked to do, whoever its brokers are.

Every verb leaves two events: what was done (Fault or AdminAct), and what was then observed of it (FaultConfirmed, or the
change itself). A fault that had no effect is an error.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.protections import ALL_ON, Protections
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.deeds import RUN_BEGAN, SCENARIO, ClusterError, Deeds
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.language.claims import Condition
from kcsim.scenarios.server_faults import ServerFaults, ZooKeeperMembers
from kcsim.scenarios.state import ClusterState
from kcsim.scenarios.tool_session import open_tool
from kcsim.scenarios.topic_acts import TopicActs
from kcsim.zk.errors import TimedOutError, ZooKeeperError
from kcsim.zk.events import Event, EventFields, EventKind
from kcsim.zk.operations import Create, Delete, Multi, MultiDone, Request, SetData
from kcsim.zk.ports import Promise, Runtime, Session, ZooKeeper
from kcsim.zk.vocabulary import TopicPartition

Moment = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class BrokerSpec:
    broker_id: int
    rack: str | None = None

    @property
    def name(self) -> str:
        return f"broker-{self.broker_id}"


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """What a cluster is made of. `settings` has Kafka's dotted names, the same for every broker, as are its protections.

    `max_session_timeout_ms` is ZooKeeper's maxSessionTimeout; None leaves it at 20 ticks.
    """

    brokers: tuple[BrokerSpec, ...]
    settings: Mapping[str, str | int | bool]
    tick_time_ms: int = 200
    protections: Protections = ALL_ON
    max_session_timeout_ms: int | None = None


class ScenarioCluster(ABC):
    """Brokers on one ZooKeeper.

    Args:
        admin: the scenario's own ZooKeeper session, for znodes written by hand.
        members: the servers that may be faulted; None when they are not ours.
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970.
    """

    def __init__(
        self,
        runtime: Runtime,
        log: EventLog,
        zookeeper: ZooKeeper,
        admin: Session,
        members: ZooKeeperMembers | None,
        epoch_ms: int,
    ) -> None:
        self.runtime = runtime
        self.log = log
        self.state = ClusterState()
        self.is_disarmed = False
        self._admin = admin
        self._epoch_ms = epoch_ms
        self._deeds = Deeds(log)
        self.servers = ServerFaults(self._deeds, members)
        self.topics = TopicActs(self._deeds, partial(open_tool, runtime, zookeeper, log.sink(SCENARIO), epoch_ms))
        self._changed: Promise[None] = runtime.promise()
        for event in log.events:
            self.state.apply(event)
        log.subscribe(self._on_event)

    def _on_event(self, event: Event) -> None:
        self.state.apply(event)
        if not self._changed.is_settled:
            self._changed.resolve(None)

    @property
    @abstractmethod
    def broker_names(self) -> tuple[str, ...]: ...

    @property
    def member_names(self) -> tuple[str, ...]:
        return self.servers.member_names

    @property
    def epoch_ms(self) -> int:
        """Wall-clock time of the run's beginning, in ms since 1970."""
        return self._epoch_ms

    def untold(self, condition: Condition) -> str | None:
        """Why a condition cannot be judged on this cluster, in words; None if it can."""
        return None

    # --- waiting

    async def wait_until(self, condition: Callable[[], str | None], within_ms: int) -> None:
        """Wait until a condition on the log and the state holds; it is looked at again after every event.

        Args:
            condition: None when it holds, else a sentence that says what is seen instead.

        Raises: TimedOutError with that sentence when `within_ms` have passed.
        """
        deadline_ms = self.runtime.now_ms() + within_ms
        while (seen := condition()) is not None:
            left_ms = deadline_ms - self.runtime.now_ms()
            if left_ms <= 0:
                raise TimedOutError(f"not within {within_ms} ms: {seen}")
            if self._changed.is_settled:
                self._changed = self.runtime.promise()
            try:
                await self._changed.wait(left_ms)
            except TimedOutError:
                continue  # one last look, then the deadline above

    # --- life of brokers; each raises ClusterError when it cannot be done, and returns the seq of its act or fault

    @abstractmethod
    async def start(self, names: Sequence[str]) -> int:
        """Start brokers, all at once, and wait until each has registered."""

    @abstractmethod
    async def stop(self, name: str) -> int:
        """Stop a broker as SIGTERM does: in order, with a controlled shutdown unless disabled."""

    @abstractmethod
    async def kill(self, name: str) -> int:
        """Kill a broker, as SIGKILL does; its session is left to expire."""

    @abstractmethod
    def arm_kill(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        """Kill a broker when it comes to a write to ZooKeeper; returns at once. Arguments as for arm_pause."""

    @abstractmethod
    async def pause(self, name: str) -> int:
        """Freeze a broker, as SIGSTOP or a long garbage collection does."""

    @abstractmethod
    def arm_pause(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        """Freeze a broker when it comes to a write to ZooKeeper; returns at once.

        Args:
            moment: `before`: begun but not yet sent; `after`: applied, the answer not yet seen.
            path: only a write to this path or below it counts.
            nth: the first such write from now on, or a later one.
        """

    @abstractmethod
    async def resume(self, name: str) -> int:
        """Let a frozen broker go on."""

    @abstractmethod
    async def fail_log_dir(self, name: str, partitions: Collection[TopicPartition] | None = None) -> int:
        """Let a broker lose a log directory; with its last one the broker dies.

        Args:
            partitions: those that lay in it, and nothing else did; None: the first directory that still works, with all
                that lies there.
        """

    @abstractmethod
    async def expire(self, name: str) -> int:
        """Let ZooKeeper end the broker's session although the broker lives."""

    @abstractmethod
    async def disconnect(self, name: str, for_ms: int | None = None) -> int:
        """Cut a broker off from ZooKeeper, until `reconnect` or for a while; its session is not closed."""

    @abstractmethod
    async def reconnect(self, name: str) -> int:
        """Let a broker reach ZooKeeper again."""

    def disarm(self) -> None:
        """Let no fault strike any more that was armed and has not struck."""
        self.is_disarmed = True

    @abstractmethod
    async def close(self) -> None:
        """The run is over: nobody acts any more, and no session of ours outlives it."""

    # --- asked of the controller; each raises ClusterError

    @abstractmethod
    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> Mapping[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments; an answer for each."""

    @abstractmethod
    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> ElectionResults:
        """Elect leaders for these or for all; an answer for each."""

    # --- znodes, by hand

    async def zk_create(self, path: str, data: str | None, *, ephemeral: bool = False, sequential: bool = False) -> int:
        """Create a znode, as an operator would. Raises: ClusterError with ZooKeeper's answer."""
        return await self._by_hand("create", path, Create(path, _encoded(data), ephemeral, sequential))

    async def zk_set(self, path: str, data: str | None) -> int:
        return await self._by_hand("set", path, SetData(path, _encoded(data)))

    async def zk_delete(self, path: str) -> int:
        return await self._by_hand("delete", path, Delete(path))

    async def zk_recreate(self, path: str, data: str | None, *, ephemeral: bool = False) -> int:
        """Delete a znode and create it again in one transaction, so that nobody can see it missing."""
        return await self._by_hand("recreate", path, Multi((Delete(path), Create(path, _encoded(data), ephemeral))))

    async def _by_hand(self, op: str, path: str, request: Request) -> int:
        cause = self._deeds.act_on_znode(op, path)
        (reply,) = await self._admin.call([request], cause)
        error = reply.error if isinstance(reply, MultiDone) else reply
        if isinstance(error, ZooKeeperError):
            raise ClusterError(f"{op} {path}: {error}")
        return cause

    def _tell_switched_off(self, protections: Protections) -> None:
        for missing in protections.off:
            fields = EventFields(rule=missing.name, detail=f"{missing.source}: {missing.without_it}")
            self.log.append(SCENARIO, EventKind.PROTECTION_OFF, RUN_BEGAN, fields)


def _encoded(data: str | None) -> bytes | None:
    return None if data is None else data.encode()
