"""The report of an exploration, for people and for programs."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcsim.scenarios.cli.command_exit import OutputFormat

if TYPE_CHECKING:
    from rich.console import Console

    from kcsim.scenarios.explore.campaign import Campaign
    from kcsim.scenarios.explore.failure_reports import FailureCase
    from kcsim.scenarios.explore.shrink import ShrinkResult

REACHED_SHOWN = 6
"""At most this many of the reached items of each kind are named, the rarest ones first."""


@dataclass(frozen=True)
class WrittenCase:
    """A failing scenario, the result of shrinking it, and the directory in which it was written."""

    case: "FailureCase"
    shrunk: "ShrinkResult"
    directory: Path


def print_report(
    campaign: "Campaign", cases: Sequence[WrittenCase], what: str, is_interrupted: bool, output: OutputFormat
) -> None:
    """Print on stdout what was found and what was reached. No part of the report depends on the clock."""
    if output is OutputFormat.JSON:
        print(json.dumps(_as_json(campaign, cases, what, is_interrupted), indent=2, ensure_ascii=False))
        return
    from kcsim.scenarios.views.narration.timeline import console_on

    console = console_on(sys.stdout)
    _print_coverage(console, campaign)
    _print_known(console, campaign)
    _print_cases(console, campaign, cases)
    console.print(_summary(campaign, what, is_interrupted))


def _summary(campaign: "Campaign", what: str, is_interrupted: bool) -> str:
    if campaign.seeds is None:
        return f"{what}: interrupted before the first run was done"
    first, last = campaign.seeds
    verdict = f"{len(campaign.failing)} with an unknown violation" if campaign.failing else "no unknown violation"
    cut = "interrupted after " if is_interrupted else ""
    runs = f"{cut}{campaign.runs} runs" + (f" (seeds {first} to {last})" if first != last else "")
    return f"{what}: {runs}, {campaign.events} events in {campaign.virtual_ms // 1_000} s of their own time: {verdict}"


def _print_coverage(console: "Console", campaign: "Campaign") -> None:
    from rich.table import Table

    from kcsim.scenarios.views.narration.timeline import TABLE_WIDTH

    table = Table(title="reached, in how many runs", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("what", "reached", "the most seldom", "never"):
        table.add_column(column, overflow="fold")
    for kind in campaign.coverage.kinds:
        counts = campaign.coverage.of(kind)
        reached = sorted((count, name) for name, count in counts.items() if count)
        seldom = ", ".join(f"{name} {count}" for count, name in reached[:REACHED_SHOWN])
        never = ", ".join(name for name, count in counts.items() if not count)
        table.add_row(kind, f"{len(reached)} of {len(counts)}", seldom, never)
    console.print(table, width=None if console.is_terminal else TABLE_WIDTH)


def _print_known(console: "Console", campaign: "Campaign") -> None:
    for name, (runs, seed) in sorted(campaign.known.items()):
        console.print(f"known bug of Kafka itself: {name}, in {runs} runs, first with seed {seed}")


def _print_cases(console: "Console", campaign: "Campaign", cases: Sequence[WrittenCase]) -> None:
    for key, runs in campaign.violations.most_common():
        console.print(f"violated in {runs} runs: {key}")
    for written in cases:
        case, shrunk = written.case, written.shrunk
        steps = f"{len(case.smallest['timetable'])} of {len(case.original['timetable'])} steps"
        left = "" if shrunk.is_minimal else ", and could perhaps be smaller"
        console.print(f"{case.failure.key}: {steps} are left after {shrunk.runs} runs{left}: {written.directory}")


def _as_json(campaign: "Campaign", cases: Sequence[WrittenCase], what: str, is_interrupted: bool) -> dict[str, Any]:
    coverage = campaign.coverage
    return {
        "explored": what,
        "seeds": campaign.seeds,
        "runs": campaign.runs,
        "events": campaign.events,
        "virtual_ms": campaign.virtual_ms,
        "digest": campaign.digest,
        "is_interrupted": is_interrupted,
        "failing_seeds": [tried.seed for tried in campaign.failing],
        "violations": dict(sorted(campaign.violations.items())),
        "known_bugs": {name: {"runs": runs, "first_seed": seed} for name, (runs, seed) in sorted(campaign.known.items())},
        "cases": [_case_as_json(written) for written in cases],
        "reached": {kind: coverage.of(kind) for kind in coverage.kinds},
        "never": [{"kind": reached.kind, "name": reached.name} for reached in coverage.never()],
    }


def _case_as_json(written: WrittenCase) -> dict[str, Any]:
    case, shrunk = written.case, written.shrunk
    return {
        "seed": case.seed,
        "invariant": case.failure.invariant,
        "sentence": case.failure.sentence,
        "steps": len(case.smallest["timetable"]),
        "steps_drawn": len(case.original["timetable"]),
        "shrinking_runs": shrunk.runs,
        "is_minimal": shrunk.is_minimal,
        "directory": str(written.directory),
    }
