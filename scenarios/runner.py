"""Runs a scenario: does on a cluster what the timetable says, when it says so, then judges what was expected.

A step that cannot be done, or a wait that runs out, leaves the run undecided: what came after it never happened.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import BaseModel

from kcsim.scenarios.cluster import BrokerSpec, Cluster, ClusterSpec, Moment
from kcsim.scenarios.consumer_runner import ConsumerRunner
from kcsim.scenarios.deeds import RUN_BEGAN, SCENARIO, ClusterError
from kcsim.scenarios.judging.conditions import judge
from kcsim.scenarios.judging.seen import Finding, Seen
from kcsim.scenarios.judging.verdict import Judged, Outcome, StepFailure, Verdict
from kcsim.scenarios.language.claims import Condition, Expectation
from kcsim.scenarios.language.consumer_steps import (
    CrashConsumers,
    PauseConsumers,
    ResumeConsumers,
    StallConsumers,
    StartConsumers,
    StopConsumers,
)
from kcsim.scenarios.language.network_steps import BreakConnections, Heal, LossyLink, Partition, SlowLink
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep
from kcsim.scenarios.language.steps import (
    AnyStep,
    Disconnect,
    Expire,
    Kill,
    MidWriteStep,
    Pause,
    Reconnect,
    Resume,
    Servers,
    SlowFollower,
    Start,
    Stop,
    Wait,
    ZkCreate,
    ZkDelete,
    ZkSet,
    verb_of_step,
)
from kcsim.scenarios.language.topic_steps import FailLogDir
from kcsim.scenarios.language.topic_words import ALL_PARTITIONS
from kcsim.scenarios.language.words import ALL, CONTROLLER, ROLE_OF, listed
from kcsim.scenarios.language.workload_steps import Produce, StartWorkload, StopWorkload
from kcsim.scenarios.network_runner import NetworkRunner, clients_of, racks_of
from kcsim.scenarios.topic_runner import TopicRunner
from kcsim.scenarios.workload_runner import WorkloadRunner
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.servers.errors import ServerError
from kcsim.zk.vocabulary import TopicPartition

Fault = Callable[[str], Awaitable[int]]
ArmedFault = Callable[[str, Moment, str | None, int], int]


def cluster_spec(scenario: Scenario, without: Iterable[str] = ()) -> ClusterSpec:
    """The cluster that a scenario asks for.

    Args:
        without: names of protections that it is to lack besides. Raises: ValueError for an unknown one.
    """
    brokers = tuple(BrokerSpec(broker.id, broker.rack) for broker in scenario.cluster.members())
    protections = scenario.protections.without(without)
    return ClusterSpec(brokers, scenario.cluster.settings, scenario.zookeeper.tick_time, protections)


async def run_scenario(loaded: LoadedScenario, cluster: Cluster) -> Verdict:
    """Run the timetable on a cluster whose brokers have not been started, judge the expectations, log the judgements.

    Returns: also when a step failed: the verdict says which, and nothing is decided then.
    """
    return await _Run(loaded, cluster).run()


class _Run:
    """One run of one scenario; `aliases` grows with the names that steps give."""

    def __init__(self, loaded: LoadedScenario, cluster: Cluster) -> None:
        self._loaded = loaded
        self._cluster = cluster
        self._aliases: dict[str, str] = {}
        self._armed: dict[int, tuple[int, str]] = {}  # seq of an armed fault -> its step, and what has not happened so far
        self._topics = TopicRunner(cluster, loaded.scenario.cluster.topics)
        self._workload = WorkloadRunner(cluster, loaded.scenario.workload)
        self._consumers = ConsumerRunner(cluster, loaded.scenario.workload.groups)
        self._seen = Seen(cluster.log.events, cluster.state, cluster.broker_names, self._aliases)
        self._network = NetworkRunner(cluster, racks_of(loaded.scenario), clients_of(loaded.scenario), self._nodes)

    async def run(self) -> Verdict:
        scenario = self._loaded.scenario
        failure = await self._do_timetable(scenario.timetable)
        self._workload.take_ledger()
        judged = [await self._judge(expectation, failure) for expectation in scenario.expect]
        for one in judged:
            fields = EventFields(outcome=one.outcome.value, rule=one.claim, detail=one.seen)
            cause = one.evidence[-1].seq if one.evidence else RUN_BEGAN
            self._cluster.log.append(SCENARIO, EventKind.EXPECTATION, cause, fields)
        return Verdict(scenario.name, tuple(judged), failure)

    # --- the timetable

    async def _do_timetable(self, timetable: Sequence[AnyStep]) -> StepFailure | None:
        began_ms = self._cluster.runtime.now_ms()
        for place, step in enumerate(timetable):
            try:
                await self._sleep_until(began_ms + step.at if step.at is not None else self._now_ms() + (step.after or 0))
                await self._do(place, step)
            except (ClusterError, ServerError, TimedOutError) as error:
                return self._failure(place, str(error))
        return self._unstruck()

    def _now_ms(self) -> int:
        return self._cluster.runtime.now_ms()

    async def _sleep_until(self, due_ms: int) -> None:
        if (left_ms := due_ms - self._now_ms()) > 0:
            await self._cluster.runtime.sleep_ms(left_ms)

    def _failure(self, place: int, reason: str) -> StepFailure:
        step = verb_of_step(self._loaded.scenario.timetable[place])
        return StepFailure(self._loaded.file, self._loaded.step_lines[place], step, reason)

    def _unstruck(self) -> StepFailure | None:
        """A fault that was armed and never struck had no effect, and that is an error."""
        struck = {event.cause for event in self._seen.of_kind(EventKind.FAULT_CONFIRMED)}
        for seq, (place, unseen) in self._armed.items():
            if seq not in struck:
                return self._failure(place, f"had no effect: {unseen} before the timetable was done")
        return None

    async def _do(self, place: int, step: AnyStep) -> None:
        cluster = self._cluster
        match step:
            case Start(start=names):
                await cluster.start(self._nodes(names))
            case Stop(stop=names):
                await self._to_each(step, names, cluster.stop)
            case Kill(kill=names):
                await self._to_each(step, names, lambda node: self._fault(place, step, node, cluster.kill, cluster.arm_kill))
            case Pause(pause=names):
                await self._to_each(
                    step, names, lambda node: self._fault(place, step, node, cluster.pause, cluster.arm_pause)
                )
            case Resume(resume=names):
                await self._to_each(step, names, cluster.resume)
            case Expire(expire=names):
                await self._to_each(step, names, cluster.expire)
            case Disconnect(disconnect=names, for_=for_ms):
                await self._to_each(step, names, lambda node: cluster.disconnect(node, for_ms))
            case Reconnect(reconnect=names):
                await self._to_each(step, names, cluster.reconnect)
            case Servers():
                await self._fault_servers(step)
            case ZkCreate(zk_create=znode):
                await cluster.zk_create(znode.path, znode.data, ephemeral=znode.ephemeral, sequential=znode.sequential)
            case ZkSet(zk_set=znode):
                await cluster.zk_set(znode.path, znode.data)
            case ZkDelete(zk_delete=path):
                await cluster.zk_delete(path)
            case SlowFollower(slow_follower=names, rate=rate):
                await self._to_each(step, names, lambda node: cluster.slow_follower(node, rate))
            case FailLogDir(fail_log_dir=names, partitions=partitions):
                await self._to_each(step, names, lambda node: cluster.fail_log_dir(node, partitions or None))
            case Produce() | StartWorkload() | StopWorkload():
                await self._workload.do(step)
            case (
                StartConsumers()
                | StopConsumers()
                | CrashConsumers()
                | PauseConsumers()
                | ResumeConsumers()
                | StallConsumers()
            ):
                await self._consumers.do(step)
            case Partition() | SlowLink() | LossyLink() | BreakConnections() | Heal():
                if (armed := self._network.do(step)) is not None:
                    seq, unseen = armed
                    self._armed[seq] = (place, unseen)
            case Wait(wait=condition):
                await self._wait(condition, condition.within)
            case _:
                await self._topics.do(step)

    async def _to_each(self, step: NamingStep, names: Sequence[str], do: Callable[[str], Awaitable[int]]) -> None:
        for node in self._nodes(names):
            if step.as_ is not None:
                self._aliases[step.as_] = node
            await do(node)

    async def _fault(self, place: int, step: MidWriteStep, node: str, now: Fault, arm: ArmedFault) -> int:
        if step.at_write is None:
            return await now(node)
        seq = arm(node, step.at_write, step.path, step.nth or 1)
        self._armed[seq] = (place, f"{node} came to no such write")
        return seq

    async def _fault_servers(self, step: Servers) -> None:
        cluster, verb = self._cluster, step.zookeeper.verb
        do = {
            "kill": cluster.servers.kill,
            "start": cluster.servers.start,
            "pause": cluster.servers.pause,
            "resume": cluster.servers.resume,
        }[verb]
        for name in step.zookeeper.names:
            seq = await do(self._aliases.get(name, name))
            # Which server the leader or a follower was, the cluster alone knows.
            target = cluster.log.events[seq].target
            if step.as_ is not None and target is not None:
                self._aliases[step.as_] = target

    def _nodes(self, names: Sequence[str]) -> list[str]:
        """The brokers meant now. Raises: ClusterError when `controller` or `leader-of orders-0` is nobody."""
        nodes = self._seen.nodes(names)
        for name in nodes:
            if name == CONTROLLER:
                raise ClusterError("nobody holds the controller role")
            if re.fullmatch(ROLE_OF, name):
                raise ClusterError(f"nobody is {name}")
        return nodes

    # --- conditions

    async def _wait(self, condition: Condition, within_ms: int) -> None:
        await self._cluster.wait_until(lambda: None if (f := self._look(condition)).holds else f.seen, within_ms)

    def _look(self, condition: Condition) -> Finding:
        return judge(condition, self._seen)

    async def _judge(self, expectation: Expectation, failure: StepFailure | None) -> Judged:
        if failure is None and expectation.within:
            with suppress(TimedOutError):  # what is seen then is the verdict
                await self._wait(expectation, expectation.within)
        finding = self._look(expectation)
        outcome = Outcome.HELD if finding.holds else Outcome.VIOLATED
        return Judged(
            claim=expectation.claim or claim_of(expectation),
            outcome=outcome if failure is None else Outcome.UNDECIDED,
            seen=finding.seen,
            evidence=finding.evidence,
        )


def claim_of(expectation: Expectation) -> str:
    """An expectation in the words of its file, where it has no claim of its own."""
    return ", ".join(f"{part.replace('_', '-')}: {_in_words(value)}" for part, value in expectation.parts())


def _in_words(value: object) -> str:
    if isinstance(value, BaseModel):
        return ", ".join(f"{name} {item}" for name, item in value.model_dump(exclude_defaults=True).items())
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{partition} {_in_words(item)}" for partition, item in value.items())
    if value == ALL_PARTITIONS:
        return ALL
    if isinstance(value, tuple | list):
        return listed(value)
    return str(value)
