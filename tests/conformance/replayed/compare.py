"""Compares our run of a recording's steps with the recording: what was written, and what commands said."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kcsim.scenarios.comparing.differences import Comparison, Difference
from kcsim.scenarios.comparing.writes import is_below
from kcsim.zk import paths
from tests.conformance.replayed.recording import Recording, Step
from tests.conformance.replayed.said import said

Outcome = Mapping[str, Any]
OF_A_COMMAND: Mapping[str, str] = {"rc": "exit status", "out": "printed", "err": "printed on stderr"}
OF_A_BROKER: Mapping[str, str] = {"exit": "exit of the broker", "registered": "registered"}
"""What is compared of an outcome, and what it is called. Of a step that was skipped, only that it was."""


def differences(kafka: Recording, ours: Recording) -> list[Difference]:
    """Say in what our run of a recording's steps differs from it.

    Args:
        ours: with as many of the steps as could be played; what comes after them is not compared, nor is the end then.
    """
    comparison = Comparison()
    found: list[Difference] = []
    for number, (theirs, mine) in enumerate(zip(kafka.steps, ours.steps, strict=False), 1):
        if theirs.more_writes:
            # Where it was cut is chance, and so is all that comes after it.
            return [*found, *_of_endless_step(number, theirs, mine)]
        found += _of_step(comparison, number, theirs, mine)
    if len(ours.steps) < len(kafka.steps) or ours.not_supported is not None:
        return found
    return [*found, *comparison.of_end(kafka.final, ours.final or {}, kafka.alive, ours.alive or ())]


def _of_endless_step(number: int, kafka: Step, ours: Step) -> Iterator[Difference]:
    """A step that went on without end: all that can be said of it is that ours goes on, too."""
    recorded, made = len(kafka.writes or ()), len(ours.writes or ())
    if made < recorded:
        yield Difference(number, "writes", (f"{recorded} and {kafka.more_writes} more",), (str(made),))


def _of_step(comparison: Comparison, number: int, kafka: Step, ours: Step) -> Iterator[Difference]:
    if ours.problem is not None:
        yield Difference(number, "the step", (), (ours.problem,))
    if ours.not_supported is not None:
        return
    yield from _of_outcome(number, kafka.outcome, ours.outcome)
    with_notifications = is_below(_made_by_hand(kafka), [paths.ISR_CHANGE_NOTIFICATION])
    yield from comparison.of_step(number, kafka.followed, ours.followed, kafka.unsteady, with_notifications)


def _of_outcome(number: int, kafka: Outcome | None, ours: Outcome | None) -> Iterator[Difference]:
    """A command's exit status and what it said; a broker's exit, and whether it was registered; whether nothing was done."""
    if kafka is None:
        # Of a command it was not recorded; but a broker that did not start, or a step skipped, would have been.
        if ours is not None and "rc" not in ours and not ours.get("registered"):
            yield Difference(number, "outcome", (), (json.dumps(ours),))
        return
    if ours is None:
        yield Difference(number, "outcome", (json.dumps(kafka),), ())
        return
    for key, called in (OF_A_COMMAND if "rc" in kafka else OF_A_BROKER).items():
        if key in kafka and (theirs := _lines(kafka[key])) != (mine := _lines(ours.get(key))):
            yield Difference(number, called, theirs, mine)


def _lines(value: object) -> tuple[str, ...]:
    return said(value) if isinstance(value, list | tuple) else (json.dumps(value),)


def _made_by_hand(step: Step) -> str:
    """The znode that a step is about, if it is a bare write by hand."""
    given = next((value for verb, value in step.do.items() if verb.startswith("zk_")), "")
    return str(given[0] if isinstance(given, list) else given)
