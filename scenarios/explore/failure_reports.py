"""Write the report of a failing scenario: the scenario, the command that reproduces it, and a text for an issue."""

import io
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcsim.brokers.invariants import INVARIANTS
from kcsim.eventlog.events import Event
from kcsim.scenarios.explore.generator import Tree
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import CRASHED, SIMULATED, RunFailure, SimulationResult, simulate
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.views.narration.cause_text import Sentences, seqs_of, story_lines
from kcsim.scenarios.views.narration.causes import Causes
from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on

LAST_LINES = 40
SCENARIO_FILE, ORIGINAL_FILE, REPRO_FILE, ISSUE_FILE = "scenario.yaml", "original.yaml", "repro.txt", "issue.md"


@dataclass(frozen=True)
class FailureCase:
    """One failing scenario.

    Attributes:
        original: the scenario as generated.
        smallest: the shrunk scenario; the same tree if it was not shrunk.
        failure: the failure of both.
    """

    original: Tree
    smallest: Tree
    seed: int
    failure: RunFailure


def write_failure_report(case: FailureCase, directory: Path, version: str) -> Path:
    """Write all files of one case to a folder below `directory`, and return that folder. Files of the case are overwritten.

    Args:
        version: of the simulator.

    Raises: OSError.
    """
    place = directory / f"{case.original['name']}-{case.failure.invariant}"
    place.mkdir(parents=True, exist_ok=True)
    scenario = place / SCENARIO_FILE
    scenario.write_text(yaml_text(case.smallest), encoding="utf-8")
    (place / ORIGINAL_FILE).write_text(yaml_text(case.original), encoding="utf-8")
    (place / REPRO_FILE).write_text(f"{repro(scenario, case.seed)}\n", encoding="utf-8")
    result = simulate(loaded(case.smallest), case.seed)
    issue = "\n".join(_issue(case, result, version))
    (place / ISSUE_FILE).write_text(f"{issue}\n", encoding="utf-8")
    return place


def repro(scenario: Path, seed: int) -> str:
    """Return the command that reproduces the failure."""
    return f"kcsim run {scenario} --zookeeper {SIMULATED} --seed {seed}"


def _issue(case: FailureCase, result: SimulationResult, version: str) -> Iterator[str]:
    found = next((one for one in result.failures if one.key == case.failure.key), case.failure)
    yield f"# {found.invariant}: {found.sentence}"
    yield ""
    if (claim := _claim(found.invariant)) is not None:
        yield f"What should hold: {claim}"
        yield ""
    yield f"kcsim {version}, Python {platform.python_version()}. Save the scenario as {SCENARIO_FILE}, then:"
    yield ""
    yield f"    {repro(Path(SCENARIO_FILE), case.seed)}"
    yield from _fenced("Scenario", "yaml", yaml_text(case.smallest).splitlines())
    yield from _fenced("Verdict", "text", [f"{one.invariant}: {one.sentence}" for one in result.failures])
    yield from _fenced(f"The last {LAST_LINES} lines of the timeline", "text", _timeline(case.smallest, result.events))
    if found.seq is not None and found.invariant != CRASHED:
        yield from _fenced(f"Why: what led to #{found.seq}", "text", _why(result.events, found.seq))
    if found.traceback is not None:
        yield from _fenced("Traceback", "text", found.traceback.splitlines())


def _claim(name: str) -> str | None:
    return next((invariant.claim for invariant in INVARIANTS if invariant.name == name), None)


def _fenced(title: str, language: str, lines: Sequence[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "", f"```{language}", *lines, "```")


def _timeline(tree: Tree, events: Sequence[Event]) -> list[str]:
    text = io.StringIO()
    scenario = loaded(tree).scenario
    brokers = tuple(f"broker-{broker.id}" for broker in scenario.cluster.members())
    timeline = ConsoleTimeline(console_on(text), brokers, clients=scenario.workload.nodes)
    for event in events:
        timeline(event)
    return [line.rstrip() for line in text.getvalue().splitlines()][-LAST_LINES:]


def _why(events: Sequence[Event], seq: int) -> list[str]:
    story = Causes(events).story(seq, 0, 0)
    return list(story_lines(story, Sentences(events, seqs_of(story))))
