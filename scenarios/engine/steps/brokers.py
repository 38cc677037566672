"""The steps about brokers, and about the servers of ZooKeeper."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from kcsim.brokers.cluster.scenario_cluster import BrokerActions, Moment
from kcsim.brokers.cluster.server_faults import ServerFaults
from kcsim.brokers.config import NO_SETTINGS, Value
from kcsim.brokers.network.process_states import ProcessState
from kcsim.controller.capabilities import Release
from kcsim.eventlog.run_actions import ClusterError
from kcsim.scenarios.engine.recovery import Recovery, Undo
from kcsim.scenarios.engine.steps.step_execution import StepExecution
from kcsim.scenarios.engine.steps.step_spec import SUPPORTED, Absent, BrokerAction, BrokerCommand, StepKind, StepSpec
from kcsim.scenarios.language.step import NamingStep, ScenarioStep
from kcsim.scenarios.language.steps import (
    DisconnectStep,
    ExpireStep,
    FailLogDirStep,
    KillStep,
    MidWriteStep,
    PauseStep,
    ReconnectStep,
    RestartStep,
    ResumeStep,
    RollingRestartStep,
    ServersStep,
    SlowFollowerStep,
    StartStep,
    StopStep,
)
from kcsim.scenarios.language.topic_types import ALL_PARTITIONS
from kcsim.text import summarize

ALIVE = (ProcessState.RUNNING.value, ProcessState.PAUSED.value)
STARTS_AGAIN = Absent("the step itself starts the broker again")
IS_REPAIR = Absent("it undoes a fault itself")
S = TypeVar("S", bound=ScenarioStep)
N = TypeVar("N", bound=NamingStep)

ServerAction = Callable[[ServerFaults, str], Awaitable[int]]
SERVER_ACTIONS: Mapping[str, ServerAction] = MappingProxyType(
    {"kill": ServerFaults.kill, "start": ServerFaults.start, "pause": ServerFaults.pause, "resume": ServerFaults.resume}
)
"""Verb -> what it does to a server of ZooKeeper."""


async def _start(on: StepExecution, step: StartStep) -> None:
    nodes = on.nodes(step.start)
    if step.if_possible:
        running = [node for node in nodes if on.cluster.state.processes.get(node) in ALIVE]
        if running:
            on.skip(step, ", ".join(f"{node} runs already" for node in running))
        nodes = [node for node in nodes if node not in running]
    if nodes:
        await on.cluster.start(nodes, step.settings, step.release)


async def restart(
    cluster: BrokerActions, name: str, settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None
) -> int:
    """Stop a broker in order, and start it again with these changes of its server.properties, and of its release.

    Returns: seq of the start.

    Raises: ClusterError.
    """
    await cluster.stop(name)
    return await cluster.start([name], settings, release)


async def _restart(on: StepExecution, step: RestartStep) -> None:
    await on.to_each(step, step.restart, lambda node: restart(on.cluster, node, step.settings, step.release))


async def _rolling_restart(on: StepExecution, step: RollingRestartStep) -> None:
    """Restart one broker after the other. Partitions that were not fully in sync before need not be afterwards."""
    topics = on.cluster.state.of_topics
    behind = set(topics.under_replicated())

    def still_behind() -> str | None:
        late = [tp for tp in topics.under_replicated() if tp not in behind]
        return f"{summarize(late)} not in sync" if late else None

    for node in on.nodes(step.rolling_restart):
        try:
            await restart(on.cluster, node, step.settings, step.release)
            await on.cluster.wait_until(still_behind, step.within)
        except ClusterError as error:  # the next broker may still be restarted
            if not step.if_possible:
                raise
            on.skip(step, str(error))


async def _kill(on: StepExecution, step: KillStep) -> None:
    await _at_once_or_armed(on, step, step.kill, on.cluster.kill, on.cluster.arm_kill)


async def _pause(on: StepExecution, step: PauseStep) -> None:
    at_once, arm = partial(on.cluster.pause, for_ms=step.for_), partial(on.cluster.arm_pause, for_ms=step.for_)
    await _at_once_or_armed(on, step, step.pause, at_once, arm)


async def _at_once_or_armed(
    on: StepExecution,
    step: MidWriteStep,
    names: tuple[str, ...],
    at_once: Callable[[str], Awaitable[int]],
    arm: Callable[[str, Moment, str | None, int], int],
) -> None:
    async def act(node: str) -> int:
        if step.at_write is None:
            return await at_once(node)
        seq = arm(node, step.at_write, step.path, step.nth or 1)
        on.note_armed(seq, f"{node} came to no such write")
        return seq

    await on.to_each(step, names, act)


async def _disconnect(on: StepExecution, step: DisconnectStep) -> None:
    await on.to_each(step, step.disconnect, lambda node: on.cluster.disconnect(node, step.for_))


async def _slow_follower(on: StepExecution, step: SlowFollowerStep) -> None:
    cluster = on.simulated
    await on.to_each(step, step.slow_follower, lambda node: cluster.slow_follower(node, step.rate))


async def _fail_log_dir(on: StepExecution, step: FailLogDirStep) -> None:
    await on.to_each(step, step.fail_log_dir, lambda node: on.cluster.fail_log_dir(node, step.partitions or None))


def _why_not_this_release(step: StartStep | RestartStep | RollingRestartStep) -> str | None:
    return None if step.release is None else "all real brokers are of one release, that of their installation"


def _why_not_these_partitions(step: FailLogDirStep) -> str | None:
    if step.partitions == ALL_PARTITIONS:
        return None
    return "partitions cannot be moved apart in a real broker's log directory; leave partitions out"


async def _act_on_servers(on: StepExecution, step: ServersStep) -> None:
    act = SERVER_ACTIONS[step.zookeeper.verb]
    for name in step.zookeeper.names:
        seq = await act(on.cluster.servers, on.aliases.get(name, name))
        # Only the cluster knows which server was the leader, or which follower was chosen.
        target = on.cluster.log.events[seq].target
        if step.as_ is not None and target is not None:
            on.aliases[step.as_] = target


def _spec(
    step: type[S],
    kind: StepKind,
    run: Callable[[StepExecution, S], Awaitable[None]],
    undone_by: Undo | Absent,
    command: BrokerAction,
    on_kafka: str | Callable[[S], str | None] | None = SUPPORTED,
    on_processes: str | Callable[[S], str | None] | None = SUPPORTED,
) -> StepSpec[S]:
    return StepSpec(step, kind, run, undone_by, BrokerCommand(command), on_kafka, on_processes)


def _plain(step: type[N], kind: StepKind, undone_by: Undo | Absent, act: BrokerAction) -> StepSpec[N]:
    """Return the entry of a step whose execution is its command, applied to each broker that the step names."""

    async def run(on: StepExecution, step: N) -> None:
        await on.to_each(step, step.target, lambda node: act(on.cluster, node))

    return _spec(step, kind, run, undone_by, act)


BROKER_SPECS = (
    _spec(
        StartStep,
        StepKind.SETUP,
        _start,
        IS_REPAIR,
        lambda cluster, name: cluster.start([name]),
        _why_not_this_release,
    ),
    _plain(StopStep, StepKind.ACTION, Recovery.start_dead_brokers, lambda cluster, name: cluster.stop(name)),
    _spec(RestartStep, StepKind.ACTION, _restart, STARTS_AGAIN, restart, _why_not_this_release),
    StepSpec(
        RollingRestartStep,
        StepKind.ACTION,
        _rolling_restart,
        STARTS_AGAIN,
        Absent("a command acts on one broker: restart"),
        _why_not_this_release,
        SUPPORTED,
    ),
    _spec(KillStep, StepKind.FAULT, _kill, Recovery.start_dead_brokers, lambda cluster, name: cluster.kill(name)),
    _spec(PauseStep, StepKind.FAULT, _pause, Recovery.resume_brokers, lambda cluster, name: cluster.pause(name)),
    _plain(ResumeStep, StepKind.ACTION, IS_REPAIR, lambda cluster, name: cluster.resume(name)),
    _plain(
        ExpireStep,
        StepKind.FAULT,
        Absent("a broker whose session has expired opens another by itself"),
        lambda cluster, name: cluster.expire(name),
    ),
    _spec(
        DisconnectStep,
        StepKind.FAULT,
        _disconnect,
        Recovery.reconnect_brokers,
        lambda cluster, name: cluster.disconnect(name),
    ),
    _plain(ReconnectStep, StepKind.ACTION, IS_REPAIR, lambda cluster, name: cluster.reconnect(name)),
    StepSpec(
        SlowFollowerStep,
        StepKind.FAULT,
        _slow_follower,
        Recovery.restore_replication_speed,
        Absent("a command has no rate"),
        "how fast a real broker replicates cannot be set by the record",
        "how fast the process of a broker replicates cannot be set from outside; slow-link limits what it gets, in bytes",
    ),
    _spec(
        FailLogDirStep,
        StepKind.FAULT,
        _fail_log_dir,
        Recovery.stop_brokers_without_disk,
        lambda cluster, name: cluster.fail_log_dir(name),
        _why_not_these_partitions,
        _why_not_these_partitions,
    ),
    StepSpec(
        ServersStep,
        StepKind.FAULT,
        _act_on_servers,
        Recovery.heal_servers,
        Absent("its verbs are those of brokers, with member-1 as the target"),
        SUPPORTED,
        SUPPORTED,
    ),
)
