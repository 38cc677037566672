"""Execute the steps of a timetable on a cluster, as the registry of steps says."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.scenarios.engine.declared_clients import consumers_of, specs_of
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.engine.steps.registry import spec_of
from kcsim.scenarios.engine.steps.step_execution import StepExecution
from kcsim.scenarios.engine.untriggered_faults import untriggered_faults
from kcsim.scenarios.language.conditions_model import WaitFor
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.zk.servers.errors import ServerError

FAILURES = (ClusterError, ServerError, TimedOutError)
"""The errors of a step that cannot be executed."""


class StepRunner:
    """Executes steps.

    Args:
        aliases: grows with the names that steps give.
        wait: waits until a condition holds. Raises: TimedOutError.
        left_out: indices of the steps that are not executed; only the names that they give are bound. If there are such
            steps, any other step that cannot be executed is skipped.

    Attributes:
        workload: the producers of the scenario.
    """

    def __init__(
        self,
        cluster: ScenarioCluster,
        scenario: Scenario,
        context: EvaluationContext,
        aliases: dict[str, str],
        wait: Callable[[WaitFor], Awaitable[None]],
        left_out: Collection[int] = (),
    ) -> None:
        self._left_out = left_out
        if cluster.consumers is not None:
            cluster.consumers.declare(consumers_of(scenario.workload.groups))
        _expect_clients(cluster, scenario)
        self.workload = Workload(cluster.producing, specs_of(scenario.workload))
        self._execution = StepExecution(cluster, scenario, context, aliases, wait, self.workload)

    def declare(self, scenario: Scenario) -> None:
        """Let later steps refer to this scenario: the one before with more topics, producers and groups."""
        new_groups = {
            group: model
            for group, model in scenario.workload.groups.items()
            if group not in self._execution.scenario.workload.groups
        }
        cluster = self._execution.cluster
        if cluster.consumers is not None:
            cluster.consumers.declare(consumers_of(new_groups))
        _expect_clients(cluster, scenario)
        self.workload.declare(specs_of(scenario.workload))
        self._execution = replace(self._execution, scenario=scenario)

    @property
    def armed(self) -> Collection[int]:
        """The seqs of the faults that steps have armed so far, whether or not they have been triggered."""
        return self._execution.armed.keys()

    def untriggered_faults(self) -> list[tuple[int, str]]:
        """Return the armed faults that have not triggered and so had no effect: the index of the step, and the reason."""
        of_kind = self._execution.context.of_kind
        faults = [*of_kind(EventKind.FAULT), *of_kind(EventKind.FAULT_CONFIRMED)]
        untriggered = {event.seq for event in untriggered_faults(faults)}
        return [pending for seq, pending in self._execution.armed.items() if seq in untriggered]

    def skip(self, step: ScenarioStep, why: str) -> None:
        """Log that a step, or a part of it, was skipped because it could not be executed."""
        self._execution.skip(step, why)

    async def do(self, place: int, step: ScenarioStep) -> None:
        """Execute one step or, with if-possible, as much of it as can be executed.

        Args:
            place: the step's index in the timetable, from 0.

        Raises: one of FAILURES, unless the step has if-possible.
        """
        await self._execution.cluster.catch_up()
        try:
            if place in self._left_out:
                self._execution.bind(step)
            else:
                await spec_of(step).run(replace(self._execution, place=place), step)
        except FAILURES as error:
            if not self.may_skip(step):
                raise
            self.skip(step, str(error))

    def may_skip(self, step: ScenarioStep) -> bool:
        """Return whether a step that cannot be executed is skipped."""
        return step.if_possible or bool(self._left_out)


def _expect_clients(cluster: ScenarioCluster, scenario: Scenario) -> None:
    """Let faults name the clients of a scenario before they run."""
    if cluster.network_faults is not None:
        cluster.network_faults.expect(frozenset(scenario.workload.nodes))
