"""What cannot be done to simulated brokers in processes of their own, or seen of them: a scenario that needs it is refused.

All their events are seen, as those of brokers in the process of the run are. But their memory is not, the network between
them reports nothing, and producers are those of real brokers (kafka_producer.py), of which only the results are known.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.real_brokers import RECORDS, records_refusals
from kcsim.scenarios.engine.steps.registry import spec_of
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.steps import WaitStep
from kcsim.scenarios.language.yaml_reader import FileProblem

UNSEEN: Mapping[str, str] = MappingProxyType({"divergent": "high watermarks in the memory of other processes are not read"})
"""Field of Condition about records -> why it cannot be evaluated."""
OF_THE_NETWORK = "proxies between processes do not report it"
UNREPORTED: Mapping[EventKind, str] = MappingProxyType(
    {
        EventKind.NETWORK_STALLED: OF_THE_NETWORK,
        EventKind.NETWORK_RESUMED: OF_THE_NETWORK,
        EventKind.NETWORK_CONNECTION_BROKEN: OF_THE_NETWORK,
        EventKind.RECORDS_REFUSED: "the producers report results, not attempts",
    }
)
"""Kind of event that no part of such a run reports -> why."""
RESULTS = frozenset({EventKind.RECORDS_ACKNOWLEDGED, EventKind.RECORDS_GIVEN_UP})
"""Kinds of event of producers, of which only the columns RECORDS are seen."""


def refusals_on_processes(loaded: LoadedScenario) -> list[FileProblem]:
    """Return what a scenario asks of brokers in processes in vain, each with its line; an empty list if it can be run."""
    found = []
    for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True):
        awaited = step.wait if isinstance(step, WaitStep) else step.when
        why = spec_of(step).why_not_on_processes(step)
        if why is None and awaited is not None:
            why = why_unobservable_on_processes(awaited)
        if why is not None:
            found.append(FileProblem(loaded.file, line, f"{step.verb()}: {why}"))
    return found + records_refusals(loaded)


def why_unobservable_on_processes(condition: Condition) -> str | None:
    """Return why a condition cannot be evaluated on brokers in processes, or None if it can."""
    for part, _ in condition.parts():
        if part in UNSEEN:
            return f"{hyphenated(part)}: {UNSEEN[part]}"
    for pattern in condition.patterns():
        for kind in pattern.kinds:
            if kind in UNREPORTED:
                return f"{pattern}: {UNREPORTED[kind]}"
            if kind in RESULTS and pattern.fields.keys() - RECORDS:
                return f"{pattern}: producers of other processes do not report it in this detail"
    return None
