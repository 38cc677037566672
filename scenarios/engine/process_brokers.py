"""What cannot be done to simulated brokers in processes of their own: a scenario that needs it is refused at the start.

Their events are all seen, as those of brokers in the process of the run are; only their memory is not.
"""

from kcsim.scenarios.engine.steps.registry import spec_of
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.yaml_reader import FileProblem


def refusals_on_processes(loaded: LoadedScenario) -> list[FileProblem]:
    """Return what a scenario asks of brokers in processes in vain, each with its line; an empty list if it can be run."""
    return [
        FileProblem(loaded.file, line, f"{step.verb()}: {why}")
        for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True)
        if (why := spec_of(step).why_not_on_processes(step)) is not None
    ]
