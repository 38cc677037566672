"""The two state machines by themselves: on the model of ZooKeeper, with a cluster that a test makes up.

Brokers 1, 2 and 3 are alive. There is a controller epoch, but no controller: only the test causes moves. Requests are
recorded and not sent.
"""

import random
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from kcsim import znodes
from kcsim.controller.channels.broker_request_batch import BrokerRequestBatch
from kcsim.controller.channels.channel_manager import Callback, ControllerChannelManager
from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import ControllerContext
from kcsim.controller.metrics import ControllerMetrics
from kcsim.controller.quarantine import Quarantine
from kcsim.controller.requests import StateChangeRequest
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.partition_state_machine import PartitionStateMachine
from kcsim.controller.state_machines.replica_state_machine import ReplicaStateMachine
from kcsim.controller.state_machines.unclean_setting import UncleanElectionSetting
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.operations import DataRead, GetData
from kcsim.znodes import paths
from tests.controller.controller_harness import WITHIN_MS, listening
from tests.controller.stub_brokers import StubBrokers

B1, B2, B3 = (BrokerId(n) for n in (1, 2, 3))
T0, T1 = (TopicPartition("t", n) for n in (0, 1))
DEAD = TopicPartition("dead", 0)
B9 = BrokerId(9)
"""A broker that is not part of the cluster."""
WRITES = (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED)


class _RecordedRequests(ControllerChannelManager):
    """Recorder of requests, which sends nothing."""

    def __init__(self, fixture: "StateMachineFixture") -> None:
        super().__init__(fixture.runtime, StubBrokers(0), fixture.sink, ControllerConfig())
        self._fixture = fixture

    def send_request(self, broker_id: BrokerId, request: StateChangeRequest, callback: Callback | None, cause: int) -> None:
        self._fixture.requests.append((broker_id, request))


class StateMachineFixture:
    """Both machines over one context.

    Attributes:
        requests: what was to be sent to brokers.
    """

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.sink = self.log.sink("broker-1")
        self.context = ControllerContext()
        self.requests: list[tuple[BrokerId, StateChangeRequest]] = []
        zookeeper = MemoryZooKeeper(self.runtime, self.log.sink("zookeeper"), random.Random(1))
        self._client = ZooKeeperClient(self.runtime, zookeeper, self.sink, WITHIN_MS, WITHIN_MS)
        self.zk = gateways_on(self._client)
        scope = ControllerScope(B1, ControllerConfig(), self.context, self.sink, Quarantine(self.sink, is_on=False))
        batch = partial(BrokerRequestBatch, scope, _RecordedRequests(self), lambda event, cause: None)
        unclean = UncleanElectionSetting(self.zk.configs, default=False)
        states, metrics = self.zk.partition_states, ControllerMetrics()
        self.partitions = PartitionStateMachine(scope, self.runtime, states, unclean, batch(), metrics)
        self.replicas = ReplicaStateMachine(scope, self.runtime, states, batch())

    def run(self, script: Callable[["StateMachineFixture"], Coroutine[Any, Any, None]]) -> None:
        """Run a test's script, with brokers alive and an epoch won."""
        self.runtime.run(self._prepared(script))

    async def _prepared(self, script: Callable[["StateMachineFixture"], Coroutine[Any, Any, None]]) -> None:
        await self._client.connect()
        await self.zk.cluster.create_top_level_paths()
        for tp in (T0, DEAD):
            await self.zk.topics.create(tp.topic, TopicState({}))
        self.context.epoch, self.context.epoch_zk_version = await self.zk.controller.register_and_increment_epoch(B1)
        self.context.add_live_brokers((listening(broker), BrokerEpoch(broker)) for broker in (B1, B2, B3))
        await script(self)

    # --- the cluster

    def assign(self, tp: TopicPartition, *replicas: BrokerId) -> None:
        """Make a partition known."""
        self.context.topics.add(tp.topic)
        self.context.put_assignment(tp, ReplicaAssignment(replicas))

    async def store(self, tp: TopicPartition, leader: BrokerId | None, *isr: BrokerId) -> None:
        """Give a partition a state, in ZooKeeper and in the context: leader epoch 0, version 0, of this controller."""
        state = PartitionState(LeaderAndIsr(leader, LeaderEpoch(0), isr, ZkVersion(0)), self.context.epoch)
        created = await self.zk.partition_states.create({tp: state}, self.context.epoch_zk_version)
        assert created == {tp: 0}
        self.context.put_leadership(tp, state)

    async def stored(self, tp: TopicPartition) -> LeaderAndIsr | None:
        """Return the state in ZooKeeper."""
        path = paths.topic_partition_state(tp)
        (read,) = await self._client.request([GetData(path)])
        if not isinstance(read, DataRead):
            return None
        state = znodes.decode_partition_state(path, read.data, read.stat.version, lambda path, why: None)
        return None if state is None else state.leader_and_isr

    # --- results

    def forget(self) -> None:
        """Discard the results so far."""
        self.requests.clear()
        self.log.forget()

    def found(self, *kinds: EventKind) -> list[Event]:
        return [event for event in self.log.events if event.kind in kinds]

    def sent(self) -> list[tuple[str, BrokerId]]:
        """Return kind and recipients of the requests, in order."""
        return [(type(request).__name__.removesuffix("Request"), broker) for broker, request in self.requests]


def described(failures: Iterable[Event]) -> list[tuple[str | None, str | None]]:
    """Return partition (and broker) and target of moves that failed."""
    return [(f"{e.topic}-{e.partition}" + (f" on {e.broker_id}" if e.broker_id else ""), e.state) for e in failures]
