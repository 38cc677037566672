"""A cluster whose brokers are processes of a real Apache Kafka, and all that can be done to them (scenario_cluster.py).

Each reaches ZooKeeper through a proxy of its own, so that it can be cut off, expired, or struck in the middle of a write.
What it does shows in ZooKeeper's transaction log and in its own logs; nothing is asked of it.
"""

import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.errors import BrokerExitedError
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.language.claims import Condition
from kcsim.scenarios.on_kafka.admin_tools import KafkaAdminTools
from kcsim.scenarios.on_kafka.told import untold
from kcsim.scenarios.scenario_cluster import Moment, ScenarioCluster
from kcsim.scenarios.server_faults import ZooKeeperMembers
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventFields, EventKind, hexadecimal
from kcsim.zk.ports import Runtime, Session, Task, ZooKeeper
from kcsim.zk.proxy import Breakpoint, ProxiedSession, ProxiedWrite, ZooKeeperProxy
from kcsim.zk.vocabulary import SessionId, TopicPartition

UP_WITHIN_MS = 60_000
"""How long a broker may take to be up: a JVM's start, on a busy machine."""
SHUT_DOWN_WITHIN_MS = 120_000
LOOK_EVERY_MS = 50

Settle = Callable[[], Awaitable[None]]


class Blame(Protocol):
    """Told a broker and the fault that will have ended its session, and whether it is the fault itself that ends it."""

    def __call__(self, broker: str, cause: int, *, is_expiry: bool = False) -> None: ...


@dataclass
class Place:
    """A broker's place in the cluster: the same id, disk and port through all its incarnations."""

    process: KafkaBroker
    proxy: ZooKeeperProxy
    state: str = "stopped"  # running, paused, stopped or dead, as the event log has it
    watch: Task | None = None
    doomed_by: int | None = None  # the fault by which it may end by itself

    @property
    def name(self) -> str:
        return self.process.name


class KafkaCluster(ScenarioCluster):
    """Brokers, none of them started yet.

    Args:
        places: by the brokers' names.
        tools: Kafka's own commands, for what is asked of the controller.
        blame: told whose session a fault will end.
        settle: has everything told that has happened by now: what a broker did stands before its death.
        connect_string: of ZooKeeper itself, past all proxies.

    Attributes:
        connect_string: for programs that are none of the brokers.
    """

    def __init__(
        self,
        places: Sequence[Place],
        tools: KafkaAdminTools,
        blame: Blame,
        settle: Settle,
        runtime: Runtime,
        log: EventLog,
        zookeeper: ZooKeeper,
        admin: Session,
        members: ZooKeeperMembers | None,
        epoch_ms: int,
        connect_string: str,
    ) -> None:
        super().__init__(runtime, log, zookeeper, admin, members, epoch_ms)
        self.connect_string = connect_string
        self._places = {place.name: place for place in places}
        self._tools = tools
        self._blame = blame
        self._settle = settle

    @property
    def broker_names(self) -> tuple[str, ...]:
        return tuple(self._places)

    @property
    def log_folders(self) -> Mapping[str, Path]:
        """Where each broker writes its own log files (server.log, controller.log, …); gone after the run."""
        return {name: place.process.logs for name, place in self._places.items()}

    def untold(self, condition: Condition) -> str | None:
        return untold(condition)

    async def settle(self) -> None:
        """Return when everything that has happened by now is in the event log."""
        await self._settle()

    # --- life of brokers

    async def start(self, names: Sequence[str]) -> int:
        """Start brokers, all at once, and wait until each is up and registered. Raises: ClusterError."""
        for name in names:
            if self._place(name).state in ("running", "paused"):
                raise ClusterError(f"{name} runs already")
        cause = self._deeds.act("start", ", ".join(names))
        before = {name: self.state.registered.get(self._places[name].process.broker_id) for name in names}
        for name in names:
            place = self._places[name]
            place.proxy.allow()
            place.proxy.release()  # it may have been frozen when it was killed
            await place.process.start()
            self._tell_process(place, "running", cause)
            place.watch = self.runtime.spawn(f"{name} watch", self._watch(place))
        for name in names:
            await self._until_up(self._places[name], before[name], cause)
        return cause

    async def _until_up(self, place: Place, former_epoch: int | None, cause: int) -> None:
        broker_id = place.process.broker_id

        def not_registered() -> str | None:
            if place.state == "dead":
                raise ClusterError(f"{place.name} has ended: {_last_words(place)}")
            epoch = self.state.registered.get(broker_id)
            return None if epoch not in (None, former_epoch) else f"{place.name} is not registered"

        try:
            await place.process.wait_until_up(UP_WITHIN_MS / 1000)
        except BrokerExitedError as error:
            fields = EventFields(broker_id=broker_id, detail=str(error))
            self.log.append(place.name, EventKind.BROKER_START_FAILED, cause, fields)
            raise ClusterError(str(error)) from None
        await self.wait_until(not_registered, UP_WITHIN_MS)

    async def _watch(self, place: Place) -> None:
        """A broker that ends although nobody ended it is told of: with its last log directory it halts, for one."""
        while _is_alive(place):
            await self.runtime.sleep_ms(LOOK_EVERY_MS)
        if place.state in ("running", "paused"):
            self._tell_process(place, "dead", place.doomed_by, f"it ended by itself: {_last_words(place)}")

    def _tell_process(self, place: Place, state: str, cause: int | None, detail: str = "") -> None:
        place.state = state
        fields = EventFields(state=state)
        if detail:
            fields["detail"] = detail
        self.log.append(place.name, EventKind.PROCESS_STATE, cause, fields)

    async def stop(self, name: str) -> int:
        place = self._running(name)
        cause = self._deeds.act("stop", name)
        place.state = "stopping"
        try:
            code = await place.process.terminate(SHUT_DOWN_WITHIN_MS / 1000)
        except TimedOutError as error:
            place.state = "running"
            raise ClusterError(str(error)) from None
        await self._settle()
        self._tell_process(place, "stopped", cause, f"exit status {code}")
        return cause

    async def kill(self, name: str) -> int:
        place = self._alive(name)
        cause = self._deeds.fault("kill", name)
        await self._strike_kill(place, cause, "")
        return cause

    def arm_kill(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        return self._arm("kill", name, moment, path, nth, self._strike_kill)

    async def _strike_kill(self, place: Place, cause: int, where: str) -> None:
        session = _session(place)
        self._blame(place.name, cause)
        place.state = "dying"
        await place.process.kill()
        await place.proxy.cut()  # a write that was not let through yet never will be
        await self._settle()
        self._tell_process(place, "dead", cause, where)
        left = f"session {hexadecimal(session.session_id)}" if session else "no session"
        self._deeds.confirm(cause, "kill", place.name, f"{place.name} is dead{where and ' ' + where}; {left} left to expire")

    async def pause(self, name: str) -> int:
        place = self._running(name)
        cause = self._deeds.fault("pause", name)
        await self._strike_pause(place, cause, "wherever it was")
        return cause

    def arm_pause(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        return self._arm("pause", name, moment, path, nth, self._strike_pause)

    async def _strike_pause(self, place: Place, cause: int, where: str) -> None:
        self._blame(place.name, cause)
        await place.process.pause()
        # What it had sent before it froze is on its way; a frozen process sends and receives nothing any more.
        place.proxy.hold()
        await self._settle()
        self._tell_process(place, "paused", cause, where)
        self._deeds.confirm(cause, "pause", place.name, f"{place.name} is frozen {where}, its heartbeats with it")

    def _arm(
        self,
        fault: str,
        name: str,
        moment: Moment,
        path: str | None,
        nth: int,
        strike: Callable[[Place, int, str], object],
    ) -> int:
        place = self._running(name)
        where = f"{moment} a write{f' to {path}' if path else ''}"
        cause = self._deeds.fault(fault, name, detail=f"armed: {where}")
        still_to_come = nth

        def matches(writes: Sequence[ProxiedWrite]) -> bool:
            nonlocal still_to_come
            if self.is_disarmed:
                return False
            if any(_touches(write, path) for write in writes):
                still_to_come -= 1
            return still_to_come == 0

        place.proxy.break_at(Breakpoint(moment, matches, lambda: strike(place, cause, where)))
        return cause

    async def resume(self, name: str) -> int:
        place = self._place(name)
        if place.state != "paused":
            raise ClusterError(f"{name} is not paused")
        cause = self._deeds.act("resume", name)
        self._tell_process(place, "running", cause)
        place.proxy.release()
        await place.process.resume()
        return cause

    async def close(self) -> None:
        for place in self._places.values():
            place.state = "stopped"
            if place.watch is not None:
                place.watch.kill()
            await place.process.close()
            await place.proxy.stop()

    # --- disks

    async def fail_log_dir(self, name: str, partitions: Collection[TopicPartition] | None = None) -> int:
        """Take a broker's first log directory away, under its feet. Raises: ClusterError, also for some partitions only."""
        if partitions:
            raise ClusterError("only a whole log directory can be taken from a real broker")
        place = self._running(name)
        cause = self._deeds.fault("fail-log-dir", name)
        place.doomed_by = cause
        lost = place.process.log_dirs[0]
        shutil.rmtree(lost)
        self._deeds.confirm(cause, "fail-log-dir", name, f"{lost} has vanished")
        return cause

    # --- asked of the controller

    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> dict[TopicPartition, ErrorCode]:
        told = ", ".join(f"{tp} to {list(to)}" if to is not None else f"{tp} cancelled" for tp, to in targets.items())
        self._deeds.act_on_partitions("alter-partition-reassignments", targets, told)
        return await self._tools.alter_partition_reassignments(self.bootstrap(), targets)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> ElectionResults:
        of = "all partitions" if partitions is None else ", ".join(map(str, partitions))
        self._deeds.act_on_partitions("elect-leaders", partitions or (), f"{election_type} for {of}")
        return await self._tools.elect_leaders(self.bootstrap(), election_type, partitions)

    async def produce(self, topic: str, records: int, acks: int) -> int:
        """Write records to a topic with Kafka's own console producer. Raises: ClusterError."""
        cause = self._deeds.act_on_topic("produce", topic, f"{records} records, acks={acks}")
        await self._tools.produce(self.bootstrap(), topic, records, acks)
        return cause

    def bootstrap(self) -> str:
        """Where a client begins: the addresses of all brokers that run. Raises: ClusterError if none does."""
        running = [place for place in self._places.values() if place.state == "running"]
        if not running:
            raise ClusterError("no broker is running that could be asked")
        return ",".join(f"127.0.0.1:{place.process.port}" for place in running)

    # --- sessions and connections

    async def expire(self, name: str) -> int:
        place = self._alive(name)
        session = _session(place)
        if session is None:
            raise ClusterError(f"{name} has no ZooKeeper session")
        cause = self._deeds.fault("expire", name)
        self._blame(name, cause, is_expiry=True)
        await place.proxy.expire()
        await self._settle()
        self._deeds.confirm(cause, "expire", name, f"session {hexadecimal(session.session_id)} has ended")
        return cause

    async def disconnect(self, name: str, for_ms: int | None = None) -> int:
        place = self._running(name)
        session = _session(place)
        if session is None:
            raise ClusterError(f"{name} has no ZooKeeper session")
        cause = self._deeds.fault("disconnect", name)
        self._blame(name, cause)
        place.proxy.refuse()
        await place.proxy.cut()
        self._deeds.confirm(cause, "disconnect", name, f"connection of session {hexadecimal(session.session_id)} is cut")
        if for_ms is not None:
            self.runtime.spawn(f"reconnect {name}", self._reconnect_after(place, for_ms))
        return cause

    async def _reconnect_after(self, place: Place, for_ms: int) -> None:
        await self.runtime.sleep_ms(for_ms)
        if _is_alive(place):
            self._deeds.act("reconnect", place.name)
            place.proxy.allow()

    async def reconnect(self, name: str) -> int:
        place = self._running(name)
        cause = self._deeds.act("reconnect", name)
        place.proxy.allow()
        return cause

    # --- look-ups

    def _place(self, name: str) -> Place:
        if name not in self._places:
            raise ClusterError(f"no broker {name}; there are {', '.join(self._places)}")
        return self._places[name]

    def _alive(self, name: str) -> Place:
        place = self._place(name)
        if place.state not in ("running", "paused"):
            raise ClusterError(f"{name} is not running")
        return place

    def _running(self, name: str) -> Place:
        place = self._alive(name)
        if place.state != "running":
            raise ClusterError(f"{name} is {place.state}")
        return place


def session_owners(places: Sequence[Place]) -> Mapping[SessionId, str]:
    """broker-N of each session that a broker has been seen to open."""
    return {session.session_id: place.name for place in places for session in place.proxy.sessions}


def _is_alive(place: Place) -> bool:
    return isinstance(place.process.state, str)


def _last_words(place: Place) -> str:
    return " ".join(place.process.last_lines(1)) or "it said nothing"


def _session(place: Place) -> ProxiedSession | None:
    return next((session for session in reversed(place.proxy.sessions) if not session.has_ended), None)


def _touches(write: ProxiedWrite, path: str | None) -> bool:
    if write.op == "check":
        return False
    return path is None or write.path == path or write.path.startswith(path.rstrip("/") + "/")
