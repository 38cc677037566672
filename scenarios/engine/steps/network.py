"""The steps about the network between brokers, and between brokers and clients."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kcsim.brokers.cluster.network_faults import NetworkFaults
from kcsim.brokers.injected_errors import ErrorInjection
from kcsim.brokers.network.link_conditions import EVERYWHERE, Links, Side, is_client
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.engine.recovery import Recovery, Undo
from kcsim.scenarios.engine.steps.step_execution import StepExecution
from kcsim.scenarios.engine.steps.step_spec import SUPPORTED, Absent, LinksAction, LinksCommand, StepKind, StepSpec
from kcsim.scenarios.language.network_steps import (
    BreakConnectionsStep,
    HealStep,
    InjectErrorStep,
    LossyLinkStep,
    NetworkPartitionStep,
    SlowLinkStep,
)
from kcsim.scenarios.language.network_types import RACK, LinkSelector
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.value_types import ALL

S = TypeVar("S", bound=ScenarioStep)


async def _partition(on: StepExecution, step: NetworkPartitionStep) -> None:
    on.network_faults.partition(_links(on, step.partition), step.partition.refuse, step.for_)


async def _slow_link(on: StepExecution, step: SlowLinkStep) -> None:
    meant, faults, links = step.slow_link, on.network_faults, _links(on, step.slow_link)
    if meant.bytes_per_second is not None:
        faults.limit_rate(links, meant.bytes_per_second, step.for_)
    if meant.delay or meant.bytes_per_second is None:
        faults.slow(links, meant.delay, meant.jitter, step.for_)


async def _lossy_link(on: StepExecution, step: LossyLinkStep) -> None:
    meant, faults = step.lossy_link, on.network_faults
    if meant.loss is not None:
        faults.lossy(_links(on, meant), meant.loss, step.for_)
    if meant.break_ is not None:
        faults.breaking(_links(on, meant), meant.break_, step.for_)


async def _break_connections(on: StepExecution, step: BreakConnectionsStep) -> None:
    faults, request = on.network_faults, step.break_connections.once_delivered
    links = _links(on, step.break_connections)
    if request is None:
        faults.break_connections(links)
    else:
        let_through = step.break_connections.let_through
        enough = f"no more than {let_through} {request} were" if let_through else f"no {request} was"
        on.note_armed(faults.break_once_delivered(links, request, let_through), f"{enough} delivered {links}")


NOT_SEEN = "a proxy between brokers does not see which request has been delivered"


def _why_not_break_by_proxy(step: BreakConnectionsStep) -> str | None:
    return None if step.break_connections.once_delivered is None else NOT_SEEN


def _why_not_lossy_by_proxy(step: LossyLinkStep) -> str | None:
    return (
        None if step.lossy_link.break_ is None else "a proxy between brokers does not see which request has been delivered"
    )


async def _inject_error(on: StepExecution, step: InjectErrorStep) -> None:
    meant = step.inject_error
    links = Links(_side(on, meant.from_), _side(on, meant.to))
    injection = ErrorInjection(
        meant.request,
        ErrorCode[meant.error],
        links,
        meant.topic,
        meant.partition,
        is_carried_out=meant.carried_out,
        times=meant.count,
    )
    on.note_armed(on.simulated.answer_faults.inject(injection), f"no {meant.request} was answered {links}")


async def _heal(on: StepExecution, step: HealStep) -> None:
    faults = on.network_faults
    if isinstance(step.heal, LinkSelector):
        faults.heal(_links(on, step.heal))
    elif on.cluster.simulated is None or on.simulated.answer_faults.drop() is None or not faults.is_well():
        faults.heal(EVERYWHERE)


def _links(on: StepExecution, meant: LinkSelector) -> Links:
    return Links(_side(on, meant.sources), _side(on, meant.targets), meant.is_both_ways)


def _side(on: StepExecution, names: Sequence[str]) -> Side:
    if ALL in names:
        return None
    return frozenset(node for name in names for node in _nodes(on, name))


def _nodes(on: StepExecution, name: str) -> Sequence[str]:
    if name.startswith(RACK):
        rack = name.removeprefix(RACK)
        return [f"broker-{broker.id}" for broker in on.scenario.cluster.members() if broker.rack == rack]
    return (name,) if name in on.scenario.workload.nodes or is_client(name) else on.nodes((name,))


def _spec(
    step: type[S],
    run: Callable[[StepExecution, S], Awaitable[None]],
    undone_by: Undo | Absent = Recovery.heal_network,
    *,
    kind: StepKind = StepKind.FAULT,
    command: LinksAction | None = None,
    on_kafka: str | Callable[[S], str | None] | None = "proxies between brokers only cut and delay",
) -> StepSpec[S]:
    return StepSpec(
        step,
        kind,
        run,
        undone_by,
        command=Absent("it has options: kcsim step takes them") if command is None else LinksCommand(command),
        on_kafka=on_kafka,
        on_processes=on_kafka,
    )


REOPENED = Absent("the ends of a broken connection open another by themselves")
NETWORK_SPECS = (
    _spec(NetworkPartitionStep, _partition, command=NetworkFaults.partition, on_kafka=SUPPORTED),
    _spec(SlowLinkStep, _slow_link, on_kafka=SUPPORTED),
    _spec(LossyLinkStep, _lossy_link, on_kafka=_why_not_lossy_by_proxy),
    _spec(
        BreakConnectionsStep,
        _break_connections,
        REOPENED,
        command=NetworkFaults.break_connections,
        on_kafka=_why_not_break_by_proxy,
    ),
    _spec(InjectErrorStep, _inject_error, Absent("what no answer has carried yet is disarmed, as all armed faults are")),
    _spec(
        HealStep,
        _heal,
        Absent("it undoes faults itself"),
        kind=StepKind.ACTION,
        command=NetworkFaults.heal,
        on_kafka=SUPPORTED,
    ),
)
