"""Does the steps of a timetable on a cluster: turns each into what is done to somebody."""

import re
from collections.abc import Awaitable, Callable, Sequence

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import SCENARIO, ClusterError
from kcsim.scenarios.judging.seen import Seen
from kcsim.scenarios.language.claims import WaitFor
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep, Step
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
    Start,
    Stop,
    Wait,
    ZkCreate,
    ZkDelete,
    ZkSet,
    verb_of_step,
)
from kcsim.scenarios.language.topic_steps import (
    AddPartitions,
    CancelReassignment,
    CreateTopic,
    DeleteTopic,
    ElectPreferred,
    ElectUnclean,
    FailLogDir,
    Reassign,
    SetConfig,
)
from kcsim.scenarios.language.words import CONTROLLER, ROLE_OF
from kcsim.scenarios.process import ProcessState
from kcsim.scenarios.scenario_cluster import Moment, ScenarioCluster
from kcsim.scenarios.simulated_steps import SimulatedSteps
from kcsim.scenarios.topic_runner import TopicRunner
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.servers.errors import ServerError

FAILURES = (ClusterError, ServerError, TimedOutError)
"""What a step that cannot be done raises."""
ALIVE = (ProcessState.RUNNING.value, ProcessState.PAUSED.value)

Fault = Callable[[str], Awaitable[int]]
ArmedFault = Callable[[str, Moment, str | None, int], int]


class StepRunner:
    """Does steps.

    Args:
        aliases: grows with the names that steps give.
        wait: waits until a condition holds. Raises: TimedOutError.

    Attributes:
        simulated: does the steps that only simulated brokers can take part in; None where the brokers are real.
    """

    def __init__(
        self,
        cluster: ScenarioCluster,
        scenario: Scenario,
        seen: Seen,
        aliases: dict[str, str],
        wait: Callable[[WaitFor], Awaitable[None]],
    ) -> None:
        self._cluster = cluster
        self._seen = seen
        self._aliases = aliases
        self._wait = wait
        self._armed: dict[int, tuple[int, str]] = {}  # seq of an armed fault -> its step, and what has not happened so far
        self._topics = TopicRunner(cluster, scenario.cluster.topics)
        self.simulated = (
            SimulatedSteps(cluster, scenario, self._nodes, self._to_each) if isinstance(cluster, Cluster) else None
        )

    def unstruck(self) -> list[tuple[int, str]]:
        """Faults that were armed and have not struck, which is to say had no effect: the place of the step, and why."""
        struck = {event.cause for event in self._seen.of_kind(EventKind.FAULT_CONFIRMED)}
        return [told for seq, told in self._armed.items() if seq not in struck]

    def pass_over(self, step: Step, why: str) -> None:
        """Tell that a step, or a part of it, was not done, as it could not be."""
        self._cluster.log.append(SCENARIO, EventKind.STEP_SKIPPED, None, EventFields(op=verb_of_step(step), detail=why))

    async def do(self, place: int, step: AnyStep) -> None:
        """Do one step, or what can be done of it if that will do.

        Args:
            place: in the timetable, from 0.

        Raises: one of FAILURES, unless the step is to be passed over then.
        """
        try:
            await self._do(place, step)
        except FAILURES as error:
            if not step.if_possible:
                raise
            self.pass_over(step, str(error))

    async def _do(self, place: int, step: AnyStep) -> None:
        cluster = self._cluster
        match step:
            case Start(start=names):
                if nodes := self._to_start(step, names):
                    await cluster.start(nodes)
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
            case FailLogDir(fail_log_dir=names, partitions=partitions):
                await self._to_each(step, names, lambda node: cluster.fail_log_dir(node, partitions or None))
            case Wait(wait=condition):
                await self._wait(condition)
            case (
                CreateTopic()
                | DeleteTopic()
                | AddPartitions()
                | Reassign()
                | CancelReassignment()
                | ElectPreferred()
                | ElectUnclean()
                | SetConfig()
            ):
                await self._topics.do(step)
            case _:
                if self.simulated is None:
                    raise ClusterError("only simulated brokers can do this")
                if (armed := await self.simulated.do(step)) is not None:
                    seq, unseen = armed
                    self._armed[seq] = (place, unseen)

    async def _to_each(self, step: NamingStep, names: Sequence[str], do: Callable[[str], Awaitable[int]]) -> None:
        for node in self._nodes(names):
            if step.as_ is not None:
                self._aliases[step.as_] = node
            try:
                await do(node)
            except ClusterError as error:  # to the next one it can perhaps be done
                if not step.if_possible:
                    raise
                self.pass_over(step, str(error))

    def _to_start(self, step: Start, names: Sequence[str]) -> list[str]:
        """Whom to start; where that will do, not those who run already."""
        nodes = self._nodes(names)
        if not step.if_possible:
            return nodes
        running = [node for node in nodes if self._cluster.state.processes.get(node) in ALIVE]
        if running:
            self.pass_over(step, ", ".join(f"{node} runs already" for node in running))
        return [node for node in nodes if node not in running]

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
