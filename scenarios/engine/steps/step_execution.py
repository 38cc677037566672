"""What the execution of a step acts on: the cluster, the scenario's declarations, and the names that steps give."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from kcsim.brokers.cluster.fleet import ConsumerFleet
from kcsim.brokers.cluster.network_faults import NetworkFaults
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster, SimulatedBrokers
from kcsim.brokers.cluster.workload import Workload
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, SCENARIO, ClusterError
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.language.conditions_model import WaitFor
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep, ScenarioStep
from kcsim.scenarios.language.value_types import CONTROLLER, ROLE_OF


@dataclass(frozen=True)
class StepExecution:
    """One execution of the step at one place of the timetable.

    Attributes:
        aliases: grows with the names that steps give.
        wait: waits until a condition holds. Raises: TimedOutError.
        workload: the producers of the scenario.
        armed: seq of an armed fault -> the index of its step, and what has not happened as long as it has not triggered.
        place: the step's index in the timetable, from 0.
    """

    cluster: ScenarioCluster
    scenario: Scenario
    context: EvaluationContext
    aliases: dict[str, str]
    wait: Callable[[WaitFor], Awaitable[None]]
    workload: Workload
    armed: dict[int, tuple[int, str]] = field(default_factory=dict)
    place: int = 0

    @property
    def simulated(self) -> SimulatedBrokers:
        """What only simulated brokers in the process of the run have. Raises: ClusterError."""
        if self.cluster.simulated is None:
            raise ClusterError("only simulated brokers in the process of the run can do this")
        return self.cluster.simulated

    @property
    def consumers(self) -> ConsumerFleet:
        """The consumers of the scenario. Raises: ClusterError if the brokers are real."""
        if self.cluster.consumers is None:
            raise ClusterError("the consumers of a scenario speak to simulated brokers only")
        return self.cluster.consumers

    @property
    def network_faults(self) -> NetworkFaults:
        """The faults of the network. Raises: ClusterError if nothing stands between the brokers."""
        if self.cluster.network_faults is None:
            raise ClusterError("nothing stands between these brokers")
        return self.cluster.network_faults

    def note_armed(self, seq: int, unseen: str) -> None:
        """Note that a fault waits for its trigger, and what has not happened as long as it has not triggered."""
        self.armed[seq] = (self.place, unseen)

    def skip(self, step: ScenarioStep, why: str) -> None:
        """Log that a step, or a part of it, was skipped because it could not be executed."""
        fields = EventFields(op=step.verb(), detail=why)
        self.cluster.log.append(SCENARIO, EventKind.STEP_SKIPPED, RUN_STARTED_SEQ, fields)

    async def to_each(self, step: NamingStep, names: Sequence[str], act: Callable[[str], Awaitable[int]]) -> None:
        """Apply an action to each broker that a step names, and record the alias that the step gives."""
        for node in self.nodes(names):
            if step.as_ is not None:
                self.aliases[step.as_] = node
            try:
                await act(node)
            except ClusterError as error:  # the action may still succeed on the next broker
                if not step.if_possible:
                    raise
                self.skip(step, str(error))

    def bind(self, step: ScenarioStep) -> None:
        """Record the alias that a step gives, without executing the step. Raises: ClusterError, as `nodes`."""
        if not isinstance(step, NamingStep) or step.as_ is None:
            return
        targets = self.nodes(step.target) if isinstance(step.target, tuple) else self.cluster.servers.member_names
        self.aliases[step.as_] = targets[0]

    def nodes(self, names: Sequence[str]) -> list[str]:
        """Return the brokers that the names stand for. Raises: ClusterError if no broker has a named role."""
        nodes = self.context.nodes(names)
        for name in nodes:
            if name == CONTROLLER:
                raise ClusterError("no broker is the controller")
            if re.fullmatch(ROLE_OF, name):
                raise ClusterError(f"no broker is {name}")
        return nodes
