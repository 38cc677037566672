"""What is written of a scenario that goes wrong: the scenario, how to see it again, and a text to paste into an issue."""

import io
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcsim.scenarios.exploring.generator import Tree
from kcsim.scenarios.exploring.playing import CRASHED, SIMULATED, Found, Played, play
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.invariants import INVARIANTS
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.telling.cause_text import Sentences, seqs_of, story_lines
from kcsim.scenarios.telling.causes import Causes
from kcsim.scenarios.telling.timeline import Timeline, console_on
from kcsim.zk.events import Event

LAST_LINES = 40
SCENARIO_FILE, ORIGINAL_FILE, REPRO_FILE, ISSUE_FILE = "scenario.yaml", "original.yaml", "repro.txt", "issue.md"


@dataclass(frozen=True)
class Case:
    """One scenario that goes wrong.

    Attributes:
        original: as it was drawn.
        smallest: as small as it could be made; the same tree if nobody tried.
        found: what is wrong with both.
    """

    original: Tree
    smallest: Tree
    seed: int
    found: Found


def write_case(case: Case, directory: Path, version: str) -> Path:
    """Write everything of one case below `directory`; returns where. What was there of the same case is overwritten.

    Args:
        version: of the simulator.

    Raises: OSError.
    """
    place = directory / f"{case.original['name']}-{case.found.invariant}"
    place.mkdir(parents=True, exist_ok=True)
    scenario = place / SCENARIO_FILE
    scenario.write_text(yaml_text(case.smallest), encoding="utf-8")
    (place / ORIGINAL_FILE).write_text(yaml_text(case.original), encoding="utf-8")
    (place / REPRO_FILE).write_text(f"{repro(scenario, case.seed)}\n", encoding="utf-8")
    played = play(loaded(case.smallest), case.seed)
    issue = "\n".join(_issue(case, played, version))
    (place / ISSUE_FILE).write_text(f"{issue}\n", encoding="utf-8")
    return place


def repro(scenario: Path, seed: int) -> str:
    """The command that shows it again."""
    return f"kcsim run {scenario} --zookeeper {SIMULATED} --seed {seed}"


def _issue(case: Case, played: Played, version: str) -> Iterator[str]:
    found = next((one for one in played.found if one.key == case.found.key), case.found)
    yield f"# {found.invariant}: {found.sentence}"
    yield ""
    if (claim := _claim(found.invariant)) is not None:
        yield f"What should hold: {claim}"
        yield ""
    yield f"kcsim {version}, Python {platform.python_version()}. Save the scenario as {SCENARIO_FILE}, then:"
    yield ""
    yield f"    {repro(Path(SCENARIO_FILE), case.seed)}"
    yield from _fenced("Scenario", "yaml", yaml_text(case.smallest).splitlines())
    yield from _fenced("Verdict", "text", [f"{one.invariant}: {one.sentence}" for one in played.found])
    yield from _fenced(f"The last {LAST_LINES} lines of the timeline", "text", _timeline(case.smallest, played.events))
    if found.seq is not None and found.invariant != CRASHED:
        yield from _fenced(f"Why: what led to #{found.seq}", "text", _why(played.events, found.seq))
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
    timeline = Timeline(console_on(text), brokers, clients=scenario.workload.nodes)
    for event in events:
        timeline(event)
    return [line.rstrip() for line in text.getvalue().splitlines()][-LAST_LINES:]


def _why(events: Sequence[Event], seq: int) -> list[str]:
    story = Causes(events).story(seq, 0, 0)
    return list(story_lines(story, Sentences(events, seqs_of(story))))
