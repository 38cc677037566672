"""The steps about producers and consumers: those that the scenario declares are started, stopped and disturbed."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kcsim.brokers.cluster.fleet import ConsumerFleet
from kcsim.scenarios.engine.recovery import Recovery, Undo
from kcsim.scenarios.engine.steps.step_execution import StepExecution
from kcsim.scenarios.engine.steps.step_spec import SUPPORTED, Absent, StepKind, StepSpec
from kcsim.scenarios.language.consumer_steps import (
    CrashConsumersStep,
    PauseConsumersStep,
    ResumeConsumersStep,
    StallConsumersStep,
    StartConsumersStep,
    StopConsumersStep,
)
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.workload_steps import ProduceStep, StartWorkloadStep, StopWorkloadStep

COMES_TO_AN_END = Absent("it lasts until all of its records are acknowledged or given up")
STAYS_AWAY = Absent("the brokers have to recover without it: a group goes on with the consumers that are left")
S = TypeVar("S", bound=ScenarioStep)


def _to_each(
    act: Callable[[ConsumerFleet, str], Awaitable[object]],
) -> Callable[[StepExecution, ScenarioStep], Awaitable[None]]:
    async def run(on: StepExecution, step: ScenarioStep) -> None:
        for name in step.target:
            await act(on.consumers, name)

    return run


async def _produce(on: StepExecution, step: ProduceStep) -> None:
    await on.workload.produce(step.produce, step.records)


async def _start_workload(on: StepExecution, step: StartWorkloadStep) -> None:
    await on.workload.start(step.start_workload)


async def _stop_workload(on: StepExecution, step: StopWorkloadStep) -> None:
    await on.workload.stop(step.stop_workload)


async def _start_consumers(on: StepExecution, step: StartConsumersStep) -> None:
    await on.consumers.start(step.start_consumers)


async def _stall_consumers(on: StepExecution, step: StallConsumersStep) -> None:
    for name in step.stall_consumers:
        await on.consumers.stall(name, step.for_)


def _spec(
    step: type[S],
    kind: StepKind,
    run: Callable[[StepExecution, S], Awaitable[None]],
    undone_by: Undo | Absent,
    on_kafka: str | None = "the consumers of a scenario speak to simulated brokers only",
) -> StepSpec[S]:
    return StepSpec(
        step,
        kind,
        run,
        undone_by,
        command=Absent("a cluster that kcsim up runs has no simulated clients"),
        on_kafka=on_kafka,
        on_processes=SUPPORTED,
    )


CLIENT_SPECS = (
    _spec(ProduceStep, StepKind.SETUP, _produce, COMES_TO_AN_END, SUPPORTED),
    _spec(StartWorkloadStep, StepKind.SETUP, _start_workload, Recovery.end_workload, SUPPORTED),
    _spec(StopWorkloadStep, StepKind.ACTION, _stop_workload, COMES_TO_AN_END, SUPPORTED),
    _spec(StartConsumersStep, StepKind.SETUP, _start_consumers, Absent("consumers that read are no fault")),
    _spec(StopConsumersStep, StepKind.ACTION, _to_each(ConsumerFleet.stop), STAYS_AWAY),
    _spec(CrashConsumersStep, StepKind.FAULT, _to_each(ConsumerFleet.kill), STAYS_AWAY),
    _spec(PauseConsumersStep, StepKind.FAULT, _to_each(ConsumerFleet.pause), Recovery.resume_clients),
    _spec(ResumeConsumersStep, StepKind.ACTION, _to_each(ConsumerFleet.resume), Absent("it undoes a fault itself")),
    _spec(StallConsumersStep, StepKind.FAULT, _stall_consumers, Absent("it ends by itself")),
)
