"""The entry of one step in the registry: how the step is executed, undone, and offered elsewhere.

A part that a step does not have is given as Absent, with the reason: no part can be forgotten. The fields of a step and the
words about it are in language/, and how random scenarios draw it is in explore/step_generators.py.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from kcsim.brokers.cluster.network_faults import NetworkFaults
from kcsim.brokers.cluster.scenario_cluster import BrokerActions
from kcsim.brokers.network.link_conditions import Links
from kcsim.scenarios.engine.recovery import Undo
from kcsim.scenarios.engine.steps.step_execution import StepExecution
from kcsim.scenarios.language.step import ScenarioStep

S = TypeVar("S", bound=ScenarioStep)


class StepKind(Enum):
    """The part that a step plays in a scenario."""

    SETUP = "prepares the cluster and its clients"
    FAULT = "injects a fault"
    ACTION = "anything else: repairs, and requests of operators"


@dataclass(frozen=True)
class Absent:
    """A part that a step does not have.

    Attributes:
        why: completes "there is none, because".
    """

    why: str


BrokerAction = Callable[[BrokerActions, str], Awaitable[int]]
"""Applies a step without options to one broker; returns the seq of its Fault or AdminAct."""
LinksAction = Callable[[NetworkFaults, Links], int]
"""Applies a step without options to links; returns the seq of its Fault or AdminAct."""


@dataclass(frozen=True)
class BrokerCommand:
    """A control command (`kcsim fault VERB broker-1`) that applies the step to one broker.

    The cluster of the pytest fixture has a method of the verb's name that does the same.
    """

    act: BrokerAction


@dataclass(frozen=True)
class LinksCommand:
    """A control command (`kcsim fault VERB broker-1 and broker-2`) that applies the step to links."""

    act: LinksAction


SUPPORTED = None
"""The step can be executed on these brokers as well."""


@dataclass(frozen=True)
class StepSpec(Generic[S]):
    """Everything that is particular to one step.

    Attributes:
        step: the class of the step.
        run: executes the step. Raises: one of the FAILURES of step_runner.py.
        undone_by: what undoes the step's effect when all faults are undone after the timetable.
        command: the control command of a cluster that `kcsim up` runs.
        on_kafka: SUPPORTED on real brokers as well, or the reason why not; a function if it depends on the step's options.
        on_processes: the same for simulated brokers in processes of their own.
    """

    step: type[S]
    kind: StepKind
    run: Callable[[StepExecution, S], Awaitable[None]]
    undone_by: Undo | Absent
    command: BrokerCommand | LinksCommand | Absent
    on_kafka: str | Callable[[S], str | None] | None
    on_processes: str | Callable[[S], str | None] | None

    @property
    def verb(self) -> str:
        return self.step.verb()

    def why_not_on_kafka(self, step: S) -> str | None:
        """Return why the step cannot be executed on real brokers; None if it can."""
        return self.on_kafka(step) if callable(self.on_kafka) else self.on_kafka

    def why_not_on_processes(self, step: S) -> str | None:
        """Return why the step cannot be executed on brokers in processes of their own; None if it can."""
        return self.on_processes(step) if callable(self.on_processes) else self.on_processes
