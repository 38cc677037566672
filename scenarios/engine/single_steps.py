"""Steps of the scenario language on a cluster that runs without a timetable: each is read, checked and executed at once."""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.engine.step_runner import StepRunner
from kcsim.scenarios.engine.steps.registry import spec_of
from kcsim.scenarios.language.conditions_model import WaitFor
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep, ScenarioStep
from kcsim.scenarios.language.yaml_reader import FileProblem
from kcsim.scenarios.language.yaml_text import yaml_text

DECLARATIONS = ("name", "description", "cluster", "zookeeper", "workload")
"""The parts of a scenario that its steps refer to."""


def with_declarations(tree: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declarations of a scenario with more topics, producers and groups.

    Args:
        tree: the scenario, as its file has it.
        added: the same mappings with what is new: {"cluster": {"topics": {"orders": {…}}}}.
    """
    merged = dict(tree)
    for key, value in added.items():
        is_mapping = isinstance(merged.get(key), Mapping) and isinstance(value, Mapping)
        merged[key] = with_declarations(merged[key], value) if is_mapping else value
    return merged


class SingleSteps:
    """Executes steps, one request after the other. Names that a step gives with `as` are known to later steps.

    Args:
        scenario: declares the brokers, topics, producers and consumers; its timetable and expectations are not used.
    """

    def __init__(self, cluster: ScenarioCluster, scenario: Scenario) -> None:
        self._cluster = cluster
        self._declared = {key: part for key, part in scenario.model_dump(by_alias=True).items() if key in DECLARATIONS}
        aliases: dict[str, str] = {}
        self._context = EvaluationContext(cluster.log.events, cluster.state, cluster.broker_names, aliases)
        self._steps = StepRunner(cluster, scenario, self._context, aliases, self._wait)
        self._naming: list[str] = []  # the texts of earlier steps that have given names
        self._may_have_no_effect: set[int] = set()  # seqs of faults that were armed "if possible"

    @property
    def workload(self) -> Workload:
        """The producers of the scenario."""
        return self._steps.workload

    @property
    def may_have_no_effect(self) -> Collection[int]:
        """The seqs of armed faults whose steps have if-possible: it is no error if nothing triggers them."""
        return self._may_have_no_effect

    def declare(self, added: Mapping[str, Any]) -> None:
        """Add topics, producers and groups to those that steps can name, as a file would declare them.

        Raises: ScenarioFileError, if they cannot be declared like this; then nothing is.
        """
        declared = with_declarations(self._declared, added)
        text = yaml_text({**self._with_topics_there(declared), "timetable": [{"start": "all"}]})
        scenario = load_text(text, "declarations").scenario
        self._steps.declare(scenario)
        self._declared = declared

    async def do(self, texts: Sequence[str]) -> None:
        """Execute steps, each given as in a timetable, without the hyphen before it: `kill: controller`.

        Raises: ScenarioFileError, before anything is done, for a text that is no valid step; ClusterError, ServerError or
            TimedOutError for the first step that cannot be executed.
        """
        steps = self._read(texts)
        for step in steps if self._cluster.simulated is None else ():
            if (why := spec_of(step).why_not_on_processes(step)) is not None:
                raise ScenarioFileError([FileProblem(step.verb(), None, why)])
        for place, (text, step) in enumerate(zip(texts, steps, strict=True)):
            if step.after:
                await self._cluster.runtime.sleep_ms(step.after)
            if step.when is not None:
                await self._wait(step.when)
            for time in range(step.times):
                if time and step.every:
                    await self._cluster.runtime.sleep_ms(step.every)
                armed_before = {*self._steps.armed}
                await self._steps.do(place, step)
                if step.if_possible:
                    self._may_have_no_effect |= {*self._steps.armed} - armed_before
            if isinstance(step, NamingStep) and step.as_ is not None:
                self._naming.append(text)

    def _read(self, texts: Sequence[str]) -> list[ScenarioStep]:
        written = [*self._naming, *texts]
        head = f"{yaml_text(self._with_topics_there(self._declared))}timetable:\n"
        items = ["  - " + text.strip().replace("\n", "\n    ") + "\n" for text in written]
        first_lines = list(accumulate((item.count("\n") for item in items), initial=head.count("\n") + 1))
        try:
            steps = load_text(head + "".join(items), "step").scenario.timetable[len(self._naming) :]
        except ScenarioFileError as error:
            raise ScenarioFileError([_of_step(problem, written, first_lines) for problem in error.problems]) from None
        if any(step.at is not None for step in steps):
            raise ScenarioFileError([FileProblem("step", None, "at counts from the beginning of a timetable; write after")])
        return steps

    def _with_topics_there(self, declared: Mapping[str, Any]) -> dict[str, Any]:
        """Return the declarations with the topics that were created without one."""
        cluster = dict(declared["cluster"])
        topics = dict(cluster.get("topics", {}))
        for name, topic in self._cluster.state.of_topics.topics.items():
            if name not in topics and topic.assignments:
                topics[name] = {"assignment": {p: list(of.replicas) for p, of in sorted(topic.assignments.items())}}
        return {**declared, "cluster": {**cluster, "topics": topics} if topics else cluster}

    async def _wait(self, condition: WaitFor) -> None:
        def not_yet() -> str | None:
            found = evaluate(condition, self._context)
            return None if found.holds else found.observed

        await self._cluster.wait_until(not_yet, condition.within)


def _of_step(problem: FileProblem, texts: Sequence[str], first_lines: Sequence[int]) -> FileProblem:
    """Return a problem with the text of its step in the place of the file and the line."""
    line = problem.line or 0
    place = sum(first <= line for first in first_lines[: len(texts)]) - 1
    return FileProblem(texts[place].strip().partition("\n")[0] if place >= 0 else "step", None, problem.message)
