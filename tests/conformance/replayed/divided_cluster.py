"""Clusters whose controller is of one software and whose brokers are of another: ours, and Apache Kafka.

A Kafka broker cannot be kept from standing for election, and takes itself for the active controller once its own id stands
in /controller. So each broker has a companion (companions.py), a full broker of the other software to which no replica is
assigned. The two are started, killed, frozen and stopped together, and all others see one broker:

- A broker's attempt to become controller waits, in the proxy between it and ZooKeeper, until a companion is the controller.
  So does a companion's that did not win in the recording, for a time.
- The companion's session outlives the broker's when both are killed or frozen: no controller is left to see the broker's
  session end, as none is when one process is both. When the broker closes its session, the companion is frozen before, and
  its session is ended right after.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.apache_kafka.log_feed.log_tail import LogTail
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.processes.admin_tools import KafkaAdminTools
from kcsim.brokers.cluster.processes.kafka_feed import KafkaFeed
from kcsim.brokers.cluster.processes.process_cluster import UP_WITHIN_MS, ProcessCluster, session_owners
from kcsim.brokers.cluster.processes.process_environment import FeedContext, SlotContext
from kcsim.brokers.cluster.processes.process_ports import BrokerProcess
from kcsim.brokers.cluster.processes.simulated_broker_process import LOG_DIRS, SimulatedBrokerProcess, SimulatedBrokerSpec
from kcsim.brokers.config import KAFKA_NAMES, NO_SETTINGS, Value
from kcsim.controller.capabilities import Release
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Runtime
from kcsim.zk.capture.write_comparison import write_attribution
from kcsim.zk.proxy import Breakpoint, NoSessionError, ProxiedWrite, ZooKeeperProxy
from kcsim.zk.servers.free_ports import claimed_port
from kcsim.zk.servers.ports import State
from kcsim.znodes import paths
from tests.conformance.replayed.companions import companion_of

SESSION_TIMEOUT = "zookeeper.session.timeout.ms"
COMPANION_SESSIONS = 2
"""The time-out of a companion's session, in those of its broker's.

A broker's session of 3 s, six ticks of ZooKeeper, ends within 3.5 s of the broker's death, and its companion's after 4 s at
the earliest: clients ping each third of the time-out.
"""
HELD_AT_MOST_MS = 5_000
"""How long the other companions' attempts are delayed if the intended winner does not try."""
LOOK_MS = 20


class Software(StrEnum):
    """A software of brokers."""

    OURS = "ours"
    KAFKA = "kafka"


NewCompanion = Callable[[str, int], BrokerProcess]
"""Connect string of a proxy to ZooKeeper, and a port -> a companion that reaches ZooKeeper there and listens at the port."""


class Elections:
    """Decides when a broker may try to become controller.

    Attributes:
        cluster: set before the first broker is started.
        winner: the broker whose companion is to win the next election; None: any.
    """

    cluster: ProcessCluster

    def __init__(self, winner: int | None) -> None:
        self.winner = winner

    def watch(self, proxy: ZooKeeperProxy, hold: Callable[[], Awaitable[None]]) -> None:
        """Hold each attempt that is made through a proxy until this returns."""

        async def hold_one() -> None:
            self.watch(proxy, hold)  # a breakpoint is for one attempt
            await hold()

        proxy.break_at(Breakpoint("before", _is_attempt, hold_one))

    async def until_lost(self) -> None:
        """Wait until there is a controller, however long it takes."""
        while True:
            with suppress(TimedOutError):
                return await self._until_controller()

    async def until_turn_of(self, broker: int) -> None:
        """Wait until a broker's companion may try: at once if it is to win, else when there is a controller."""
        if self.winner in (None, broker):
            return
        with suppress(TimedOutError):  # the intended winner does not try: another controller is better than none
            await self._until_controller()

    async def _until_controller(self) -> None:
        await self.cluster.settle()  # the candidate may know of the end of the last controller before the event log does
        await self.cluster.wait_until(self._missing_controller, HELD_AT_MOST_MS)

    def _missing_controller(self) -> str | None:
        return None if self.has_controller() else f"{paths.CONTROLLER} does not exist"

    def has_controller(self) -> bool:
        return paths.CONTROLLER in self.cluster.state.znodes

    def epoch_of(self, broker: int) -> int | None:
        """Return the broker epoch of a registered broker."""
        return self.cluster.state.registered.get(broker)

    def has_session(self, node: str) -> bool:
        """Return whether a node has a session that ZooKeeper has not ended."""
        sessions = self.cluster.state.sessions
        owners = write_attribution.session_owners(self.cluster.log.events)
        return any(owner == node and sessions.get(session) != "closed" for session, owner in owners.items())

    async def until(self, condition: Callable[[], bool], what: str, within_ms: int = UP_WITHIN_MS) -> None:
        """Wait until a condition on the cluster holds. Args: what: its opposite, in words. Raises: TimedOutError."""
        await self.cluster.wait_until(lambda: None if condition() else what, within_ms)


def _is_attempt(writes: Sequence[ProxiedWrite]) -> bool:
    return any(write.op == "create" and write.path == paths.CONTROLLER for write in writes)


class BrokerWithCompanion:
    """A broker and its companion, as one process of a cluster. State, address, files and exit status are the broker's.

    Args:
        zookeeper: the connect string for the proxy of the companion.
    """

    can_change_release = False

    def __init__(self, broker: BrokerProcess, zookeeper: str, new_companion: NewCompanion, elections: Elections) -> None:
        self.name, self.broker_id, self.address = broker.name, broker.broker_id, broker.address
        self.logs, self.log_dirs, self.release = broker.logs, broker.log_dirs, broker.release
        self._broker = broker
        self._proxy = ZooKeeperProxy(zookeeper)
        self._claims = ExitStack()  # of the companion's port: nobody else gets it while the companion is dead
        self._new_companion = new_companion
        self._elections = elections
        self._companion: BrokerProcess | None = None
        self._changed: Mapping[str, Value] = NO_SETTINGS
        self._former_epoch: int | None = None
        self._has_registered = asyncio.Event()
        self._is_closing = False
        self._end: asyncio.Task[None] | None = None

    def watch(self, proxy: ZooKeeperProxy) -> None:
        """Watch the broker at its proxy to ZooKeeper: its attempts to become controller, and the end of its session."""
        self._elections.watch(proxy, self._elections.until_lost)
        proxy.before_closing(self._freeze_companion)

    @property
    def state(self) -> State | None:
        return self._broker.state

    def last_lines(self, count: int) -> list[str]:
        return self._broker.last_lines(count)

    # --- start

    async def start(self, settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None) -> None:
        """Start both: first the companion, but last if its former registration still exists."""
        self._is_closing = False
        self._has_registered.clear()
        self._changed = {**self._changed, **settings}
        self._former_epoch = self._elections.epoch_of(self.broker_id)
        epoch_of, companion = self._elections.epoch_of, companion_of(self.broker_id)
        if epoch_of(companion) is None:
            await self._start_companion()
            if not self._elections.has_controller():
                # An attempt of the broker that is held back for seconds would cost it its session.
                # A companion that ends at once, as its broker will, does not register.
                await self._elections.until(
                    lambda: epoch_of(companion) is not None or not _runs(self._companion), f"no {companion} is registered"
                )
        await self._broker.start(settings, release)
        self._end = asyncio.create_task(self._end_with_broker(), name=f"end of {self.name}")

    async def _start_companion(self) -> None:
        if self._companion is None:
            await self._proxy.start()
            self._elections.watch(self._proxy, self._until_turn)
            port = self._claims.enter_context(claimed_port())
            self._companion = self._new_companion(self._proxy.connect_string, port)
        await self._companion.start({name: value for name, value in self._changed.items() if name in KAFKA_NAMES})
        self._changed = NO_SETTINGS

    async def _until_turn(self) -> None:
        """Wait until the companion may try to become controller: after its broker has registered."""
        await self._has_registered.wait()
        await self._elections.until_turn_of(self.broker_id)

    async def wait_until_up(self, timeout_s: float) -> None:
        """Return when both are up; see BrokerProcess."""
        epoch_of, broker, companion = self._elections.epoch_of, self.broker_id, companion_of(self.broker_id)
        while epoch_of(broker) in (None, self._former_epoch) and _runs(self._broker):
            with suppress(TimedOutError):
                await self._elections.until(lambda: epoch_of(broker) not in (None, self._former_epoch), "", LOOK_MS)
        self._has_registered.set()
        await self._broker.wait_until_up(timeout_s)
        if not _runs(self._companion):
            await self._elections.until(lambda: epoch_of(companion) is None, "the former companion is registered")
            await self._start_companion()
        assert self._companion is not None
        await self._companion.wait_until_up(timeout_s)

    # --- end

    async def _freeze_companion(self) -> None:
        """Keep the companion from seeing that its broker closes its session."""
        self._is_closing = True
        if self._companion is not None and _runs(self._companion):
            await self._companion.pause()

    async def _end_with_broker(self) -> None:
        """End the companion when the broker has ended, by itself or by SIGTERM."""
        while True:
            await asyncio.sleep(LOOK_MS / 1000)
            if not _runs(self._broker):
                break
        if self._companion is not None and _runs(self._companion):
            await self._companion.kill()
            if self._is_closing:
                with suppress(NoSessionError):
                    await self._proxy.expire()

    async def terminate(self, timeout_s: float) -> int:
        status = await self._broker.terminate(timeout_s)
        if self._end is not None:
            await self._end
        return status

    async def kill(self) -> None:
        self._leave_companion()
        await asyncio.gather(self._broker.kill(), *[each.kill() for each in self._companions()])

    async def pause(self) -> None:
        await asyncio.gather(self._broker.pause(), *[each.pause() for each in self._companions()])

    async def resume(self) -> None:
        """Resume both. A broker that has lost its session registers before its companion goes on, as one process does."""
        has_session = self._elections.has_session(self.name)
        await self._broker.resume()
        if not has_session:
            await self._elections.until(
                lambda: self._elections.epoch_of(self.broker_id) is not None or not _runs(self._broker),
                f"{self.name} is not registered",
            )
        await asyncio.gather(*[each.resume() for each in self._companions()])

    async def close(self) -> None:
        self._leave_companion()
        await self._broker.close()
        if self._companion is not None:
            await self._companion.close()
        await self._proxy.stop()
        self._claims.close()

    def _leave_companion(self) -> None:
        if self._end is not None:
            self._end.cancel()

    def _companions(self) -> list[BrokerProcess]:
        return [self._companion] if self._companion is not None and _runs(self._companion) else []


def _runs(process: BrokerProcess | None) -> bool:
    return process is not None and isinstance(process.state, str)


@dataclass(frozen=True)
class DividedSoftware:
    """The software of a divided cluster.

    Attributes:
        kafka: the real brokers' installation.
        of_controller: whose controller it is.
        settings_of_ours: the settings that our brokers know.
        release: whose behaviour ours have.
    """

    kafka: KafkaInstallation
    of_controller: Software
    settings_of_ours: Mapping[str, Value]
    release: Release | None
    elections: Elections
    sees_inside: bool = False

    @property
    def tools(self) -> KafkaAdminTools:
        return KafkaAdminTools(self.kafka)

    def process(self, broker: BrokerSpec, spec: ClusterSpec, place: SlotContext) -> BrokerWithCompanion:
        """Return a broker and its companion."""
        companion = replace(
            broker,
            broker_id=companion_of(broker.broker_id),
            settings={**broker.settings, SESSION_TIMEOUT: COMPANION_SESSIONS * spec.session_timeout_ms},
        )

        def new_companion(proxy: str, port: int) -> BrokerProcess:
            directory = place.directory / "companion"
            at = replace(place, zookeeper_proxy=proxy, port=port, directory=directory)
            return self._ours(companion, at) if self.of_controller is Software.OURS else self._kafkas(companion, spec, at)

        of_broker = self._kafkas(broker, spec, place) if self.of_controller is Software.OURS else self._ours(broker, place)
        return BrokerWithCompanion(of_broker, place.zookeeper, new_companion, self.elections)

    def _ours(self, broker: BrokerSpec, at: SlotContext) -> SimulatedBrokerProcess:
        settings = {**self.settings_of_ours, **broker.settings}
        spec = SimulatedBrokerSpec(
            broker.broker_id,
            at.zookeeper,
            at.zookeeper_proxy,
            at.port,
            settings,
            broker.rack,
            release=self.release,
        )
        return SimulatedBrokerProcess(spec, at.directory, at.guarded)

    def _kafkas(self, broker: BrokerSpec, spec: ClusterSpec, at: SlotContext) -> KafkaBroker:
        log_dirs = len(str(spec.settings.get(LOG_DIRS, "")).split(","))
        settings = {name: value for name, value in spec.settings_of(broker).items() if name != LOG_DIRS}
        kafka = KafkaBrokerSpec(broker.broker_id, at.zookeeper_proxy, settings, broker.rack, log_dirs)
        return KafkaBroker(self.kafka, kafka, at.directory, at.port, at.guarded)

    def consumer_network(self, _: Runtime) -> None:
        return None

    def feed(self, at: FeedContext) -> KafkaFeed:
        """Return a feed of the transactions alone, by whose registrations sessions are attributed."""
        for slot in at.slots:
            assert isinstance(slot.process, BrokerWithCompanion)
            slot.process.watch(slot.proxy)
        return KafkaFeed(at.log, at.tail, LogTail(()), lambda: session_owners(at.slots), at.run.wall_ms, at.run.seq)
